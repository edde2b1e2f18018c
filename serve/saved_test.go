package serve_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"picogpt/checkpoint"
	"picogpt/internal/folder"
	"picogpt/model"
	"picogpt/serve"
	"picogpt/tokenizer"
	"picogpt/weights/demo"
)

// saved returns a demo with a generation_config.json, "" for none.
func saved(t *testing.T, generation string) *model.Model {
	t.Helper()
	files := folder.Memory{"config.json": demo.Config(), "model.safetensors": demo.Weights()}
	if generation != "" {
		files["generation_config.json"] = []byte(`{"eos_token_id":50256,` + generation + `}`)
	}
	ck, err := checkpoint.OpenFS(files, "", checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ck.Close() })
	m, err := model.New(t.Context(), ck.Config, ck.Tensors, model.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

const (
	once   = `"prompt":"Once upon a time","seed":1`
	talked = `"messages":[{"role":"user","content":"Once upon a time"}],"seed":1`
)

// TestSavedValuesAreTheDefaultsOfRequests: a request to a server whose checkpoint has the fields is
// what the other request is to one whose checkpoint has none.
func TestSavedValuesAreTheDefaultsOfRequests(t *testing.T) {
	const beside = `"temperature":0.9,"top_p":0.8`
	plain := startWith(t, saved(t, ""), serve.Options{Template: "{{.Text}}"})
	for _, c := range []struct{ file, path, asked, same string }{
		{beside, "completions", once, once + "," + beside},
		{beside, "completions", once + `,"temperature":1`, once + `,"top_p":0.8`},
		{beside, "completions", once + `,"top_p":1`, once + `,"temperature":0.9`},
		{beside, "completions", once + `,"temperature":null`, once + "," + beside},
		{beside, "completions", once + `,"temperature":0`, once + `,"temperature":0`},
		{beside, "chat/completions", talked, talked + "," + beside},
		{beside, "completions", once + `,"use_beam_search":true,"n":2`,
			once + `,"use_beam_search":true,"n":2`},
		{`"do_sample":false`, "completions", once, once + `,"temperature":0`},
		{`"do_sample":false`, "completions", once + `,"temperature":0.5`, once + `,"temperature":0.5`},
		{`"do_sample":true`, "completions", once, once},
		{`"top_k":5`, "completions", once, once + `,"top_k":5`},
		{`"top_k":5`, "completions", once + `,"top_k":-1`, once},
		{`"top_k":0`, "completions", once, once},
		{`"top_k":50`, "completions", once, once},
		{`"min_p":0.1`, "completions", once, once + `,"min_p":0.1`},
		{`"typical_p":0.5`, "completions", once, once + `,"typical_p":0.5`},
		{`"epsilon_cutoff":0.1`, "completions", once, once + `,"epsilon_cutoff":0.1`},
		{`"eta_cutoff":0.3`, "completions", once, once + `,"eta_cutoff":0.3`},
		{`"repetition_penalty":1.7`, "completions", once, once + `,"repetition_penalty":1.7`},
		{`"no_repeat_ngram_size":1`, "completions", once, once + `,"no_repeat_ngram_size":1`},
		{`"suppress_tokens":[11],"do_sample":false`, "completions", once,
			once + `,"temperature":0,"logit_bias":{"11":-100}`},

		// max_new_tokens takes the place of 16 and of 256, and is no budget.
		{`"max_new_tokens":7`, "completions", once, once + `,"max_tokens":7`},
		{`"max_new_tokens":7`, "chat/completions", talked, talked + `,"max_tokens":7`},
		{`"max_new_tokens":7`, "completions", once + `,"max_tokens":3`, once + `,"max_tokens":3`},
		{`"max_new_tokens":7`, "chat/completions", talked + `,"max_completion_tokens":3`,
			talked + `,"max_tokens":3`},
		{`"max_new_tokens":-1`, "completions", once, once},
		{`"max_new_tokens":99999`, "completions", once + `,"top_k":1,"ignore_eos":true`,
			once + `,"top_k":1,"ignore_eos":true,"max_tokens":252`},
		{`"max_new_tokens":2`, "completions", once + `,"structured_outputs":{"regex":"( [a-z]+){9}\\."}`,
			once + `,"structured_outputs":{"regex":"( [a-z]+){9}\\."}`},
		{`"max_new_tokens":2`, "completions",
			once + `,"max_tokens":40,"structured_outputs":{"regex":"( [a-z]+){9}\\."}`,
			once + `,"max_tokens":40,"structured_outputs":{"regex":"( [a-z]+){9}\\."}`},
		{`"max_new_tokens":2`, "completions",
			once + `,"max_tokens":9,"structured_outputs":{"regex":"( [a-z]+)+"}`,
			once + `,"max_tokens":9,"structured_outputs":{"regex":"( [a-z]+)+"}`},

		// min_new_tokens yields to what a request says, and to the context.
		{`"min_new_tokens":9,"max_new_tokens":5`, "completions", once,
			once + `,"max_tokens":9,"min_tokens":9`},
		{`"min_new_tokens":9`, "completions", once + `,"max_tokens":5`,
			once + `,"max_tokens":5,"min_tokens":5`},
		{`"min_new_tokens":9`, "completions", once + `,"max_tokens":0,"echo":true,"logprobs":1`,
			once + `,"max_tokens":0,"echo":true,"logprobs":1`},
		{`"min_new_tokens":9`, "completions", `"seed":1,"prompt":[` + strings.Repeat("11,", 253) + `11]`,
			`"seed":1,"max_tokens":2,"min_tokens":2,"prompt":[` + strings.Repeat("11,", 253) + `11]`},
	} {
		own := startWith(t, saved(t, c.file), serve.Options{Template: "{{.Text}}"})
		status, got := own.do("POST", "/v1/"+c.path, "{"+c.asked+"}")
		_, want := plain.do("POST", "/v1/"+c.path, "{"+c.same+"}")
		if status.StatusCode != 200 || choices(t, got) != choices(t, want) {
			t.Errorf("%s, %.99s: %d %s\nwant, as for %.99s: %s", c.file, c.asked, status.StatusCode, got,
				c.same, want)
		}
	}
}

// choices returns what an answer has of the texts.
func choices(t *testing.T, answer string) string {
	t.Helper()
	var all struct {
		Choices json.RawMessage
		Usage   struct {
			Tokens int `json:"completion_tokens"`
		}
	}
	if err := json.Unmarshal([]byte(answer), &all); err != nil || all.Choices == nil {
		t.Errorf("%v: %s", err, answer)
	}
	return fmt.Sprint(all.Usage.Tokens, " ", string(all.Choices))
}

// TestSavedValuesAreTold: by /v1/models, for the page, and by the fingerprint. A config without them
// leaves them; one that cannot be meant makes no server.
func TestSavedValuesAreTold(t *testing.T) {
	const file = `"do_sample":false,"top_p":0.8,"max_new_tokens":7,"suppress_tokens":[11]`
	m := saved(t, file)
	_, models := startWith(t, m, serve.Options{}).do("GET", "/v1/models", "")
	if !strings.Contains(models, `"generation_config":{"max_tokens":7,"temperature":0,"top_p":0.8}`) {
		t.Error(models)
	}
	for _, nothing := range []string{"", `"do_sample":true,"max_new_tokens":-1`} {
		_, models = startWith(t, saved(t, nothing), serve.Options{}).do("GET", "/v1/models", "")
		if strings.Contains(models, "generation_config") {
			t.Errorf("%s: %s", nothing, models)
		}
	}
	prints := []string{serve.FingerprintOf(m, "w", "t")}
	for _, other := range []string{"", `"use_cache":true`, `"temperature":1`} { // which say nothing
		prints = append(prints, serve.FingerprintOf(saved(t, other), "w", "t"))
	}
	if all := slices.Compact(slices.Clone(prints)); len(all) != 2 {
		t.Errorf("%q", prints)
	}
	for _, wrong := range []string{`"temperature":"hot"`, `"bad_words_ids":[[50257]]`} {
		s, err := serve.New(saved(t, wrong), tokenizer.GPT2(), serve.Options{})
		if err == nil || !strings.HasPrefix(err.Error(), "generation_config.json: ") {
			t.Errorf("%s: %v", wrong, err)
		}
		if err == nil {
			s.Close()
		}
	}
}
