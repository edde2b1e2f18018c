package check_test

// What others have published, measured again: with OpenAI's checkpoint, and with one that stands
// in.

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"picogpt/check"
	"picogpt/checkpoint"
	"picogpt/dev/cases"
	"picogpt/dev/testmodel"
	"picogpt/eval"

	"picogpt/model"
	"picogpt/tokenizer"
)

// The numbers of GPT-2, from a checkpoint that this repository does not hold:
//
//	GPT2_DIR=~/models/gpt2 go test ./check -run Published -v -timeout 3h
//
// GPT2_DIR is openai-community/gpt2 (or -large, -xl) as Hugging Face stores it. The texts of the
// table are files of any name in the folder GPT2_DATA, or in ../shared/data beside the repository.
// TestPublicationsAreMeasured is the twin that needs no checkpoint.
func TestPublishedNumbers(t *testing.T) {
	dir := os.Getenv("GPT2_DIR")
	if dir == "" {
		t.Skip("GPT2_DIR is not set: a directory with GPT-2")
	}
	m := testmodel.Open(t, dir, model.Options{})
	tok, err := checkpoint.OpenTokenizer(dir)
	if err != nil {
		t.Fatal(err)
	}
	p := check.Find(check.Publications(), m.Config())
	if p == nil {
		t.Fatalf("%s: nothing is known that was published of such a model", dir)
	}
	r, err := p.Compare(context.Background(), m, tok, data(t, p), nil)
	if err != nil {
		t.Fatal(err)
	}
	if t.Logf("%v", r); !r.Agree {
		t.Error(r.Err())
	}
}

// data are the texts of a publication among the files in GPT2_DATA.
func data(t *testing.T, p *check.Publication) (files []string) {
	dir := os.Getenv("GPT2_DATA")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "data")
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("no folder ", dir, "; set GPT2_DATA to the one that has the texts")
	}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			continue // a folder
		}
		if _, ok := p.Known(string(b)); ok {
			files = append(files, string(b))
		}
	}
	return files
}

// The files beside the repository are those that the table means. The other tests of this file are
// the twins that need none.
func TestTheTableKnowsTheFiles(t *testing.T) {
	p := check.Find(check.Publications(), model.DefaultConfig())
	if n := len(p.Texts()); n != 2 {
		t.Fatalf("%d texts, want WikiText-2 and LAMBADA", n)
	}
	if files := data(t, p); len(files) != 2 {
		t.Errorf("%d of the 2 texts are in the folder", len(files))
	}
}

func TestGPT2sAreKnownByTheirConfigs(t *testing.T) {
	for _, c := range []struct {
		embd, layer, head int
		want              string
	}{
		{768, 12, 12, "openai-community/gpt2"}, {1280, 36, 20, "openai-community/gpt2-large"},
		{1600, 48, 25, "openai-community/gpt2-xl"}, {768, 6, 12, ""}, {1024, 24, 16, ""},
	} {
		config := model.DefaultConfig()
		config.Embd, config.Layer, config.Head = c.embd, c.layer, c.head
		got := ""
		if p := check.Find(check.Publications(), config); p != nil {
			got = p.Name
		}
		if got != c.want {
			t.Errorf("%d layers of width %d: %q, want %q", c.layer, c.embd, got, c.want)
		}
	}
}

// The demo stands in for GPT-2, and a table for the published one: its numbers are those of package
// eval, or wrong.
func TestPublicationsAreMeasured(t *testing.T) {
	cases.NotShort(t)
	m, tok := testmodel.Demo(t, model.Options{Format: "f32"}), tokenizer.GPT2()
	wiki := " \n = The Cat = \n \n The cat sat on the mat , and she was happy . \n \n = A Dog = \n" +
		" \n A dog was sad . The cat saw him @-@ and smiled . \n"
	lambada := `{"text": "The cat sat on the mat"}` + "\n" + `{"text": "Once upon a time"}` + "\n"
	text := func(name, s string) check.KnownText {
		sum := sha256.Sum256([]byte(s))
		return check.KnownText{Name: name, SHA256: hex.EncodeToString(sum[:]), From: "a shelf"}
	}
	w, l := text("pages", wiki), text("words", lambada)
	ctx, four := context.Background(), func(x float64) string { return fmt.Sprintf("%.4f", x) }
	hf := must(eval.Measure(ctx, m, must(eval.NewWikiText(eval.HF, tok, wiki)),
		eval.Options{Protocol: eval.HF, Stride: 16}))
	lm := must(eval.Measure(ctx, m, must(eval.NewWikiText(eval.LMEval, tok, wiki)),
		eval.Options{Protocol: eval.LMEval}))
	last := must(eval.Lambada(ctx, m, tok, slices.Values([]string{"The cat sat on the mat",
		"Once upon a time"}), eval.TaskOptions{}))
	c := m.Config()
	p := check.Publication{Name: "the demo", Vocab: c.VocabSize, Positions: c.Positions,
		Embd: c.Embd, Layer: c.Layer, Head: c.Head, Claims: []check.Claim{
			{What: "text", By: "a page", Kind: check.Continuation, Prompt: "Once upon a time",
				Want: ", there was a little girl named Lily. She loved to play outside in the sun. " +
					"One day, she found a big, red ball. She wanted to play with it, but it was too"},
			{What: "hf", Kind: check.Perplexity, Text: w, Stride: 16, Want: four(hf.Perplexity)},
			{What: "lm", Kind: check.WordPerplexity, Text: w, Want: four(lm.WordPerplexity)},
			{What: "last", Kind: check.LastWord, Text: l, Want: four(last.Perplexity)},
			{What: "right", Kind: check.LastWordPercent, Text: l,
				Want: four(100 * last.Accuracy.Value)},
		}}
	measure := func(m *model.Model, files ...string) *check.Report {
		return must(p.Compare(ctx, m, tok, files, nil))
	}
	r := measure(m, lambada, wiki)
	for _, row := range r.Rows {
		if row.Verdict != check.Same {
			t.Errorf("%s: %s\n%v", row.What, row.Verdict, r)
		}
	}
	r = measure(m, wiki, "another text")
	if row := row(r, "last"); !r.Agree || row.Verdict != check.NotCompared ||
		row.Where != "needs words" || !slices.Equal(r.Notes, []string{"words is not given: a shelf"}) {
		t.Errorf("without one text:\n%v", r)
	}
	ended, cancel := context.WithCancel(ctx)
	r, err := p.Compare(ended, m, tok, []string{wiki}, func(what string, _ float64) {
		if what == "hf" {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || len(r.Rows) == 0 || len(r.Rows) > 2 {
		t.Errorf("ended in the second claim: %v, %v", err, r)
	}
	all := p.Claims
	for i, claim := range all {
		claim.Want = map[bool]string{true: ", there was a cat", false: "1.2345"}[i == 0]
		p.Claims = []check.Claim{claim}
		if r := measure(m, wiki, lambada); r.Agree || r.Err() == nil ||
			!strings.HasPrefix(r.Place, claim.What+": ") {
			t.Errorf("%s, another number:\n%v", claim.What, r)
		}
	}
	p.Claims = all[1:2]
	if r := measure(testmodel.Demo(t, model.Options{Format: "q8"}), wiki); !r.Agree ||
		row(r, "hf").Verdict != check.Loss {
		t.Errorf("in q8:\n%v", r)
	}
}

func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}
