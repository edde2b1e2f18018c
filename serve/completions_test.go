package serve_test

// Completions have the texts of package decode.

import (
	"strings"
	"testing"

	"picogpt/decode"
	"picogpt/dev/testmodel"
	"picogpt/model"
	"picogpt/sample"
	"picogpt/serve"
	"picogpt/tokenizer"
)

// direct returns package decode's text for a prompt, and its tokens.
func direct(
	t testing.TB,
	m *model.Model,
	prompt string,
	o decode.Options,
) (string, []decode.Token) {
	t.Helper()
	tok := tokenizer.GPT2()
	ids, err := tok.WithSpecial().Encode(prompt)
	if err != nil {
		t.Fatal(err)
	}
	o.Vocabulary = tok
	text, tokens := "", []decode.Token{}
	for token, err := range decode.Generate(t.Context(), m.NewSession(), ids, o) {
		if err != nil {
			t.Fatal(err)
		}
		text += token.Text
		tokens = append(tokens, token)
	}
	return text, tokens
}

func TestAnAnswerIsWhatDecodeGives(t *testing.T) {
	m := testmodel.Demo(t, model.Options{Threads: 1})
	c := startWith(t, m, serve.Options{})
	want, _ := direct(
		t,
		m,
		"Once upon a time",
		decode.Options{MaxTokens: 20, Params: sample.Params{Temperature: 1, Seed: 7}},
	)
	body := `{"prompt":"Once upon a time","max_tokens":20,"seed":7}`
	a := c.complete(body)
	if got := a.Choices[0].Text; got != want {
		t.Errorf("the text %q, want %q", got, want)
	}
	if u := a.Usage; u.PromptTokens != 4 || u.CompletionTokens != 20 || u.TotalTokens != 24 {
		t.Errorf("usage %+v", *u)
	}
	_, stream := c.post("/v1/completions", strings.Replace(body, "{", `{"stream":true,`, 1))
	data, text := events(t, stream), ""
	for _, event := range data[:len(data)-1] {
		part := decoded[answer](t, event)
		text += part.Choices[0].Text
	}
	if text != want || data[len(data)-1] != "[DONE]" {
		t.Errorf("the stream gives %q and ends with %s", text, data[len(data)-1])
	}
}

func TestChoicesComePromptByPrompt(t *testing.T) {
	m := testmodel.Demo(t, model.Options{Threads: 1})
	c := startWith(t, m, serve.Options{})
	a := c.complete(`{"prompt":["Lily","Tom was"],"n":2,"max_tokens":8,"seed":-1}`)
	seed := ^uint64(0) // -1
	for i, prompt := range []string{"Lily", "Lily", "Tom was", "Tom was"} {
		o := decode.Options{MaxTokens: 8, Params: sample.Params{Temperature: 1,
			Seed: seed + uint64(i%2)}}
		want, _ := direct(t, m, prompt, o)
		if got := a.Choices[i]; got.Index != i || got.Text != want {
			t.Errorf("choice %d is %d, %q, want %q", i, got.Index, got.Text, want)
		}
	}
	if a.Usage.PromptTokens != 4 {
		t.Errorf("%d prompt tokens, want 4: a prompt counts once", a.Usage.PromptTokens)
	}
}
