package model_test

// Promise 2: the same bits for any threads, batch, chunks, cache and kernels.

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/kernels"
	"picogpt/model"
	"picogpt/weights"
)

// shapes are checkpoints whose sizes straddle the kernels' tiles.
var shapes = map[string]fixture.Options{
	"small and odd": {Seed: 1, Vocab: 53, Positions: 200},
	"wider, f16": {Seed: 2, Vocab: 301, Positions: 200, Embd: 72, Head: 3, Inner: 150, Layer: 2,
		DType: weights.F16},
	"two panels": {Seed: 3, Vocab: 130, Positions: 200, Embd: 96, Head: 2, Inner: 290, Layer: 2,
		Untied: true},
	"bf16, one head": {Seed: 4, Vocab: 67, Positions: 200, Embd: 33, Head: 1, Layer: 2,
		DType: weights.BF16},
}

func tokens(r *rand.Rand, n, vocab int) []int {
	ids := make([]int, n)
	for i := range ids {
		ids[i] = r.IntN(vocab)
	}
	return ids
}

func sameBits(t testing.TB, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d logits, want %d", what, len(got), len(want))
	}
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			t.Fatalf("%s: logit %d is %x (%v), want %x (%v)", what, i, math.Float32bits(got[i]),
				got[i], math.Float32bits(want[i]), want[i])
		}
	}
}

// TestSameBits evaluates 150 tokens token by token on one thread with the pure Go kernels, and then
// in every other way.
func TestSameBits(t *testing.T) {
	for turn, name := range slices.Sorted(maps.Keys(shapes)) {
		t.Run(name, func(t *testing.T) {
			o := shapes[name]
			config, file := fixture.Checkpoint(o)
			r := rand.New(rand.NewPCG(1, 2))
			ids := tokens(r, 150, o.Vocab)
			m := testmodel.New(t, config, file, model.Options{Threads: 1, Kernel: "go"})
			want := make([][]float32, len(ids))
			s := m.NewSession()
			for i, id := range ids {
				want[i] = append([]float32(nil), eval(t, s, id)...)
			}
			for i, kernel := range kernels.Variants() {
				teams := cases.Some([]int{2, 7, 1}, 1, i)
				if testing.Short() {
					teams = []int{2}
				}
				for _, threads := range teams {
					t.Run(fmt.Sprintf("%s, %d threads", kernel, threads), func(t *testing.T) {
						m := testmodel.New(t, config, file,
							model.Options{Threads: threads, Kernel: kernel})
						checkWays(t, m, r, ids, want, turn)
					})
				}
			}
		})
	}
}

// checkWays evaluates in every way, or where the kernels are pure Go, which is slow, in one of
// them.
func checkWays(t *testing.T, m *model.Model, r *rand.Rand, ids []int, want [][]float32, turn int) {
	ways := []func(){
		func() { checkWhole(t, m, ids, want) },
		func() { checkChunks(t, m, r, ids, want) },
		func() { checkBatch(t, m, r, ids, want) },
		func() { checkForkAndTruncate(t, m, ids, want) },
	}
	if m.Kernel() == "go" {
		ways = cases.Some(ways, 1, turn)
	}
	for _, check := range ways {
		check()
	}
}

func checkWhole(t *testing.T, m *model.Model, ids []int, want [][]float32) {
	for i, row := range visit(t, m, ids) {
		sameBits(t, fmt.Sprintf("whole, position %d", i), row, want[i])
	}
	sameBits(t, "whole, last", eval(t, m.NewSession(), ids...), want[len(ids)-1])
}

func checkChunks(t *testing.T, m *model.Model, r *rand.Rand, ids []int, want [][]float32) {
	s := m.NewSession()
	for s.Len() < len(ids) {
		n := min(1+r.IntN(40), len(ids)-s.Len())
		got := eval(t, s, ids[s.Len():s.Len()+n]...)
		sameBits(t, fmt.Sprintf("a chunk of %d ending at %d", n, s.Len()), got, want[s.Len()-1])
	}
}

// checkBatch runs sessions that are at different places of the same text, with chunks of different
// lengths, in one Eval.
func checkBatch(t *testing.T, m *model.Model, r *rand.Rand, ids []int, want [][]float32) {
	batch := make([]model.Input, 9)
	for i := range batch {
		batch[i].Session = m.NewSession()
	}
	for range 6 {
		for i := range batch {
			at := batch[i].Session.Len()
			n := 1
			if r.IntN(2) == 0 {
				n = 1 + r.IntN(20)
			}
			batch[i].Tokens = ids[at : at+n]
		}
		if err := m.Eval(context.Background(), batch...); err != nil {
			t.Fatal(err)
		}
		for i := range batch {
			s := batch[i].Session
			sameBits(t, fmt.Sprintf("session %d of a batch, position %d", i, s.Len()-1), s.Logits(),
				want[s.Len()-1])
		}
	}
}

func checkForkAndTruncate(t *testing.T, m *model.Model, ids []int, want [][]float32) {
	s := m.NewSession()
	eval(t, s, ids[:100]...)
	full := s.Fork(100)
	sameBits(t, "a fork's logits", full.Logits(), want[99])
	early := s.Fork(70) // in the middle of a page
	other := s.Fork(64)
	// must not disturb the others
	eval(t, other, tokens(rand.New(rand.NewPCG(9, 9)), 20, m.Config().VocabSize)...)
	sameBits(t, "a fork goes on", eval(t, early, ids[70:90]...), want[89])
	sameBits(t, "the original goes on", eval(t, s, ids[100:130]...), want[129])
	sameBits(t, "a full fork goes on", eval(t, full, ids[100:101]...), want[100])
	s.Truncate(33)
	if s.Logits() != nil {
		t.Error("a truncated session has logits")
	}
	eval(t, s, tokens(rand.New(rand.NewPCG(8, 8)), 50, m.Config().VocabSize)...)
	s.Truncate(33)
	sameBits(t, "after truncation", eval(t, s, ids[33:140]...), want[139])
	sameBits(t, "a fork after all that", eval(t, early, ids[90:91]...), want[90])
}

func TestManyGoroutinesShareAModel(t *testing.T) { shareAModel(t, model.Options{Threads: 3}) }

func shareAModel(t *testing.T, o model.Options) {
	config, file := fixture.Checkpoint(shapes["wider, f16"])
	m := testmodel.New(t, config, file, o)
	ids := tokens(rand.New(rand.NewPCG(5, 5)), 40, m.Config().VocabSize)
	want := append([]float32(nil), eval(t, m.NewSession(), ids...)...)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			s := m.NewSession()
			for _, id := range ids {
				if err := m.Eval(context.Background(),
					model.Input{Session: s, Tokens: []int{id}}); err != nil {
					t.Error(err)
					return
				}
			}
			sameBits(t, "side by side", s.Logits(), want)
		})
	}
	wg.Wait()
}
