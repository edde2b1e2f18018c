package checkpoint_test

// Chat templates, where transformers looks for them.

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"picogpt/checkpoint"
	"picogpt/dev/fixture"
	"picogpt/model"
)

func TestChatTemplatesAreWhereTransformersLooks(t *testing.T) {
	const config, jinja, legacy = "tokenizer_config.json", "chat_template.jinja", "chat_template.json"
	const rag = "additional_chat_templates/rag.jinja"
	for _, c := range []struct {
		about string
		files map[string]string
		name  string
		want  string // its source, or a part of the error
		file  string // "": an error
	}{
		{"none", nil, "default", "", "none"},
		{"a file", map[string]string{jinja: "a", config: `{"chat_template":"b"}`, legacy: `{"chat_template":"c"}`}, "default", "a", jinja},
		{"a config", map[string]string{config: `{"chat_template":"b"}`, legacy: `{"chat_template":"c"}`}, "default", "b", config},
		{"an older file", map[string]string{config: `{"chat_template":null}`, legacy: `{"chat_template":"c"}`}, "default", "c", legacy},
		{"a list", map[string]string{config: `{"chat_template":[{"name":"tool_use","template":"t"},{"name":"default","template":"d"}]}`}, "default", "d", config},
		{"of a list", map[string]string{config: `{"chat_template":[{"name":"tool_use","template":"t"}]}`}, "tool_use", "t", config},
		{"no default", map[string]string{config: `{"chat_template":[{"name":"tool_use","template":"t"}]}`}, "default", "by name: tool_use", ""},
		{"another", map[string]string{jinja: "a", rag: "r"}, "rag", "r", rag},
		{"others outrank the config", map[string]string{rag: "r", config: `{"chat_template":"b"}`}, "default", "by name: rag", ""},
		{"too long", map[string]string{jinja: strings.Repeat("a", 2<<20)}, "default", "more than 1048576 bytes", ""},
		{"no text", map[string]string{config: `{"chat_template":7}`}, "default", "tokenizer_config.json: chat_template: want a text", ""},
		{"no name", map[string]string{config: `{"chat_template":[{"template":"t"}]}`}, "default", "element 0: want a name", ""},
		{"no JSON", map[string]string{legacy: `{"chat_template"`}, "default", "chat_template.json: ", ""},
	} {
		files := letters()
		maps.Copy(files, c.files)
		dir := write(t, fixture.Options{Vocab: 29}, nil)
		os.Mkdir(filepath.Join(dir, "additional_chat_templates"), 0o777)
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		ck, err := checkpoint.Open(dir, checkpoint.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer ck.Close()
		got, err := ck.Template(c.name)
		switch {
		case c.file == "none":
			if got != nil || err != nil {
				t.Errorf("%s: %v, %v", c.about, got, err)
			}
		case c.file == "":
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %v, want %s", c.about, err, c.want)
			}
		case err != nil || got == nil || got.Source != c.want || got.File != c.file:
			t.Errorf("%s: %+v, %v; want %s of %s", c.about, got, err, c.want, c.file)
		}
	}
}

// TestTemplatesHaveTheirTokens: those of the config, of the map, or the model's own.
func TestTemplatesHaveTheirTokens(t *testing.T) {
	for config, want := range map[string]string{
		``: "<|endoftext|>", `{"eos_token":"a"}`: "a", `{"eos_token":{"content":"b","lstrip":true}}`: "b",
		`{"eos_token":null}`: "m", `{"eos_token":7}`: "m",
	} {
		files := letters()
		if config != "" {
			files["tokenizer_config.json"], files["special_tokens_map.json"] = config, `{"eos_token":"m"}`
		}
		ck, err := checkpoint.Open(write(t, fixture.Options{Vocab: 29,
			Config: map[string]any{"eos_token_id": nil}}, files), checkpoint.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer ck.Close()
		got, err := ck.TemplateTokens()
		if err != nil || got["eos_token"] != want {
			t.Errorf("%s: %v, %v; want %s", config, got, err, want)
		}
	}
}

// TestAGGUFFileHasItsChatTemplates: a conversion writes them, and one from it the first.
func TestAGGUFFileHasItsChatTemplates(t *testing.T) {
	dir := write(t, fixture.Options{Vocab: 29}, letters())
	os.Mkdir(filepath.Join(dir, "additional_chat_templates"), 0o777)
	const jinja, rag = "{{ messages }}é", "r"
	for name, text := range map[string]string{"chat_template.jinja": jinja, "additional_chat_templates/rag.jinja": rag} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, x := range []struct{ to, rag string }{{"", rag}, {"gguf", rag}, {"safetensors", ""}} {
		ck, err := checkpoint.Open(dir, checkpoint.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer ck.Close()
		if x.to != "" {
			m, err := model.New(t.Context(), ck.Config, ck.Tensors, model.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			dir = converted(t, ck, m, x.to)
			if ck, err = checkpoint.Open(dir, checkpoint.Options{}); err != nil {
				t.Fatal(err)
			}
			defer ck.Close()
		}
		for name, want := range map[string]string{"default": jinja, "rag": x.rag} {
			got, err := ck.Template(name)
			if got == nil {
				got = &checkpoint.Template{}
			}
			if err != nil || got.Source != want {
				t.Errorf("%s: %s: %+v, %v, want %q", x.to, name, got, err, want)
			}
		}
	}
}
