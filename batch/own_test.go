package batch

// For which client the tokens of a shared prefix were evaluated.

import (
	"context"
	"testing"

	"picogpt/decode"
)

func TestWhatAClientEvaluatedItselfIsCounted(t *testing.T) {
	b := newBatcher(t, counted0(t), Options{PrefixBytes: 1 << 30})
	for i, c := range []struct {
		client      string
		n           int // tokens of the prompt, with which longer ones begin
		samples     int
		cached, own int
	}{
		{"a", 18, 1, 0, 0},   // a evaluates 18
		{"b", 24, 1, 18, 0},  // b the 6 that follow
		{"a", 24, 1, 23, 18}, // the last is evaluated again, because its logits are wanted
		{"b", 24, 1, 23, 5},
		{"a", 29, 1, 24, 18}, // a evaluates the 5 that follow those of b
		{"c", 29, 2, 28, 0},
		{"a", 29, 2, 28, 22},
		{"b", 29, 1, 28, 6},
		{"", 29, 1, 28, 0},
		{"a", 20, 1, 19, 18},
	} {
		var p Progress
		r := Request{Prompt: upTo(0, 29)[:c.n], Client: c.client, Progress: &p, Samples: c.samples,
			Options: decode.Options{MaxTokens: 1}}
		if _, err := count(b.Run(context.Background(), r)); err != nil {
			t.Fatal(err)
		}
		idle(b)
		if p.Cached != c.cached || p.Own != c.own {
			t.Errorf("request %d, %d tokens for %s: %d cached, of these %d its own, want %d and %d", i,
				c.n, c.client, p.Cached, p.Own, c.cached, c.own)
		}
	}
}
