package batch_test

// Scored prompts against package eval.

import (
	"context"
	"math"
	"testing"
	"time"

	"picogpt/batch"
	"picogpt/decode"
	"picogpt/dev/testmodel"
	"picogpt/eval"
	"picogpt/model"
	"picogpt/tokenizer"
)

func TestAScoredPromptHasTheNumbersOfEval(t *testing.T) {
	m, tok := testmodel.Demo(t, model.Options{}), tokenizer.GPT2()
	b := batch.New(m, batch.Options{MaxDelay: time.Nanosecond})
	defer b.Close()
	for _, text := range []string{"a b", "Once upon a time, there was a little girl named Lily.",
		"the Rust compiler says: 𝔘nexpected tøken"} {
		want, err := eval.ScoreOne(context.Background(), m, tok, eval.Request{Text: text},
			eval.ScoreOptions{Top: 5})
		if err != nil {
			t.Fatal(err)
		}
		ids, err := tok.Encode(text)
		if err != nil {
			t.Fatal(err)
		}
		o := decode.Options{Echo: decode.EchoOnly, Top: 5, Vocabulary: tok}
		i := 0
		for got, err := range b.Generate(context.Background(), ids, o) {
			if err != nil {
				t.Fatal(err)
			}
			w := want.Tokens[i]
			if got.ID != w.ID || !sameFloat(got.LogProb, w.LogProb) || len(got.Top) != len(w.Top) {
				t.Errorf("%q, token %d: %+v, want %+v", text, i, got, w)
			}
			for j := range w.Top {
				if got.Top[j] != w.Top[j] {
					t.Errorf("%q, token %d: %+v, want %+v", text, i, got.Top[j], w.Top[j])
				}
			}
			i++
		}
		if i != len(want.Tokens) {
			t.Errorf("%q: %d tokens, want %d", text, i, len(want.Tokens))
		}
	}
}

func sameFloat(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }
