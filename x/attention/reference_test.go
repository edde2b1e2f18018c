package attention_test

// The readable reference: a loop over the heads, in float64, with whole rows of scores.

import (
	"math"
	"math/rand/v2"
	"testing"

	"picogpt/kernels"
	"picogpt/x/attention"
)

func newTeam(t testing.TB, threads int, variant string) *kernels.Team {
	t.Helper()
	team, err := kernels.NewTeam(threads, variant)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(team.Close)
	return team
}

func randoms(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// multiply is x [rows, in] times the transpose of w [out, in], in float64.
func multiply(x, w []float32, rows, in, out int) []float32 {
	y := make([]float32, rows*out)
	for i := range rows {
		for o := range out {
			sum := 0.0
			for k := range in {
				sum += float64(x[i*in+k]) * float64(w[o*in+k])
			}
			y[i*out+o] = float32(sum)
		}
	}
	return y
}

// oneHead is attention of one head as the formula says. hidden tells whether query i may not see
// key j; add is what is added to its score.
func oneHead(
	q, k, v []float32, s attention.Sizes, scale float64, hidden func(i, j int) bool,
	add func(i, j int) float64,
) (out, weights []float64) {
	out, weights = make([]float64, s.Queries*s.ValueDim), make([]float64, s.Queries*s.Keys)
	for i := range s.Queries {
		row, highest, sum := weights[i*s.Keys:(i+1)*s.Keys], math.Inf(-1), 0.0
		for j := range row {
			for d := range s.KeyDim {
				row[j] += float64(q[i*s.KeyDim+d]) * float64(k[j*s.KeyDim+d])
			}
			row[j] = row[j]*scale + add(i, j)
			if hidden(i, j) {
				row[j] = math.Inf(-1)
			}
			highest = max(highest, row[j])
		}
		if math.IsInf(highest, -1) { // sees nothing
			clear(row)
			continue
		}
		for j := range row {
			row[j] = math.Exp(row[j] - highest)
			sum += row[j]
		}
		for j := range row {
			row[j] /= sum
			for d := range s.ValueDim {
				out[i*s.ValueDim+d] += row[j] * float64(v[j*s.ValueDim+d])
			}
		}
	}
	return out, weights
}

// byLoop is ScaledDotProduct, head by head.
func byLoop(
	q, k, v []float32, s attention.Sizes, o attention.Options,
) (out, weights, mean []float64) {
	scale := float64(o.Scale)
	if scale == 0 {
		scale = 1 / math.Sqrt(float64(s.KeyDim))
	}
	mean = make([]float64, s.Batch*s.Queries*s.Keys)
	for b := range s.Batch {
		for h := range s.Heads {
			n := b*s.Heads + h
			at := func(i, j int) int { // in the mask
				shape, index := o.Mask.Shape, [4]int{b, h, i, j}
				if shape == [4]int{} {
					shape = [4]int{1, 1, s.Queries, s.Keys}
				}
				offset := 0
				for d := range shape {
					offset = offset*shape[d] + min(index[d], shape[d]-1)
				}
				return offset
			}
			hidden := func(i, j int) bool {
				return o.Causal && j > o.Past+i || o.Mask.Keep != nil && !o.Mask.Keep[at(i, j)]
			}
			add := func(i, j int) float64 {
				if o.Mask.Add == nil {
					return 0
				}
				return float64(o.Mask.Add[at(i, j)])
			}
			y, w := oneHead(q[n*s.Queries*s.KeyDim:], k[n*s.Keys*s.KeyDim:],
				v[n*s.Keys*s.ValueDim:], s, scale, hidden, add)
			out, weights = append(out, y...), append(weights, w...)
			for i := range w {
				mean[b*s.Queries*s.Keys+i] += w[i] / float64(s.Heads)
			}
		}
	}
	return out, weights, mean
}

// relative returns ‖got − want‖ / ‖want‖, and 0 if both are zero.
func relative(got []float32, want []float64) float64 {
	var diff, norm float64
	for i := range want {
		diff += math.Pow(float64(got[i])-want[i], 2)
		norm += want[i] * want[i]
	}
	if diff == 0 {
		return 0
	}
	return math.Sqrt(diff / norm)
}

func near(t testing.TB, what string, got []float32, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d numbers, want %d", what, len(got), len(want))
	}
	const limit = 1e-6 // the products alone, of up to 128 terms, lose half of that
	if r := relative(got, want); !(r <= limit) {
		t.Errorf("%s: relative error %.3g, want at most %g", what, r, limit)
	}
}

func sameBits(t testing.TB, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d numbers, want %d", what, len(got), len(want))
	}
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			t.Fatalf("%s: number %d is %x (%v), want %x (%v)", what, i, math.Float32bits(got[i]),
				got[i], math.Float32bits(want[i]), want[i])
		}
	}
}
