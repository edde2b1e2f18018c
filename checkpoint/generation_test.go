package checkpoint_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"picogpt/checkpoint"
	"picogpt/dev/fixture"
)

// TestGenerationConfigOutranksConfig: the ids of generation_config.json are those of
// model.generation_config in transformers 5.24, but that the tokenizer's <|endoftext|> ends texts
// where neither file names an id.
func TestGenerationConfigOutranksConfig(t *testing.T) {
	said := map[string]any{"bos_token_id": 3, "eos_token_id": 5}
	none := map[string]any{"bos_token_id": nil, "eos_token_id": nil}
	far := map[string]any{"bos_token_id": 50256, "eos_token_id": 50256}
	for _, c := range []struct {
		about    string
		config   map[string]any
		made     string
		start    int
		end      []int
		notTaken string
	}{
		{"both", said, `{"bos_token_id": 4, "eos_token_id": [7, 5]}`, 4, []int{7, 5}, ""},
		{"an end alone", said, `{"eos_token_id": 7}`, 3, []int{7}, ""},
		{"no end", said, `{}`, 3, nil, ""},
		{"null", said, `{"eos_token_id": null}`, 3, nil, ""},
		{"outside the vocabulary", said, `{"bos_token_id": 99, "eos_token_id": [99]}`, 3, nil, ""},
		{"config.json has none", none, `{"bos_token_id": 4, "eos_token_id": 7}`, 4, []int{7}, ""},
		{"neither has one", none, `{"_from_model_config": true}`, 26, []int{26}, ""},
		{"neither has one in the vocabulary", far, `{"eos_token_id": 50256}`, 26, []int{26}, ""},
		{"more", said, `{"eos_token_id": 7, "num_beams": 4, "use_cache": true}`, 3, []int{7},
			"generation_config.json: not taken: num_beams 4"},
		{"sampling", said, `{"eos_token_id": 7, "do_sample": true, "top_k": -1}`, 3, []int{7}, ""},
		{"no file", map[string]any{"eos_token_id": 5, "bos_token_id": 3, "max_length": 9}, "", 3,
			[]int{5}, "config.json: not taken: max_length 9"},
	} {
		files := letters()
		if c.made != "" {
			files["generation_config.json"] = c.made
		}
		o := fixture.Options{Vocab: 29, Config: c.config}
		dir := write(t, o, files)
		ck, err := checkpoint.Open(dir, checkpoint.Options{})
		if err != nil {
			t.Errorf("%s: %v", c.about, err)
			continue
		}
		defer ck.Close()
		start, _ := ck.Config.StartToken()
		if end := ck.Config.EndTokens(); start != c.start || !slices.Equal(end, c.end) {
			t.Errorf("%s: start %d, end %v; want %d, %v", c.about, start, end, c.start, c.end)
		}
		if ck.NotTaken != c.notTaken ||
			c.notTaken != "" && !slices.Contains(ck.Notes, c.notTaken) {
			t.Errorf("%s: %q in %q, want %q", c.about, ck.NotTaken, ck.Notes, c.notTaken)
		}
		// The digest is of the config and the weights, so that what was made before still verifies.
		if got, want := digests(t, dir), digests(t, write(t, o, letters())); got != want {
			t.Errorf("%s: digests %q, want %q", c.about, got, want)
		}
		// A conversion keeps both files as they are.
		if v, err := ck.Convert("safetensors"); err != nil {
			t.Error(err)
		} else {
			for _, f := range v.Files {
				if want, _ := os.ReadFile(filepath.Join(dir, f.Name)); string(want) != string(f.Data) {
					t.Errorf("%s: %s is %s, want %s", c.about, f.Name, f.Data, want)
				}
			}
		}
	}
}

// TestWholeFilesNeedNoGenerationConfig: a GGUF file says itself what ends a text, and one beside it
// belongs to another checkpoint.
func TestWholeFilesNeedNoGenerationConfig(t *testing.T) {
	for kind, file := range map[string]string{"gguf": "f16.gguf", "llmc": "model.bin",
		"tf": "checkpoint"} {
		files := fstest.MapFS{"generation_config.json": {Data: []byte("{broken")}}
		dir := os.DirFS(filepath.Join("testdata", "formats", kind))
		names, err := fs.Glob(dir, "*")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			data, err := fs.ReadFile(dir, name)
			if err != nil {
				t.Fatal(err)
			}
			files[name] = &fstest.MapFile{Data: data}
		}
		c, err := checkpoint.OpenFS(files, file, checkpoint.Options{})
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		c.Close()
	}
}

// TestAGenerationConfigThatIsNoJSON: config.json counts then, as in transformers 5.24, and a note says
// it. NaN and Infinity are Python's JSON, and no reason.
func TestAGenerationConfigThatIsNoJSON(t *testing.T) {
	for text, want := range map[string]string{
		"": "config.json", `{"eos_token_id": 7`: "config.json", `{"eos_token_id": 7,}`: "config.json",
		"\ufeff{\"eos_token_id\": 7}": "config.json", strings.Repeat(" ", 33<<20): "config.json",
		`{"eos_token_id": 7, "max_time": Infinity, "sequence_bias": [[[2], -Infinity]]}`: "",
		`{"eos_token_id": 7, "temperature": NaN}`:                                        "",
	} {
		dir := write(t, fixture.Options{Vocab: 29, Config: map[string]any{"eos_token_id": 5}},
			map[string]string{"generation_config.json": text})
		c, err := checkpoint.Open(dir, checkpoint.Options{})
		if err != nil {
			t.Errorf("%.40q: %v", text, err)
			continue
		}
		defer c.Close()
		told := strings.Join(c.Unread, "\n")
		ends := []int{7}
		if want != "" {
			ends = []int{5}
		}
		if !slices.Equal(c.Config.EndTokens(), ends) || (want != "") != strings.Contains(told,
			"generation_config.json: ") || !strings.Contains(told, want) {
			t.Errorf("%.40q: ends %v, want %v; told %q", text, c.Config.EndTokens(), ends, told)
		}
	}
}

func TestABrokenGenerationConfigIsNamed(t *testing.T) {
	for _, text := range []string{"[]", "null", `{"eos_token_id": "x"}`} {
		dir := write(t, fixture.Options{}, map[string]string{"generation_config.json": text})
		c, err := checkpoint.Open(dir, checkpoint.Options{})
		if err == nil {
			c.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "generation_config.json: ") {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}
