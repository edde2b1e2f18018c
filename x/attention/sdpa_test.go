package attention_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"picogpt/dev/cases"
	"picogpt/kernels"
	"picogpt/x/attention"
)

// A problem is the inputs of scaled dot-product attention.
type problem struct {
	attention.Sizes
	attention.Options
	q, k, v []float32
}

func newProblem(r *rand.Rand, s attention.Sizes, o attention.Options) problem {
	return problem{s, o, randoms(r, s.Batch*s.Heads*s.Queries*s.KeyDim),
		randoms(r, s.Batch*s.Heads*s.Keys*s.KeyDim), randoms(r, s.Batch*s.Heads*s.Keys*s.ValueDim)}
}

// run returns the result, the weights and their mean.
func (p *problem) run(team *kernels.Team) (out, weights, mean []float32) {
	out = make([]float32, p.Batch*p.Heads*p.Queries*p.ValueDim)
	o := p.Options
	o.Weights = make([]float32, p.Batch*p.Heads*p.Queries*p.Keys)
	o.MeanWeights = make([]float32, p.Batch*p.Queries*p.Keys)
	attention.ScaledDotProduct(team, out, p.q, p.k, p.v, p.Sizes, o)
	return out, o.Weights, o.MeanWeights
}

// problems covers each option, on sizes on both sides of the tiles' and blocks' edges.
func problems(r *rand.Rand) map[string]problem {
	odd := attention.Sizes{Batch: 2, Heads: 3, Queries: 71, Keys: 130, KeyDim: 20, ValueDim: 33}
	square := attention.Sizes{Batch: 2, Heads: 2, Queries: 129, Keys: 129, KeyDim: 16, ValueDim: 16}
	many := attention.Sizes{Batch: 5, Heads: 7, Queries: 9, Keys: 65, KeyDim: 5, ValueDim: 6}
	long := attention.Sizes{Batch: 1, Heads: 1, Queries: 400, Keys: 333, KeyDim: 128, ValueDim: 48}
	one := attention.Sizes{Batch: 1, Heads: 2, Queries: 1, Keys: 1, KeyDim: 1, ValueDim: 1}
	mask := func(s attention.Sizes, shape [4]int) attention.Mask {
		m := attention.Mask{Shape: shape}
		if shape == [4]int{} {
			shape = [4]int{1, 1, s.Queries, s.Keys}
		}
		n := shape[0] * shape[1] * shape[2] * shape[3]
		m.Add, m.Keep = randoms(r, n), make([]bool, n)
		for i := range n {
			m.Keep[i] = r.IntN(3) > 0
			if r.IntN(5) == 0 {
				m.Add[i] = -1e10
			}
		}
		return m
	}
	addOnly, keepOnly := mask(odd, [4]int{}), mask(odd, [4]int{})
	addOnly.Keep, keepOnly.Add = nil, nil
	return map[string]problem{
		"plain":              newProblem(r, odd, attention.Options{}),
		"one key":            newProblem(r, one, attention.Options{}),
		"many heads":         newProblem(r, many, attention.Options{}),
		"long":               newProblem(r, long, attention.Options{}),
		"own scale":          newProblem(r, odd, attention.Options{Scale: 0.05}),
		"negative scale":     newProblem(r, square, attention.Options{Scale: -0.2}),
		"causal":             newProblem(r, square, attention.Options{Causal: true}),
		"causal, more keys":  newProblem(r, odd, attention.Options{Causal: true}),
		"causal, past":       newProblem(r, odd, attention.Options{Causal: true, Past: 59}),
		"causal, fewer keys": newProblem(r, long, attention.Options{Causal: true}),
		"additive mask":      newProblem(r, odd, attention.Options{Mask: addOnly}),
		"boolean mask":       newProblem(r, odd, attention.Options{Mask: keepOnly}),
		"both, each head": newProblem(r, many,
			attention.Options{Mask: mask(many, [4]int{5, 7, 9, 65})}),
		"padding": newProblem(r, odd,
			attention.Options{Mask: mask(odd, [4]int{2, 1, 1, 130})}),
		"causal and mask": newProblem(r, square,
			attention.Options{Causal: true, Mask: mask(square, [4]int{1, 2, 129, 129})}),
	}
}

func TestScaledDotProduct(t *testing.T) {
	cases.NotShort(t)
	for name, p := range problems(rand.New(rand.NewPCG(1, 2))) {
		t.Run(name, func(t *testing.T) {
			out, weights, mean := p.run(newTeam(t, 2, ""))
			wantOut, wantWeights, wantMean := byLoop(p.q, p.k, p.v, p.Sizes, p.Options)
			near(t, "out", out, wantOut)
			near(t, "weights", weights, wantWeights)
			near(t, "mean weights", mean, wantMean)
		})
	}
}

