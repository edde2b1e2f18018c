package model_test

// What tests of bits share. That every way gives the same bits is TestTheSameBits in package decode.

import (
	"context"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
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
