package serve_test

import (
	"strings"
	"testing"

	"picogpt/checkpoint"
	"picogpt/internal/folder"
	"picogpt/model"
	"picogpt/serve"
	"picogpt/weights/demo"
)

// TestTheEndOfGenerationConfig: texts of a server end with the ids of generation_config.json, and the
// fingerprint is of them too where they differ from config.json's.
func TestTheEndOfGenerationConfig(t *testing.T) {
	prints := map[string]string{}
	for ends, want := range map[string]string{
		"":        `"text":", there was a little"`,
		"50256":   `"text":", there was a little"`,
		"612":     `"text":","`,
		"[9,612]": `"text":","`,
	} {
		files := folder.Memory{"config.json": demo.Config(), "model.safetensors": demo.Weights()}
		if ends != "" {
			files["generation_config.json"] = []byte(`{"eos_token_id":` + ends + `}`)
		}
		ck, err := checkpoint.OpenFS(files, "", checkpoint.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer ck.Close()
		m, err := model.New(t.Context(), ck.Config, ck.Tensors, model.Options{Threads: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		c := startWith(t, m, serve.Options{})
		_, text := c.do("POST", "/v1/completions",
			`{"prompt":"Once upon a time","max_tokens":5,"temperature":0}`)
		if !strings.Contains(text, want) {
			t.Errorf("end %q: %s, want %s", ends, text, want)
		}
		prints[serve.FingerprintOf(m, "w", "t")] += ends + " "
	}
	if len(prints) != 3 { // those of 50256 are one, with the file and without it
		t.Errorf("fingerprints %q, want one for each list of ids", prints)
	}
}
