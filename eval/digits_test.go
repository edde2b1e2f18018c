package eval_test

// The demo checkpoint's numbers, to the last bit: on every machine, with every batch, number of
// threads and kernel.

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/eval"
	"picogpt/kernels"
	"picogpt/model"
	"picogpt/tokenizer"
)

var update = flag.Bool("update", false, "write testdata/digits.json anew")

// measured are the options that digits are of.
var measured = []eval.Options{
	{Protocol: eval.HF}, {Protocol: eval.HF, Stride: 128},
	{Protocol: eval.HF, Window: 60, Stride: 37},
	{Protocol: eval.LMEval}, {Protocol: eval.LMEval, Window: 99},
	{Protocol: eval.LlamaCpp}, {Protocol: eval.LlamaCpp, Window: 128},
}

// digits are float64s in hexadecimal, by what they measure.
func digits(t *testing.T, m *model.Model, batch int, options []eval.Options) map[string]string {
	text, ids := story(t)
	wiki, err := os.ReadFile("testdata/wiki.txt")
	if err != nil {
		t.Fatal(err)
	}
	tok := tokenizer.GPT2()
	all := make(map[string]string)
	put := func(name string, x float64) { all[name] = strconv.FormatFloat(x, 'x', -1, 64) }
	for _, o := range options {
		o.Batch = batch
		texts := map[string]eval.Text{"story": must(eval.NewText(o.Protocol, tok, text))}
		if o.Protocol != eval.LlamaCpp { // too short
			texts["wiki"] = must(eval.NewWikiText(o.Protocol, tok, string(wiki)))
		}
		for name, x := range texts {
			r, err := eval.Measure(context.Background(), m, x, o)
			if err != nil {
				t.Fatal(err)
			}
			name = fmt.Sprintf("%s %s window %d stride %d", name, o.Protocol, r.Window, r.Stride)
			put(name+" nll", r.NLL)
			put(name+" perplexity", r.Perplexity)
			put(name+" stderr", r.StdErr)
			put(name+" word perplexity", r.WordPerplexity)
			put(name+" byte perplexity", r.BytePerplexity)
			put(name+" bits per byte", r.BitsPerByte)
		}
	}
	s := scoreOne(t, m, tok, eval.Request{Tokens: ids[:300]},
		eval.ScoreOptions{BOS: true, Top: 3, Batch: batch})
	put("score sum", s.Sum)
	put("score entropy", entropies(s))
	maps.Copy(all, few(t, m))
	return all
}

func entropies(s eval.Scored) (sum float64) {
	for _, t := range s.Tokens {
		sum += t.Entropy
	}
	return sum
}

// few are digits that even the pure Go kernels have soon.
func few(t *testing.T, m *model.Model) map[string]string {
	_, ids := story(t)
	r, err := eval.Perplexity(context.Background(), m, ids[:40],
		eval.Options{Window: 20, Stride: 13})
	if err != nil {
		t.Fatal(err)
	}
	s := scoreOne(t, m, tokenizer.GPT2(), eval.Request{Tokens: ids[:20]},
		eval.ScoreOptions{BOS: true})
	return map[string]string{
		"few perplexity": strconv.FormatFloat(r.Perplexity, 'x', -1, 64),
		"few sum":        strconv.FormatFloat(s.Sum, 'x', -1, 64),
		"few entropies":  strconv.FormatFloat(entropies(s), 'x', -1, 64),
	}
}