// The same bits on any number of threads and every variant, with the weights and without.
func TestScaledDotProductSameBits(t *testing.T) {
	cases.NotShort(t)
	for name, p := range problems(rand.New(rand.NewPCG(3, 4))) {
		t.Run(name, func(t *testing.T) {
			want, wantWeights, wantMean := p.run(newTeam(t, 1, "go"))
			for i, variant := range kernels.Variants() {
				for _, threads := range cases.Some([]int{5, 2, 1}, 1, i) {
					if testing.Short() && threads < 5 {
						break
					}
					team, what := newTeam(t, threads, variant),
						fmt.Sprintf("%s, %d threads", variant, threads)
					out, weights, mean := p.run(team)
					sameBits(t, what, out, want)
					sameBits(t, what+", weights", weights, wantWeights)
					sameBits(t, what+", mean weights", mean, wantMean)
					clear(out)
					attention.ScaledDotProduct(team, out, p.q, p.k, p.v, p.Sizes, p.Options)
					sameBits(t, what+", no weights", out, want)
				}
			}
		})
	}
}

// A single head with many keys takes the shared path, in which workers pack together; one head
// among several takes the other path. Both give the same bits.
func TestPathsAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	s := attention.Sizes{Batch: 1, Heads: 40, Queries: 200, Keys: 200, KeyDim: 16, ValueDim: 24}
	team := newTeam(t, 3, "")
	all := newProblem(r, s, attention.Options{Causal: true})
	want := make([]float32, s.Heads*s.Queries*s.ValueDim)
	attention.ScaledDotProduct(team, want, all.q, all.k, all.v, s, all.Options)
	one := s
	one.Heads = 1
	for h := range s.Heads {
		nk, nv := s.Keys*s.KeyDim, s.Keys*s.ValueDim
		got := make([]float32, nv)
		attention.ScaledDotProduct(team, got, all.q[h*nk:(h+1)*nk], all.k[h*nk:(h+1)*nk],
			all.v[h*nv:(h+1)*nv], one, all.Options)
		sameBits(t, fmt.Sprintf("head %d", h), got, want[h*nv:(h+1)*nv])
	}
}

// Causal attention is GPT-2's: as if −1e10 were added.
func TestCausalIsMinus1e10(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	p := newProblem(r, attention.Sizes{Batch: 1, Heads: 2, Queries: 100, Keys: 100, KeyDim: 8,
		ValueDim: 8}, attention.Options{Causal: true})
	team := newTeam(t, 2, "")
	want, wantWeights, _ := p.run(team)
	add := make([]float32, 100*100)
	for i := range add {
		if i%100 > i/100 {
			add[i] = -1e10
		}
	}
	p.Options = attention.Options{Mask: attention.Mask{Add: add}}
	got, weights, _ := p.run(team)
	sameBits(t, "out", got, want)
	sameBits(t, "weights", weights, wantWeights)
}

// A row that sees nothing is zeros, however the keys are hidden, and does not affect the rows
// beside it.
func TestFullyMaskedRows(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	s := attention.Sizes{Batch: 1, Heads: 2, Queries: 7, Keys: 70, KeyDim: 8, ValueDim: 20}
	add, keep := make([]float32, s.Queries*s.Keys), make([]bool, s.Queries*s.Keys)
	for i := range add {
		if i/s.Keys == 3 {
			add[i] = float32(math.Inf(-1))
		} else {
			keep[i] = true
		}
	}
	team := newTeam(t, 2, "")
	p := newProblem(r, s, attention.Options{})
	open, openWeights, _ := p.run(team)
	for name, mask := range map[string]attention.Mask{"-Inf": {Add: add}, "boolean": {Keep: keep},
		"both": {Add: add, Keep: keep}} {
		p.Mask = mask
		out, weights, mean := p.run(team)
		for h := range s.Heads {
			for i := range s.Queries {
				row := h*s.Queries + i
				gotRow, gotWeights := out[row*s.ValueDim:(row+1)*s.ValueDim],
					weights[row*s.Keys:(row+1)*s.Keys]
				if i == 3 {
					sameBits(t, name+", hidden row", gotRow, make([]float32, s.ValueDim))
					sameBits(t, name+", hidden row's weights", gotWeights, make([]float32, s.Keys))
					sameBits(t, name+", hidden row's mean weights", mean[i*s.Keys:(i+1)*s.Keys],
						make([]float32, s.Keys))
					continue
				}
				sameBits(t, name+", open row", gotRow, open[row*s.ValueDim:(row+1)*s.ValueDim])
				sameBits(t, name+", open row's weights", gotWeights,
					openWeights[row*s.Keys:(row+1)*s.Keys])
			}
		}
	}
}

