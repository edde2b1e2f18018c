package gpu

// Passes of GPT-2's own widths, whose layers take so long that a pass which is launched kernel by
// kernel waits for each, on a driver that computes nothing: recordings are made without a wait.

import (
	"fmt"
	"slices"
	"testing"

	"picogpt/internal/testing/fixture"
	"picogpt/internal/testing/testmodel"
	"picogpt/model"
)

func TestWidePassesAreRecorded(t *testing.T) {
	for _, s := range []struct{ embd, heads int }{{768, 12}, {1600, 25}, {448, 4}} {
		t.Run(fmt.Sprint(s.embd), func(t *testing.T) {
			config, file := fixture.Checkpoint(fixture.Options{Embd: s.embd, Head: s.heads,
				Layer: 1, Vocab: 300, Positions: 70})
			fake := newFake(t)
			d, count := WithRecorder(NewDevice(Info{Name: "fake", Doubles: true},
				func() (Driver, error) { return fake, nil }).WithoutProbe())
			m := testmodel.New(t, config, file, model.Options{Device: d})
			for rows := 1; rows <= mostFew; rows++ {
				thrice(t, m, count, slices.Repeat([]int{1}, rows))
			}
			for rows := 2; rows < leastTiled; rows++ { // prompts, alone and beside texts
				thrice(t, m, count, []int{rows})
				thrice(t, m, count, append(slices.Repeat([]int{1}, mostFew-rows), rows))
			}
		})
	}
}

// thrice evaluates texts of so many new tokens each in a pass, and again: it is launched kernel by
// kernel, then recorded, then replayed.
func thrice(t *testing.T, m *model.Model, count *Recorded, tokens []int) {
	t.Helper()
	for round := range 3 {
		before := *count
		var batch []model.Input
		for _, n := range tokens {
			batch = append(batch, model.Input{Session: m.NewSession(), Tokens: make([]int, n)})
		}
		err := m.Eval(t.Context(), batch...)
		recorded, replayed := count.Recorded-before.Recorded, count.Replayed-before.Replayed
		if err != nil || recorded != round%2 || replayed != min(round, 1) {
			t.Fatalf("%d tokens, round %d: %d recorded, %d replayed, error %v", tokens, round,
				recorded, replayed, err)
		}
		for _, in := range batch {
			in.Session.Release()
		}
	}
}
