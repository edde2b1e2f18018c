package eval_test

// Scores: how requests are divided into tokens, and that batches and shared prefixes do not change
// the results.

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/testmodel"
	"picogpt/eval"

	"picogpt/model"
	"picogpt/tokenizer"
)

// logprob returns the log-probability of the last token after the others, computed without Score.
func logprob(t testing.TB, m *model.Model, ids ...int) float64 {
	t.Helper()
	s := m.NewSession()
	last := len(ids) - 1
	in := model.Input{Session: s, Tokens: ids[:last]}
	if err := m.Eval(context.Background(), in); err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, x := range s.Logits() {
		sum += math.Exp(float64(x))
	}
	return float64(s.Logits()[ids[last]]) - math.Log(sum)
}

func TestATextAlone(t *testing.T) {
	m := tinyModel(t, model.Options{})
	s := scoreOne(t, m, letters{}, eval.Request{Text: "cab"}, eval.ScoreOptions{})
	if first := s.Tokens[0]; !math.IsNaN(first.LogProb) || !math.IsNaN(first.Entropy) ||
		first.Rank != -1 || first.ID != 2 {
		t.Errorf("the first token has nothing before it, but %+v", first)
	}
	near(t, "second", s.Tokens[1].LogProb, logprob(t, m, 2, 0))
	near(t, "third", s.Tokens[2].LogProb, logprob(t, m, 2, 0, 1))
	if s.Count != 2 || s.Text != "cab" {
		t.Errorf("%d scored of %q", s.Count, s.Text)
	}
	near(t, "sum", s.Sum, logprob(t, m, 2, 0)+logprob(t, m, 2, 0, 1))

	s = scoreOne(t, m, letters{}, eval.Request{Text: "cab"}, eval.ScoreOptions{BOS: true})
	near(t, "first after the BOS", s.Tokens[0].LogProb, logprob(t, m, 3, 2))
	near(t, "mean", s.Mean, s.Sum/3)
	if len(s.Tokens) != 3 || s.Count != 3 {
		t.Errorf("%d tokens, %d scored, want 3 and 3", len(s.Tokens), s.Count)
	}
}

func TestTextsOfNoTokenAndOfOne(t *testing.T) {
	m := tinyModel(t, model.Options{})
	for _, text := range []string{"", "a"} {
		s := scoreOne(t, m, letters{}, eval.Request{Text: text}, eval.ScoreOptions{})
		if len(s.Tokens) != len(text) || s.Count != 0 || s.Sum != 0 || !math.IsNaN(s.Mean) {
			t.Errorf("%q: %+v", text, s)
		}
	}
	s := scoreOne(t, m, letters{}, eval.Request{Text: ""}, eval.ScoreOptions{BOS: true})
	if len(s.Tokens) != 0 || s.Count != 0 {
		t.Errorf("no text after a BOS: %+v", s)
	}
}

func TestPairsAreCutAsByLMEval(t *testing.T) {
	cases.NotShort(t)
	m, tok := testmodel.Demo(t, model.Options{}), tokenizer.GPT2()
	for _, c := range []struct {
		context, continuation string
		given                 string // the context that is seen
		scored                string
	}{
		{"The cat sat on the", " mat.", "The cat sat on the", " mat."},
		{"The cat sat on the ", "mat.", "The cat sat on the", " mat."},
		{"The cat sat on the \n\t ", "mat.", "The cat sat on the", " \n\t mat."},
		{"The cat sat on the\u2003", "mat.", "The cat sat on the", "\u2003mat."},
		{"", "The mat.", "<|endoftext|>", "The mat."},
		{"  ", "The mat.", "<|endoftext|>", "  The mat."},
	} {
		s := scoreOne(t, m, tok, eval.Request{Context: c.context, Text: c.continuation, Pair: true},
			eval.ScoreOptions{})
		if s.Text != c.scored || s.Count != len(s.Tokens) {
			t.Errorf("%q + %q: scored %q, %d of %d", c.context, c.continuation, s.Text, s.Count,
				len(s.Tokens))
		}
		ids, sum := must(tok.WithSpecial().Encode(c.given)), 0.0
		for i, token := range s.Tokens {
			ids = append(ids, token.ID)
			near(t, fmt.Sprintf("%q token %d", c.context, i), token.LogProb, logprob(t, m, ids...))
			sum += token.LogProb
		}
		near(t, "sum", s.Sum, sum)
	}
	// "do" + "g": one token, which the context alone does not make
	for _, err := range eval.Score(context.Background(), m, tok,
		one(eval.Request{Context: "The do", Text: "g", Pair: true}), eval.ScoreOptions{}) {
		var bad *eval.RequestError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), "no token of its own") {
			t.Errorf("a continuation that melts into its context: %v", err)
		}
	}
}

