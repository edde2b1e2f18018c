package attention_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"picogpt/dev/cases"
	"picogpt/kernels"
	"picogpt/x/attention"
)

// squares is a feature map of another width: [x², 1].
func squares(dst, x []float32) {
	for i, v := range x {
		dst[i] = v * v
	}
	dst[len(x)] = 1
}

func elu1(dst, x []float32) {
	for i, v := range x {
		dst[i] = v + 1
		if v <= 0 {
			dst[i] = float32(math.Exp(float64(v)))
		}
	}
}

// linearByLoop is linear attention in its quadratic form: similarities φ(q)·φ(k) replace exp(q·k).
func linearByLoop(
	q, k, v []float32, s attention.Sizes, o attention.LinearOptions, causal bool,
) []float64 {
	phi, width := elu1, s.KeyDim
	if o.Map != nil {
		phi, width = o.Map, o.Features
	}
	eps := 1e-6
	if o.Epsilon != 0 {
		eps = float64(o.Epsilon)
	}
	var out []float64
	fq, fk := make([]float32, width), make([]float32, width)
	for n := range s.Batch * s.Heads {
		for i := range s.Queries {
			phi(fq, q[(n*s.Queries+i)*s.KeyDim:][:s.KeyDim])
			row, sum := make([]float64, s.ValueDim), eps
			for j := range s.Keys {
				if causal && j > i {
					break
				}
				phi(fk, k[(n*s.Keys+j)*s.KeyDim:][:s.KeyDim])
				a := 0.0
				for d := range width {
					a += float64(fq[d]) * float64(fk[d])
				}
				sum += a
				for d := range row {
					row[d] += a * float64(v[(n*s.Keys+j)*s.ValueDim+d])
				}
			}
			for d := range row {
				out = append(out, row[d]/sum)
			}
		}
	}
	return out
}

var linearSizes = []attention.Sizes{
	{Batch: 1, Heads: 1, Queries: 1, Keys: 1, KeyDim: 1, ValueDim: 1},
	{Batch: 2, Heads: 3, Queries: 130, Keys: 130, KeyDim: 20, ValueDim: 33},
	{Batch: 1, Heads: 2, Queries: 64, Keys: 64, KeyDim: 128, ValueDim: 128},
	{Batch: 3, Heads: 1, Queries: 200, Keys: 200, KeyDim: 7, ValueDim: 80},
}

var linearOptions = map[string]func(s attention.Sizes) attention.LinearOptions{
	"elu+1": func(attention.Sizes) attention.LinearOptions { return attention.LinearOptions{} },
	"squares": func(s attention.Sizes) attention.LinearOptions {
		return attention.LinearOptions{Map: squares, Features: s.KeyDim + 1}
	},
	"own epsilon": func(attention.Sizes) attention.LinearOptions { return attention.LinearOptions{Epsilon: 0.5} },
}

func TestLinear(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	for name, options := range linearOptions {
		for _, s := range append(linearSizes,
			attention.Sizes{Batch: 1, Heads: 2, Queries: 5, Keys: 100, KeyDim: 8, ValueDim: 8}) {
			p, o := newProblem(r, s, attention.Options{}), options(s)
			var first []float32
			for i, variant := range slices.Backward(kernels.Variants()) { // "go" first
				for _, threads := range cases.Some([]int{1, 2, 5}, 1, i) {
					out := make([]float32, s.Batch*s.Heads*s.Queries*s.ValueDim)
					attention.Linear(newTeam(t, threads, variant), out, p.q, p.k, p.v, s, o)
					if first == nil {
						first = out
						near(t, fmt.Sprint(name, s), out, linearByLoop(p.q, p.k, p.v, s, o, false))
					}
					sameBits(t, fmt.Sprint(name, s, variant, threads), out, first)
				}
			}
		}
	}
}

// The causal form is right, and has the same bits for any division into calls, on any team.
func TestLinearState(t *testing.T) {
	cases.NotShort(t)
	r, turn := rand.New(rand.NewPCG(23, 24)), 0
	for name, options := range linearOptions {
		for _, s := range linearSizes {
			p, o := newProblem(r, s, attention.Options{}), options(s)
			var first []float32
			for _, variant := range slices.Backward(kernels.Variants()) { // "go" first
				for _, threads := range cases.Some([]int{1, 3}, 1, turn) {
					all := [][]int{{1000}, {63, 1, 2}, {7, 100}, {64}, {1}}
					for i, pieces := range cases.Some(all, 2, turn) {
						if testing.Short() && i > 1 {
							break
						}
						what := fmt.Sprint(name, s, variant, threads, pieces)
						out := appendPieces(newTeam(t, threads, variant), p, o, pieces)
						if first == nil {
							first = out
							near(t, what, out, linearByLoop(p.q, p.k, p.v, s, o, true))
						}
						sameBits(t, what, out, first)
					}
					turn++
				}
			}
		}
	}
}

func appendPieces(
	team *kernels.Team, p problem, o attention.LinearOptions, pieces []int,
) []float32 {
	s := p.Sizes
	state := attention.NewLinearState(s.Batch, s.Heads, s.KeyDim, s.ValueDim, o)
	out := make([]float32, s.Batch*s.Heads*s.Keys*s.ValueDim)
	for i := 0; state.Len() < s.Keys; i++ {
		from := state.Len()
		n := min(pieces[i%len(pieces)], s.Keys-from)
		dst := make([]float32, s.Batch*s.Heads*n*s.ValueDim)
		state.Append(team, dst, rows(p.q, s.Keys, s.KeyDim, from, n),
			rows(p.k, s.Keys, s.KeyDim, from, n), rows(p.v, s.Keys, s.ValueDim, from, n), n)
		putRows(out, dst, s.Keys, s.ValueDim, from, n)
	}
	return out
}

// The last token of the causal form sees the same keys as every token of the other form.
func TestLinearFormsMeet(t *testing.T) {
	r := rand.New(rand.NewPCG(25, 26))
	s := attention.Sizes{Batch: 1, Heads: 1, Queries: 300, Keys: 300, KeyDim: 16, ValueDim: 16}
	p := newProblem(r, s, attention.Options{})
	team := newTeam(t, 2, "")
	full := make([]float32, s.Queries*s.ValueDim)
	attention.Linear(team, full, p.q, p.k, p.v, s, attention.LinearOptions{})
	causal := appendPieces(team, p, attention.LinearOptions{}, []int{300})
	last := len(full) - s.ValueDim
	want := make([]float64, s.ValueDim)
	for i := range want {
		want[i] = float64(full[last+i])
	}
	near(t, "last token", causal[last:], want)
	if relative(causal[:s.ValueDim], want) < 0.1 {
		t.Error("the first token sees as much as the last")
	}
}

// Memory does not grow with a thousand tokens.
func TestLinearStateIsConstantMemory(t *testing.T) {
	s := attention.Sizes{Batch: 1, Heads: 2, Queries: 1, Keys: 1, KeyDim: 8, ValueDim: 8}
	p := newProblem(rand.New(rand.NewPCG(27, 28)), s, attention.Options{})
	team := newTeam(t, 1, "")
	state := attention.NewLinearState(1, 2, 8, 8, attention.LinearOptions{})
	dst := make([]float32, 16)
	step := func() { state.Append(team, dst, p.q, p.k, p.v, 1) }
	step()
	if n := testing.AllocsPerRun(1000, step); n > 1 {
		t.Errorf("%v allocations a token, want at most 1", n)
	}
}
