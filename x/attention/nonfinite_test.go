package attention_test

// NaN, infinities and overflows in linear attention never become finite results. Package kernels
// has the same tests for softmax attention.

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"picogpt/kernels"
	"picogpt/x/attention"
)

func finite(x float32) bool { return x-x == 0 }

// linearForms are Linear and LinearState as functions of q, k and v.
func linearForms(team *kernels.Team, s attention.Sizes) map[bool]func(q, k, v []float32) []float32 {
	return map[bool]func(q, k, v []float32) []float32{
		false: func(q, k, v []float32) []float32 {
			dst := make([]float32, s.Queries*s.ValueDim)
			attention.Linear(team, dst, q, k, v, s, attention.LinearOptions{})
			return dst
		},
		true: func(q, k, v []float32) []float32 {
			dst := make([]float32, s.Queries*s.ValueDim)
			state := attention.NewLinearState(1, 1, s.KeyDim, s.ValueDim, attention.LinearOptions{})
			state.Append(team, dst, q, k, v, s.Keys)
			return dst
		},
	}
}

// A number of a query affects the results of that query, a number of a key those of all queries
// that see it, and a number of a value one column of these. The features of −Inf are 0, as in
// PyTorch.
func TestLinearKeepsWhatIsNotFinite(t *testing.T) {
	s := attention.Sizes{Batch: 1, Heads: 1, Queries: 140, Keys: 140, KeyDim: 5, ValueDim: 19}
	r := rand.New(rand.NewPCG(71, 72))
	inputs := [][]float32{
		randoms(r, s.Queries*s.KeyDim), randoms(r, s.Keys*s.KeyDim), randoms(r, s.Keys*s.ValueDim)}
	touches := func(causal bool, n, at, row, col int) bool {
		switch n {
		case 0:
			return row == at/s.KeyDim
		case 1:
			return !causal || row >= at/s.KeyDim
		}
		return col == at%s.ValueDim && (!causal || row >= at/s.ValueDim)
	}
	inf := float32(math.Inf(1))
	check := func(what string, causal bool, run func(q, k, v []float32) []float32) {
		clean := run(inputs[0], inputs[1], inputs[2])
		for n, input := range inputs {
			for i := range 17 {
				at, bad := n+i*(len(input)/17), []float32{float32(math.NaN()), inf, -inf}[i%3]
				if bad == -inf && n < 2 {
					bad = inf
				}
				in := slices.Clone(inputs)
				in[n] = slices.Clone(input)
				in[n][at] = bad
				for j, x := range run(in[0], in[1], in[2]) {
					row, col := j/s.ValueDim, j%s.ValueDim
					touched := touches(causal, n, at, row, col)
					if touched == finite(x) || !touched && x != clean[j] {
						t.Fatalf("%s: %v at %d of input %d: query %d, column %d is %v, %v without",
							what, bad, at, n, row, col, x, clean[j])
					}
				}
			}
		}
	}
	for _, variant := range kernels.Variants() {
		for causal, run := range linearForms(newTeam(t, 2, variant), s) {
			check(fmt.Sprintf("%s, causal %v", variant, causal), causal, run)
		}
	}
}

// Sums of features that overflow divide by infinity: the result is NaN, not 0.
func TestLinearThatOverflowsIsNaN(t *testing.T) {
	s := attention.Sizes{Batch: 1, Heads: 1, Queries: 70, Keys: 70, KeyDim: 3, ValueDim: 4}
	q, k := make([]float32, s.Queries*s.KeyDim), make([]float32, s.Keys*s.KeyDim)
	v := make([]float32, s.Keys*s.ValueDim)
	for i := range q {
		q[i], k[i] = 1e3, 3e37
	}
	for i := range v {
		v[i] = 1e-20
	}
	for _, variant := range kernels.Variants() {
		for causal, run := range linearForms(newTeam(t, 1, variant), s) {
			out := run(q, k, v)
			if i := slices.IndexFunc(out, finite); i >= 0 {
				t.Errorf("%s, causal %v: number %d is %v, want NaN", variant, causal, i, out[i])
			}
		}
	}
}

// A query that sees keys is never zeros: with a NaN among its own numbers, and in a row of keys,
// through the public call.
func TestScaledDotProductKeepsWhatIsNotFinite(t *testing.T) {
	s := attention.Sizes{Batch: 1, Heads: 2, Queries: 5, Keys: 5, KeyDim: 4, ValueDim: 3}
	r := rand.New(rand.NewPCG(73, 74))
	for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1)), 1e38} {
		for bent := range s.Queries {
			p := newProblem(r, s, attention.Options{Causal: true})
			for d := range s.KeyDim { // of head 1: a score of NaN, +Inf or −Inf with every key
				p.q[(s.Queries+bent)*s.KeyDim+d] = bad
				for j := range s.Keys {
					p.k[(s.Keys+j)*s.KeyDim+d] = -1 - 9*float32(j)
				}
			}
			out, weights, _ := p.run(newTeam(t, 1, ""))
			for i := range s.Heads * s.Queries {
				want := i != s.Queries+bent
				row := append(out[i*s.ValueDim:][:s.ValueDim:s.ValueDim], weights[i*s.Keys])
				for _, x := range row {
					if finite(x) != want {
						t.Fatalf("%v in row %d: row %d has %v, finite wanted is %v",
							bad, bent, i, x, want)
					}
				}
			}
		}
	}
}