// A hidden key may have any value if a boolean mask hides it.
func TestHiddenKeysMayBeNaN(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	s := attention.Sizes{Batch: 1, Heads: 1, Queries: 3, Keys: 80, KeyDim: 8, ValueDim: 8}
	keep := make([]bool, s.Keys)
	p := newProblem(r, s, attention.Options{Mask: attention.Mask{Keep: keep,
		Shape: [4]int{1, 1, 1, s.Keys}}})
	for j := range keep {
		keep[j] = j%3 != 0
	}
	team := newTeam(t, 1, "")
	want, _, _ := p.run(team)
	for j := range keep {
		if !keep[j] {
			for d := range s.KeyDim {
				p.k[j*s.KeyDim+d] = float32(math.NaN())
			}
		}
	}
	got, _, _ := p.run(team)
	sameBits(t, "out", got, want)
}

func TestNoKeys(t *testing.T) {
	s := attention.Sizes{Batch: 1, Heads: 1, Queries: 2, Keys: 0, KeyDim: 4, ValueDim: 3}
	out := []float32{1, 2, 3, 4, 5, 6}
	attention.ScaledDotProduct(newTeam(t, 2, ""), out, make([]float32, 8), nil, nil, s,
		attention.Options{})
	sameBits(t, "no keys", out, make([]float32, 6))
}

// Token by token, and in pieces of any size, on the cache: the same bits as the whole sequence at
// once.
func TestCacheSameBits(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	s := attention.Sizes{Batch: 2, Heads: 3, Queries: 150, Keys: 150, KeyDim: 20, ValueDim: 33}
	p := newProblem(r, s, attention.Options{Causal: true})
	want, _, _ := p.run(newTeam(t, 1, "go"))
	for _, pieces := range [][]int{{150}, {1}, {64}, {63, 1, 2}, {7, 100}} {
		for _, threads := range []int{1, 3} {
			team := newTeam(t, threads, "")
			cache := attention.NewCache(s.Batch, s.Heads, s.KeyDim, s.ValueDim)
			got := make([]float32, len(want))
			for i := 0; cache.Len() < s.Keys; i++ {
				from := cache.Len()
				n := min(pieces[i%len(pieces)], s.Keys-from)
				dst := make([]float32, s.Batch*s.Heads*n*s.ValueDim)
				cache.Append(team, dst, rows(p.q, s.Keys, s.KeyDim, from, n),
					rows(p.k, s.Keys, s.KeyDim, from, n), rows(p.v, s.Keys, s.ValueDim, from, n), n,
					0)
				putRows(got, dst, s.Keys, s.ValueDim, from, n)
			}
			sameBits(t, fmt.Sprintf("pieces %v, %d threads", pieces, threads), got, want)
		}
	}
}

// rows returns rows from … from+n of each [tokens, dim] in x.
func rows(x []float32, tokens, dim, from, n int) []float32 {
	var y []float32
	for ; len(x) > 0; x = x[tokens*dim:] {
		y = append(y, x[from*dim:(from+n)*dim]...)
	}
	return y
}

// putRows is the inverse of rows.
func putRows(dst, y []float32, tokens, dim, from, n int) {
	for ; len(dst) > 0; dst, y = dst[tokens*dim:], y[n*dim:] {
		copy(dst[from*dim:], y[:n*dim])
	}
}

// Without the weights nothing of the size of queries × keys is made.
func TestMemoryGrowsWithTokens(t *testing.T) {
	team := newTeam(t, 2, "")
	taken := func(tokens int) uint64 {
		s := attention.Sizes{Batch: 1, Heads: 1, Queries: tokens, Keys: tokens, KeyDim: 4,
			ValueDim: 4}
		p, dst := newProblem(rand.New(rand.NewPCG(15, 16)), s, attention.Options{}),
			make([]float32, tokens*4)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		attention.ScaledDotProduct(team, dst, p.q, p.k, p.v, s, p.Options)
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	taken(1024) // the workers' memory, once
	if n := taken(4096); n > 4096*64*4 {
		t.Errorf("4096 tokens take %d bytes, want at most 64 numbers for each", n)
	}
}