func TestOffsetsCoverTheText(t *testing.T) {
	m, tok := testmodel.Demo(t, model.Options{}), tokenizer.GPT2()
	for _, text := range []string{"naïve 🙂 text\n", "\xff\xfe broken \xf0\x9f", "日本語"} {
		s := scoreOne(t, m, tok, eval.Request{Text: text}, eval.ScoreOptions{})
		if s.Text != text {
			t.Errorf("%q came back as %q", text, s.Text)
		}
		at := 0
		for _, token := range s.Tokens {
			b, err := tok.Text(token.ID)
			if err != nil {
				t.Fatal(err)
			}
			if token.Start != at || text[token.Start:token.End] != b {
				t.Errorf("%q: token %q at %d to %d", text, b, token.Start, token.End)
			}
			at = token.End
		}
		if at != len(text) {
			t.Errorf("%q ends at %d", text, at)
		}
	}
}

func TestLongTextsAndContexts(t *testing.T) {
	m := tinyModel(t, model.Options{})
	ids := readOracle(t).Random[:100]
	s := scoreOne(t, m, letters{}, eval.Request{Tokens: ids}, eval.ScoreOptions{})
	if len(s.Tokens) != 100 || s.Count != 99 {
		t.Fatalf("%d tokens, %d scored", len(s.Tokens), s.Count)
	}
	// 23 positions: 23 targets at first, then 11 at a time, each window's inputs being the 23
	// tokens before its last target.
	for i, token := range s.Tokens[1:] {
		target, from := i+1, 0
		if target > 23 {
			end := min(24+11*((target-24)/11+1), 100)
			from = end - 24
		}
		near(t, fmt.Sprint("token ", target), token.LogProb, logprob(t, m, ids[from:target+1]...))
	}

	text := func(ids []int) string {
		b := make([]byte, len(ids))
		for i, id := range ids {
			b[i] = 'a' + byte(id)
		}
		return string(b)
	}
	pair := eval.Request{Context: text(ids[:60]), Text: text(ids[60:65]), Pair: true}
	s = scoreOne(t, m, letters{}, pair, eval.ScoreOptions{})
	if s.Dropped != 65-24 || s.Count != 5 {
		t.Errorf("%d dropped, %d scored", s.Dropped, s.Count)
	}
	near(t, "first of the continuation", s.Tokens[0].LogProb, logprob(t, m, ids[41:61]...))
	near(t, "last of the continuation", s.Tokens[4].LogProb, logprob(t, m, ids[41:65]...))

	pair = eval.Request{Context: "a", Text: text(ids[:24]), Pair: true}
	for _, err := range eval.Score(context.Background(), m, letters{}, one(pair),
		eval.ScoreOptions{}) {
		if err == nil || !strings.Contains(err.Error(),
			"continuation: 24 tokens, want at most 23") {
			t.Errorf("%v", err)
		}
	}
}

