package eval_test

// What Perplexity refuses, and what it does when it is stopped.

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/eval"
	"picogpt/model"
	"picogpt/weights"
)

func TestPerplexityRefusesByName(t *testing.T) {
	m := tinyModel(t, model.Options{})
	ids := func(n int) []int { return make([]int, n) }
	for _, c := range []struct {
		tokens []int
		o      eval.Options
		want   string
	}{
		{nil, eval.Options{}, "text: 0 tokens, want at least 2 for hf"},
		{ids(1), eval.Options{}, "text: 1 tokens, want at least 2 for hf"},
		{nil, eval.Options{Protocol: eval.LMEval}, "text: 0 tokens, want at least 1 for lm-eval"},
		{ids(45), eval.Options{Protocol: eval.LlamaCpp},
			"text: 45 tokens, want at least 46 (two windows of 23) for llama.cpp"},
		{[]int{1, 2, 29}, eval.Options{}, "token 2: id 29, want 0 to 28"},
		{[]int{1, -1}, eval.Options{}, "token 1: id -1, want 0 to 28"},
		{ids(99), eval.Options{Protocol: "gptq"},
			`protocol "gptq": want one of hf, lm-eval, llama.cpp`},
		{ids(99), eval.Options{Window: 24}, "window: 24, want 2 to 23 (n_positions) for hf"},
		{ids(99), eval.Options{Window: 1}, "window: 1, want 2 to 23"},
		{ids(99), eval.Options{Window: -1}, "window: -1, want 2 to 23"},
		{ids(99), eval.Options{Protocol: eval.LlamaCpp, Window: 2}, "window: 2, want 3 to 23"},
		{ids(99), eval.Options{Window: 10, Stride: 11}, "stride: 11, want 1 to 10 (the window)"},
		{ids(99), eval.Options{Stride: -3}, "stride: -3, want 1 to 23 (the window)"},
		{ids(99), eval.Options{Protocol: eval.LMEval, Stride: 5},
			"stride: 5, want none: lm-eval's windows are disjoint"},
		{ids(99), eval.Options{Batch: -1}, "batch: -1, want 1 or more"},
	} {
		_, err := eval.Perplexity(context.Background(), m, c.tokens, c.o)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.o, err, c.want)
		}
	}
}

func TestLMEvalNeedsABOS(t *testing.T) {
	config, file := fixture.Checkpoint(fixture.Options{Seed: 1})
	m := testmodel.New(t, config, file, model.Options{})
	_, err := eval.Perplexity(context.Background(), m, []int{1, 2},
		eval.Options{Protocol: eval.LMEval})
	if err == nil || !strings.Contains(err.Error(), "bos_token_id") {
		t.Errorf("%v, want an error that names bos_token_id", err)
	}
	config, file = fixture.Checkpoint(fixture.Options{Seed: 1,
		Config: map[string]any{"eos_token_id": 7}})
	m = testmodel.New(t, config, file, model.Options{})
	r, err := eval.Perplexity(context.Background(), m, []int{1, 2},
		eval.Options{Protocol: eval.LMEval})
	if err != nil || r.BOS != "7 before each document" {
		t.Errorf("BOS %q, %v, want the eos_token_id", r.BOS, err)
	}
}

func TestDocumentsEachBeginWithABOS(t *testing.T) {
	m := tinyModel(t, model.Options{})
	a, b := []int{1, 2, 3, 4, 5}, []int{6, 7, 8}
	sum := 0.0
	for _, d := range [][]int{a, b} {
		r, err := eval.Perplexity(context.Background(), m, d, eval.Options{Protocol: eval.LMEval})
		if err != nil {
			t.Fatal(err)
		}
		sum += r.NLL * float64(r.Scored)
	}
	text := eval.Text{Documents: []eval.Document{{Tokens: a, Words: 2, Bytes: 9}, {},
		{Tokens: b, Words: 1, Bytes: 4}}}
	r, err := eval.Measure(context.Background(), m, text, eval.Options{Protocol: eval.LMEval})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "nll", r.NLL, sum/8)
	near(t, "word perplexity", r.WordPerplexity, math.Exp(sum/3))
	near(t, "byte perplexity", r.BytePerplexity, math.Exp(sum/13))
	near(t, "bits per byte", r.BitsPerByte, sum/13/math.Ln2)
	if _, err := eval.Measure(context.Background(), m, text, eval.Options{}); err == nil {
		t.Error("hf: no error for two documents")
	}
}

