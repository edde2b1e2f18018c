package gpu

// Passes of GPT-2's own widths on a driver that computes nothing.

import (
	"fmt"
	"slices"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/internal/engine"

	"picogpt/kernels"
	"picogpt/model"
	"picogpt/model/stack"
)

func TestWidePassesAreRecorded(t *testing.T) {
	cases.NotShort(t)
	for _, s := range []struct{ embd, heads int }{{768, 12}, {1600, 25}, {448, 4}} {
		t.Run(fmt.Sprint(s.embd), func(t *testing.T) {
			config, file := fixture.Checkpoint(fixture.Options{Embd: s.embd, Head: s.heads,
				Layer: 1, Vocab: 300, Positions: 70})
			fake := newFake(t)
			d, count := WithRecorder(NewDevice(Info{Name: "fake", Doubles: true},
				func() (Driver, error) { return fake, nil }).WithoutProbe())
			m := testmodel.New(t, config, file, model.Options{Device: d})
			var batch []model.Input
			for range mostFew + 1 { // too many; the pool of pages is then as large as it becomes
				batch = append(batch, model.Input{Session: m.NewSession(), Tokens: []int{1}})
			}
			if err := m.Eval(t.Context(), batch...); err != nil || count.Recorded > 0 {
				t.Fatalf("%d recordings, error %v", count.Recorded, err)
			}
			for _, in := range batch {
				in.Session.Release()
			}
			sizes := map[int]bool{}
			for rows := 1; rows <= mostFew; rows++ {
				evaluated(t, m, count, sizes, slices.Repeat([]int{1}, rows))
			}
			if len(sizes) != 11 {
				t.Errorf("%d sizes of recordings, want 11", len(sizes))
			}
			clear(sizes)
			for rows := 2; rows < leastTiled; rows++ { // prompts, alone and beside texts
				evaluated(t, m, count, sizes, []int{rows})
			}
			// beside texts: of the rows so many are wanted as of a size without prompts, but attention
			// does not store what rows of one text need of each other
			evaluated(t, m, count, map[int]bool{}, append(slices.Repeat([]int{1}, mostFew-7), 7))
		})
	}
}

// evaluated evaluates texts of so many new tokens each in a pass, and again: the first pass of a
// size is launched kernel by kernel, the second recorded, and from then on it is replayed.
func evaluated(t *testing.T, m *model.Model, count *Recorded, sizes map[int]bool, tokens []int) {
	t.Helper()
	rows := 0
	for _, n := range tokens {
		rows += n
	}
	known := sizes[sizeOf(rows)]
	sizes[sizeOf(rows)] = true
	for round := range 3 {
		before := *count
		var batch []model.Input
		for _, n := range tokens {
			batch = append(batch, model.Input{Session: m.NewSession(), Tokens: make([]int, n)})
		}
		err := m.Eval(t.Context(), batch...)
		recorded, replayed := count.Recorded-before.Recorded, count.Replayed-before.Replayed
		wantRecorded, wantReplayed := round%2, min(round, 1)
		if known {
			wantRecorded, wantReplayed = 0, 1
		}
		if err != nil || recorded != wantRecorded || replayed != wantReplayed {
			t.Fatalf("%d tokens, round %d: %d recorded, %d replayed, want %d and %d, error %v",
				tokens, round, recorded, replayed, wantRecorded, wantReplayed, err)
		}
		for _, in := range batch {
			in.Session.Release()
		}
	}
}

// TestAStepIsNotWaitedFor before its end, unless the device has got very much work.
func TestAStepIsNotWaitedFor(t *testing.T) {
	cases.NotShort(t)
	config, file := fixture.Checkpoint(fixture.Options{Embd: 768, Head: 12, Layer: 2, Vocab: 300,
		Positions: 200})
	fake := newFake(t)
	m := testmodel.New(t, config, file, model.Options{Device: NewDevice(Info{Name: "fake"},
		func() (Driver, error) { return fake, nil }).WithoutProbe()})
	batch := []model.Input{{Session: m.NewSession(), Tokens: make([]int, 130)}}
	for range 63 {
		batch = append(batch, model.Input{Session: m.NewSession(), Tokens: []int{1}})
	}
	fake.reads = 0
	if err := m.Eval(t.Context(), batch...); err != nil || fake.reads != 1 {
		t.Errorf("%d reads, want that of the logits; error %v", fake.reads, err)
	}
	b := newBackend(&Info{}, &stack.Params{H: make([]stack.Block, 1)}, engine.NewBudget(0), nil,
		fake)
	b.params.H[0].CFC.Weight = kernels.Matrix{In: 1 << 11, Out: 1 << 13}
	b.rows, fake.reads = 512, 0
	fake.live[0] = 4 // the plan
	q := b.queue()
	for range 8 {
		q.pace()
	}
	if delete(fake.live, 0); q.err != nil || fake.reads != 4 {
		t.Errorf("%d reads of 8 layers of 2^33 multiplications, want 4; error %v", fake.reads, q.err)
	}
}