// related makes texts that share prefixes of all lengths, and some requests that cannot be scored.
func related() []eval.Request {
	rng := rand.New(rand.NewPCG(1, 2))
	letter := func() string { return string(rune('a' + rng.IntN(29))) }
	var requests []eval.Request
	texts := []string{"", "a", "abcdefghijklmnopqrst"}
	for range 150 {
		base := texts[rng.IntN(len(texts))]
		text := base[:rng.IntN(len(base)+1)]
		for range rng.IntN(12) {
			text += letter()
		}
		texts = append(texts, text)
		switch rng.IntN(8) {
		case 0:
			requests = append(requests, eval.Request{Tokens: []int{1, 2, 99}})
		case 1, 2, 3:
			requests = append(requests, eval.Request{Context: text, Text: letter() + letter(),
				Pair: true})
		case 4:
			requests = append(requests, eval.Request{Text: text + text + text})
		default:
			requests = append(requests, eval.Request{Text: text})
		}
	}
	return requests
}

func TestBatchesAndSharedPrefixesChangeNothing(t *testing.T) {
	m := tinyModel(t, model.Options{Threads: 2})
	requests := related()
	all := func(batch int) (out []string) {
		o := eval.ScoreOptions{Batch: batch, Top: 4}
		n := 0
		for s, err := range eval.Score(context.Background(), m, letters{}, slices.Values(requests),
			o) {
			var bad *eval.RequestError
			if err != nil && (!errors.As(err, &bad) || bad.Index != n) || err == nil &&
				s.Index != n {
				t.Fatalf("request %d: %+v, %v", n, s.Index, err)
			}
			n++
			out = append(out, fmt.Sprintf("%+v %v", s, err))
		}
		return out
	}
	want := all(1)
	if len(want) != len(requests) {
		t.Fatalf("%d answers to %d requests", len(want), len(requests))
	}
	for _, batch := range []int{2, 7, 64, 1000} {
		if got := all(batch); !reflect.DeepEqual(got, want) {
			for i := range want {
				if got[i] != want[i] {
					t.Fatalf("batch %d, request %d:\n%s\n%s", batch, i, got[i], want[i])
				}
			}
		}
	}
}

func TestTopAlternatives(t *testing.T) {
	m := tinyModel(t, model.Options{})
	s := scoreOne(t, m, letters{}, eval.Request{Text: "cabbage"}, eval.ScoreOptions{Top: 100})
	for i, token := range s.Tokens[1:] {
		if len(token.Top) != 29 {
			t.Fatalf("%d alternatives, want the vocabulary's 29", len(token.Top))
		}
		sum := 0.0
		for j, a := range token.Top {
			sum += math.Exp(a.LogProb)
			if j > 0 && a.LogProb > token.Top[j-1].LogProb {
				t.Errorf("token %d: alternative %d is more probable than the one before", i, j)
			}
			if a.ID == token.ID && (a.LogProb != token.LogProb || j != token.Rank) {
				t.Errorf("token %d is alternative %d with %v, but of rank %d with %v", i, j,
					a.LogProb, token.Rank, token.LogProb)
			}
		}
		near(t, "all probability", sum, 1)
		if greedy := token.Top[0].ID == token.ID; greedy != token.Greedy {
			t.Errorf("token %d: greedy %t", i, token.Greedy)
		}
	}
}

func TestScoreStops(t *testing.T) {
	m := tinyModel(t, model.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	n := 0
	endless := func(yield func(eval.Request) bool) {
		for yield(eval.Request{Text: "abc"}) {
		}
	}
	var last error
	for _, err := range eval.Score(ctx, m, letters{}, endless, eval.ScoreOptions{Batch: 2}) {
		if n++; n == 10 {
			cancel()
		}
		last = err
	}
	if !errors.Is(last, context.Canceled) || n > 12 {
		t.Errorf("%v after %d", last, n)
	}
	for range eval.Score(context.Background(), m, letters{}, endless, eval.ScoreOptions{}) {
		break
	}
	for _, err := range eval.Score(context.Background(), spoiled(t), letters{}, endless,
		eval.ScoreOptions{}) {
		var bad *model.NonFiniteError
		if !errors.As(err, &bad) {
			t.Errorf("%v, want a NonFiniteError", err)
		}
		break
	}
}
