package picogpt_test

// A context that is nil is an error of every function that has one.

import (
	"context"
	"io"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"picogpt"
	"picogpt/checkpoint"
	"picogpt/checkpoint/hub"
	"picogpt/constrain"
	"picogpt/decode"
	"picogpt/eval"
	"picogpt/model"
	"picogpt/sample"
	"picogpt/search"
	"picogpt/weights"
	"picogpt/weights/demo"
)

// last returns the error that a loop ends with.
func last[T any](loop iter.Seq2[T, error]) (err error) {
	for _, err = range loop {
	}
	return err
}

func second[T any](_ T, err error) error { return err }

func TestANilContextIsAnError(t *testing.T) {
	var none context.Context
	g := openDemo(t)
	m, tok := g.Model(), g.Tokenizer()
	s, held := m.NewSession(), m.NewSession()
	if err := m.Eval(context.Background(),
		model.Input{Session: held, Tokens: []int{1, 2}}); err != nil {
		t.Fatal(err)
	}
	c, err := checkpoint.OpenFS(demo.FS(), "", checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	conversion, err := c.Convert("gguf")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	by, err := tok.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	v, err := constrain.NewVocabulary(by, constrain.VocabularyOptions{Ends: []int{50256}})
	if err != nil {
		t.Fatal(err)
	}
	forms := constrain.Compiler{Vocabulary: v}
	texts := slices.Values([]string{"a text of words"})
	for name, got := range map[string]error{
		"Open":     second(picogpt.Open(none, "checkpoint/testdata/formats/hf", picogpt.Config{})),
		"OpenFS":   second(picogpt.OpenFS(none, demo.FS(), picogpt.Config{})),
		"Generate": last(g.Generate(none, "x", picogpt.Options{})),
		"Samples":  last(g.Samples(none, "x", 2, picogpt.Options{})),
		"Score":    second(g.Score(none, "a text")),
		"Scores": last(g.Scores(none, slices.Values([]eval.Request{{Text: "a text"}}),
			eval.ScoreOptions{})),
		"Choose": second(g.Choose(none, "a", " b", " c")),
		"Answers": last(g.Answers(none, slices.Values([]eval.Question{{Context: "a",
			Choices: []string{" b", " c"}}}))),

		"model.New":           second(model.New(none, c.Config, c.Tensors, model.Options{})),
		"Model.Eval":          m.Eval(none, model.Input{Session: s, Tokens: []int{1}}),
		"Model.Save":          m.Save(none, file),
		"Model.SaveTo":        m.SaveTo(none, io.Discard),
		"Conversion.Write":    conversion.Write(none, file, m),
		"weights.WriteFile":   weights.WriteFile(none, file, nil, nil),
		"decode.Generate":     last(decode.Generate(none, s, []int{1}, decode.Options{})),
		"decode.Generate, on": last(decode.Generate(none, held, nil, decode.Options{})),
		"decode.Samples":      last(decode.Samples(none, s, []int{1}, 2, decode.Options{})),
		"decode.Samples, on":  last(decode.Samples(none, held, nil, 2, decode.Options{})),
		"search.Contrastive":  last(search.Contrastive(none, s, []int{1}, 0.5, decode.Options{})),
		"search.Beams": second(search.Beams(none, s, []int{1}, search.BeamOptions{},
			decode.Options{})),
		"decode.NewDRYStrings": second(sample.NewDRYStrings(none, tok, nil)),
		"Compiler.Regex":       second(forms.Regex(none, "a")),
		"Compiler.Choice":      second(forms.Choice(none, "a")),
		"Compiler.Grammar":     second(forms.Grammar(none, `root ::= "a"`)),
		"Compiler.JSONSchema": second(forms.JSONSchema(none, []byte(`true`),
			constrain.SchemaOptions{})),
		"eval.Perplexity": second(eval.Perplexity(none, m, []int{1, 2, 3}, eval.Options{})),
		"eval.MeasureEach": last(eval.MeasureEach(none, m,
			slices.Values([]eval.DocumentRequest{{Document: eval.Document{Tokens: []int{1, 2, 3}}}}),
			eval.Options{Protocol: eval.LMEval})),
		"eval.Lambada": second(eval.Lambada(none, m, tok, texts, eval.TaskOptions{})),
		"hub.Pull":     second(hub.Pull(none, hub.Name{}, hub.Options{})),
		"hub.Look":     second(hub.Look(none, hub.Name{}, hub.Options{})),
	} {
		if got == nil || !strings.Contains(got.Error(), "context: nil, want one") {
			t.Errorf("%s: error %v", name, got)
		}
	}
	if n := s.Len() + held.Len(); n != 2 {
		t.Errorf("the sessions hold %d tokens, want 2", n)
	}
}
