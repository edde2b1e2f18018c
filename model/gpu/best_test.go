//go:build gpu

package gpu_test

// The best of a row, as the device of $GPT_DEVICE chooses them, against their definition.

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"picogpt/kernels"
	"picogpt/model/stack"
)

// bestByDefinition sorts the row.
func bestByDefinition(logits []float32, k int) (b stack.Best) {
	sorted := slices.Sorted(slices.Values(logits))
	least := sorted[len(sorted)-k]
	for id, x := range logits {
		if x >= least {
			b.IDs, b.Logits = append(b.IDs, int32(id)), append(b.Logits, x)
		}
	}
	b.LogSumExp = kernels.Leaves{}.LogSumExp(logits)
	return b
}

// TestTheBestOnADevice uses sizes around the edges of runs, chunks and groups, and one of more runs
// than a group loads at a time, 2048; some rows have equal logits, zeros of both signs, or logits
// that are not finite.
func TestTheBestOnADevice(t *testing.T) {
	leaves, _ := open(t)
	r := rand.New(rand.NewPCG(1, 5))
	const rows = 9
	for _, vocab := range []int{2, 17, 31, 33, 65, 500, 2047, 2048, 2049, 5000, 50257, 140_003} {
		chosen, refused := 0, 0
		for _, k := range []int{1, 2, 5, 16, 40, 128, 129} {
			if k >= vocab || vocab > 1<<17 && k != 16 { // so many take long
				continue
			}
			logits := make([]float32, rows*vocab)
			for i := range logits {
				logits[i] = float32(r.NormFloat64() * 4)
			}
			row := func(i int) []float32 { return logits[i*vocab:][:vocab] }
			row(1)[r.IntN(vocab)] = float32(math.NaN())
			row(2)[r.IntN(vocab)] = float32(math.Inf(-1))
			row(3)[vocab-1] = float32(math.Inf(1))
			clear(row(4)) // all are equal
			for i := range row(5) {
				row(5)[i] = float32(r.IntN(3)) - 1 // most are
			}
			for i := range row(6) { // some are, at the greatest
				row(6)[i] = float32(math.Copysign(0, r.Float64()-0.5)) - float32(r.IntN(9)/8)
			}
			for i := range row(7) { // in order, and far apart
				row(7)[i] = -float32(i) * 0.3
			}
			for i, got := range leaves.Best(logits, rows, vocab, k) {
				what := fmt.Sprintf("%d of %d, row %d", k, vocab, i)
				if len(got.IDs) == 0 {
					refused++
					continue
				}
				chosen++
				want := bestByDefinition(row(i), k)
				if i >= 1 && i <= 3 {
					t.Fatalf("%s: ids %v of what is not finite", what, got.IDs)
				}
				if !slices.Equal(got.IDs, want.IDs) ||
					math.Float64bits(got.LogSumExp) != math.Float64bits(want.LogSumExp) {
					t.Fatalf("%s: ids %v, log of the sum %v, want %v, %v", what, got.IDs,
						got.LogSumExp, want.IDs, want.LogSumExp)
				}
				sameBits(t, what, got.Logits, want.Logits)
			}
		}
		if chosen == 0 || vocab > 5000 && vocab < 1<<17 && chosen < 6*3 {
			t.Errorf("vocabulary of %d: %d rows chosen, %d to be read", vocab, chosen, refused)
		}
	}
}

// TestTheExponentialsOfARowOnADevice compares each, and their sum, to the last bit. A step of exp
// that rounds once more shows in one of 20,000, so there are many. The differences to the greatest
// logit are small, usual and large, up to where exp is 0.
func TestTheExponentialsOfARowOnADevice(t *testing.T) {
	leaves, _ := open(t)
	r := rand.New(rand.NewPCG(2, 6))
	const rows = 3
	for _, vocab := range []int{9, 2048, 200_000} {
		logits := make([]float32, rows*vocab)
		for i := range logits {
			spread := []float64{0.5, 4, 300}[i/vocab]
			logits[i] = float32(r.NormFloat64() * spread)
		}
		terms, sums := leaves.Exponentials(logits, rows, vocab)
		for row := range rows {
			logits, terms := logits[row*vocab:][:vocab], terms[row*vocab:][:vocab]
			greatest := float64(slices.Max(logits))
			var lanes [8]float64
			for id, x := range logits {
				want := kernels.Exp64(float64(x) - greatest)
				if math.Float64bits(terms[id]) != math.Float64bits(want) {
					t.Fatalf("row %d of %d: exp(%v) is %x, want %x", row, vocab,
						float64(x)-greatest, terms[id], want)
				}
				lanes[id%8] += want
			}
			want := ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
				((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]))
			if math.Float64bits(sums[row]) != math.Float64bits(want) {
				t.Errorf("row %d of %d: the sum is %x, want %x", row, vocab, sums[row], want)
			}
		}
	}
}