func TestDemoDigits(t *testing.T) {
	cases.NotShort(t)
	options := measured
	if !cases.Long && !*update { // the test below has the others
		options = []eval.Options{measured[0], measured[1], measured[3], measured[5]}
	}
	got := digits(t, testmodel.Demo(t, model.Options{}), 0, options)
	if *update {
		b, err := json.MarshalIndent(got, "", " ")
		if err == nil {
			err = os.WriteFile("testdata/digits.json", append(b, '\n'), 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	var want map[string]string
	readJSON(t, "testdata/digits.json", &want)
	if len(options) == len(measured) && len(got) != len(want) || len(got) < 6*len(options) {
		t.Errorf("%d numbers, want %d of all", len(got), len(want))
	}
	for name, digits := range got {
		if want[name] != digits {
			t.Errorf("%s: %s, want %s", name, digits, want[name])
		}
	}
}

func TestDigitsDoNotDependOnBatchThreadsOrKernels(t *testing.T) {
	cases.NotShort(t)
	var want map[string]string
	readJSON(t, "testdata/digits.json", &want)
	options := measured
	if !cases.Long {
		options = []eval.Options{measured[2], measured[4], measured[6]} // many windows in a batch
	}
	for _, c := range cases.Some([]struct{ threads, batch int }{{3, 7}, {1, 1}}, 1, 0) {
		got := digits(t, testmodel.Demo(t, model.Options{Threads: c.threads}), c.batch, options)
		if len(got) < 6*len(options) {
			t.Errorf("%d numbers, want more", len(got))
		}
		for name, digits := range got {
			if digits != want[name] {
				t.Errorf("%s with %d threads, batches of %d: %s, want %s", name, c.threads, c.batch,
					digits, want[name])
			}
		}
	}
	others := kernels.Variants()
	if !cases.Long { // pure Go takes long, and package model holds it to the others
		others = slices.DeleteFunc(others, func(k string) bool { return k == "go" })
	}
	for _, k := range others {
		for name, got := range few(t, testmodel.Demo(t, model.Options{Kernel: k, Threads: 1})) {
			if got != want[name] {
				t.Errorf("%s on %s: %s, want %s", name, k, got, want[name])
			}
		}
	}
}

func TestAgreesWithPyTorchOnStories(t *testing.T) {
	cases.NotShort(t)
	stories, err := fixture.TinyStories()
	if err != nil {
		t.Fatal(err)
	}
	m, tok := testmodel.Demo(t, model.Options{}), tokenizer.GPT2()
	for _, want := range stories.Perplexity {
		// windows that overlap take long, and are in the oracle
		if !cases.Long && (!strings.HasPrefix(want.Name, "val1") ||
			want.Protocol == "hf" && want.Stride < 256) {
			continue
		}
		o := eval.Options{Protocol: eval.Protocol(want.Protocol), Stride: want.Stride}
		r, err := eval.Measure(context.Background(), m,
			must(eval.NewText(o.Protocol, tok, want.Text)), o)
		if err != nil {
			t.Fatal(err)
		}
		near(t, want.Name, r.Perplexity, want.Perplexity)
		if r.Scored != want.Scored || r.Tokens != want.Tokens {
			t.Errorf("%s: %d of %d, want %d of %d", want.Name, r.Scored, r.Tokens, want.Scored,
				want.Tokens)
		}
		switch o.Protocol {
		case eval.LMEval:
			near(t, "word perplexity", r.WordPerplexity, want.WordPerplexity)
			near(t, "byte perplexity", r.BytePerplexity, want.BytePerplexity)
			near(t, "bits per byte", r.BitsPerByte, want.BitsPerByte)
			near(t, "log-likelihood", -r.NLL*float64(r.Scored), want.LL)
			if r.Words != want.Words || r.Bytes != want.Bytes {
				t.Errorf("%s: %d words, %d bytes, want %d and %d", want.Name, r.Words, r.Bytes,
					want.Words, want.Bytes)
			}
		case eval.LlamaCpp:
			near(t, "stderr", r.StdErr, want.StdErr)
		}
	}
	for _, want := range stories.LogProbs {
		s := scoreOne(t, m, tok, eval.Request{Text: want.Text}, eval.ScoreOptions{})
		sum := 0.0
		for i, lp := range want.LogProbs {
			if i > 0 {
				close32(t, "logprob", s.Tokens[i].LogProb, *lp)
				sum += *lp
			}
		}
		near(t, "sum", s.Sum, sum)
	}
}
