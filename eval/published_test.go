package eval_test

// The published numbers of GPT-2, from a checkpoint that this repository does not hold:
//
//	GPT2_DIR=~/models/gpt2 go test ./eval -run Published -v -timeout 3h
//
// GPT2_DIR is openai-community/gpt2 as Hugging Face stores it (config.json, model.safetensors). The
// texts are OpenAI's lambada_test.jsonl and WikiText-2's raw test, wikitext-2-raw.test.txt, in the
// folder GPT2_DATA, or in ../shared/data beside the repository.

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"picogpt/checkpoint"
	"picogpt/eval"
	"picogpt/model"
	"picogpt/tokenizer"
)

// published is a text that the repository does not hold.
func published(t *testing.T, name string) string {
	t.Helper()
	dir := os.Getenv("GPT2_DATA")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "data")
	}
	b, err := os.ReadFile(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("no ", name, " in ", dir, "; set GPT2_DATA to the folder that holds it")
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestWikiTextReadersAgreeWithPython is the twin that needs no file.
func TestWikiTextHasItsPublishedNumberOfTokens(t *testing.T) {
	text := published(t, "wikitext-2-raw.test.txt")
	tok := tokenizer.GPT2()
	if n := len(must(eval.NewWikiText(eval.HF, tok, text)).Documents[0].Tokens); n != 287644 {
		t.Errorf("%d tokens by the lines of the datasets library, want 287644", n)
	}
	if n := len(must(eval.NewWikiText(eval.LlamaCpp, tok, text)).Documents[0].Tokens); n != 286221 {
		t.Errorf("%d tokens in the file, want 286221", n)
	}
	if n := len(must(eval.NewWikiText(eval.LMEval, tok, text)).Documents); n != 62 {
		t.Errorf("%d pages, want 62", n)
	}
}

// TestAgreesWithPyTorchOnStories and TestPerplexityAgreesWithTheDefinitions are the twins that need
// no checkpoint.
func TestPublishedNumbers(t *testing.T) {
	dir := os.Getenv("GPT2_DIR")
	if dir == "" {
		t.Skip("GPT2_DIR is not set: a directory with GPT-2 (124M)")
	}
	c, err := checkpoint.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	m, err := model.New(context.Background(), c.Config, c.Tensors, model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	tok, err := c.Tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	check := func(what string, got, want string) {
		t.Helper()
		t.Logf("%s: %s", what, got)
		if got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	t.Run("hf", func(t *testing.T) {
		text := must(eval.NewWikiText(eval.HF, tok, published(t, "wikitext-2-raw.test.txt")))
		r, err := eval.Measure(ctx, m, text, eval.Options{Protocol: eval.HF, Stride: 1024})
		if err != nil {
			t.Fatal(err)
		}
		check("WikiText-2, hf, stride 1024", fmt.Sprintf("%.2f", r.Perplexity), "29.94")
	})
	t.Run("lm-eval", func(t *testing.T) {
		text := must(eval.NewWikiText(eval.LMEval, tok, published(t, "wikitext-2-raw.test.txt")))
		r, err := eval.Measure(ctx, m, text, eval.Options{Protocol: eval.LMEval})
		if err != nil {
			t.Fatal(err)
		}
		check("WikiText-2, lm-eval, word perplexity", fmt.Sprintf("%.2f", r.WordPerplexity),
			"37.37")
	})
	t.Run("lambada", func(t *testing.T) {
		r, err := eval.Lambada(ctx, m, tok, slices.Values(lambadaTexts(t)), eval.TaskOptions{})
		if err != nil {
			t.Fatal(err)
		}
		check("LAMBADA, perplexity", fmt.Sprintf("%.2f", r.Perplexity), "40.06")
		check("LAMBADA, accuracy in percent", fmt.Sprintf("%.2f", 100*r.Accuracy.Value), "32.56")
	})
}

func lambadaTexts(t *testing.T) []string {
	var texts []string
	file := bytes.NewBufferString(published(t, "lambada_test.jsonl"))
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var o struct{ Text string }
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			t.Fatal(err)
		}
		texts = append(texts, o.Text)
	}
	return texts
}