func TestStoppedMeasurementsArePartial(t *testing.T) {
	m := tinyModel(t, model.Options{})
	tokens := readOracle(t).Random
	for _, p := range eval.Protocols() {
		ctx, cancel := context.WithCancel(context.Background())
		var seen []eval.Progress
		o := eval.Options{Protocol: p, Batch: 2, Progress: func(p eval.Progress) {
			if seen = append(seen, p); len(seen) == 2 {
				cancel()
			}
		}}
		r, err := eval.Perplexity(ctx, m, tokens, o)
		if !errors.Is(err, context.Canceled) || !r.Partial {
			t.Fatalf("%s: %v, partial %t", p, err, r.Partial)
		}
		if len(seen) != 2 || seen[1].Done != 4*23 || seen[1].Total != 200 ||
			seen[1].Perplexity != r.Perplexity {
			t.Errorf("%s: progress %+v", p, seen)
		}
		whole, err := eval.Perplexity(context.Background(), m, tokens[:4*23],
			eval.Options{Protocol: p})
		if err != nil {
			t.Fatal(err)
		}
		if whole.NLL != r.NLL || whole.Scored != r.Scored {
			t.Errorf("%s: %v over %d, want %v over %d", p, r.NLL, r.Scored, whole.NLL, whole.Scored)
		}
		ctx, cancel = context.WithCancel(context.Background())
		cancel()
		r, err = eval.Perplexity(ctx, m, tokens, o)
		if !errors.Is(err, context.Canceled) || !math.IsNaN(r.Perplexity) {
			t.Errorf("%s: stopped before it began: %v, %v", p, r.Perplexity, err)
		}
		if _, err := json.Marshal(r); err != nil {
			t.Error(err)
		}
	}
}

func TestResultJSON(t *testing.T) {
	m := tinyModel(t, model.Options{})
	text := must(eval.NewText(eval.HF, letters{}, "abc", "cab"))
	r, err := eval.Measure(context.Background(), m, text, eval.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var keys map[string]any
	if err := json.Unmarshal(b, &keys); err != nil {
		t.Fatal(err)
	}
	for _, k := range strings.Fields(`protocol perplexity nll stderr tokens scored words bytes word_perplexity byte_perplexity
		bits_per_byte window stride bos sha256 model dtype partial`) {
		if _, ok := keys[k]; !ok {
			t.Errorf("no %s in %s", k, b)
		}
	}
	if keys["stderr"] != nil || keys["words"] != 1.0 || keys["bytes"] != 6.0 ||
		keys["dtype"] != "f32" {
		t.Errorf("%s", b)
	}
	if want := fmt.Sprintf("%x", sha256.Sum256([]byte("abccab"))); r.SHA256 != want {
		t.Errorf("SHA-256 %s, want %s", r.SHA256, want)
	}
	if one := must(eval.NewText(eval.HF, letters{}, "abccab")); one.SHA256 != text.SHA256 ||
		!slices.Equal(one.Documents[0].Tokens, text.Documents[0].Tokens) {
		t.Error("two files are not one text")
	}
	if two := must(eval.NewText(eval.LMEval, letters{}, "abc", "cab")); len(two.Documents) != 2 ||
		two.SHA256 != text.SHA256 {
		t.Error("two files are not two documents")
	}
}

func TestStorySHA256(t *testing.T) {
	text, ids := story(t)
	got := must(eval.NewText(eval.HF, runes{}, text))
	if want := readOracle(t).SHA256; got.SHA256 != want {
		t.Errorf("%s, want %s", got.SHA256, want)
	}
	if len(ids) == 0 {
		t.Error("no ids")
	}
}

func TestAnInfiniteLogitIsAnError(t *testing.T) {
	m := spoiled(t)
	r, err := eval.Perplexity(context.Background(), m, readOracle(t).Random, eval.Options{})
	var bad *model.NonFiniteError
	if !errors.As(err, &bad) || !r.Partial {
		t.Errorf("%v, partial %t, want a NonFiniteError", err, r.Partial)
	}
}

// spoiled is a model with a NaN in its last layer norm.
func spoiled(t *testing.T) *model.Model {
	o := fixture.Options{Seed: 1}
	tensors := fixture.Tensors(o)
	for i := range tensors {
		if tensors[i].Name == "ln_f.weight" {
			tensors[i].Data = append([]byte{0, 0, 0xc0, 0x7f}, tensors[i].Data[4:]...)
		}
	}
	return testmodel.New(t, fixture.Config(o), file(t, tensors), model.Options{})
}

// file is a safetensors file.
func file(t *testing.T, tensors []weights.Tensor) []byte {
	var b bytes.Buffer
	if err := weights.Write(&b, nil, tensors); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
