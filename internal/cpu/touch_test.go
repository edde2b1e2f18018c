package cpu

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"picogpt/internal/engine"
	"picogpt/kernels"
)

// TestAPassTouchesWhatItReads: no pass touches a layer, or the head, that it does not compute, and
// each is touched once.
func TestAPassTouchesWhatItReads(t *testing.T) {
	for _, threads := range []int{1, 3} {
		team, err := kernels.NewTeam(threads, "")
		if err != nil {
			t.Fatal(err)
		}
		defer team.Close()
		p := random(t, team, rand.New(rand.NewPCG(3, 4)), kernels.F32, kernels.F32, 48, 3)
		b := New(team, p, engine.NewBudget(0)).(*backend)
		run := func(ctx context.Context, s engine.Span) error {
			s.Cache, s.Tokens = b.NewCache(), make([]int, 40)
			if err := s.Cache.Reserve(len(s.Tokens)); err != nil {
				t.Fatal(err)
			}
			return b.Run(ctx, &engine.Pass{Spans: []engine.Span{s}, Visit: func(int, int, engine.Row) {}})
		}
		check := func(what, want string) {
			if got := fmt.Sprint(b.read); got != want {
				t.Errorf("%d threads, after %s: read %v, want %v", threads, what, got, want)
			}
		}
		ended, end := context.WithCancel(t.Context())
		end()
		if err := run(ended, engine.Span{Visit: 39}); err != context.Canceled {
			t.Errorf("error %v, want %v", err, context.Canceled)
		}
		check("a pass that ends before it begins", "[false false false false]")
		for _, pass := range []struct {
			what, want string
			span       engine.Span
		}{
			{"one layer", "[true false false false]", engine.Span{Hidden: true, Layer: 1}},
			{"no logits", "[true true true false]", engine.Span{Visit: 40}},
			{"all logits", "[true true true true]", engine.Span{}},
		} {
			if err := run(t.Context(), pass.span); err != nil {
				t.Fatal(err)
			}
			check(pass.what, pass.want)
		}
	}
}
