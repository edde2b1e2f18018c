package attention_test

// The attention family measured: one sequence of growing length and of width 512, by each kind of
// attention with its projections of queries, keys and values; then three workloads of many
// sequences.
//
//	go -C x/attention test -run - -bench Family -benchtime 3x
//	go -C x/attention test -run - -bench Family/linear/16384 -benchtime 3x
//
// GFLOP/s are of the formula: two operations for each multiplication of the projections, of q·k and
// of the weights with v, where a query may look; neither exponentials nor what is hidden count.
// of-peak is their share of the speed of multiplying and adding, measured before and after.

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"testing"
	"time"

	"picogpt/kernels"
	"picogpt/x/attention"
)

const familyWidth = 512 // d_model

// A kind is heads of a width, by one means or another.
type kind struct {
	name       string
	heads, dim int
	linear     bool
	causal     bool
	loop       bool // a call for each head
}

func BenchmarkFamily(b *testing.B) {
	for _, k := range []kind{
		{name: "one head of 512", heads: 1, dim: 512},
		{name: "one head of 512, causal", heads: 1, dim: 512, causal: true},
		{name: "2 heads of 32, by loop", heads: 2, dim: 32, loop: true},
		{name: "2 heads of 32, at once", heads: 2, dim: 32},
		{name: "8 heads of 64, by loop", heads: 8, dim: 64, loop: true},
		{name: "8 heads of 64, at once", heads: 8, dim: 64},
		{name: "8 heads of 64, causal", heads: 8, dim: 64, causal: true},
		{name: "linear", heads: 1, dim: 512, linear: true},
		{name: "linear, causal", heads: 1, dim: 512, linear: true, causal: true},
	} {
		for tokens := 1024; tokens <= 16384; tokens *= 2 {
			b.Run(fmt.Sprint(k.name, "/", tokens), func(b *testing.B) {
				team := newTeam(b, 0, os.Getenv("GPT_KERNEL"))
				measure(b, team, k.operations(float64(tokens)), k.run(team, tokens))
			})
		}
	}
	b.Run("multi-head 8×80×12, 2 heads", func(b *testing.B) { multiHead(b, 8, 80, 12, 2) })
	b.Run("multi-head 32×1000×256, 4 heads", func(b *testing.B) { multiHead(b, 32, 1000, 256, 4) })
	b.Run("dot-product 32×8×128×64", func(b *testing.B) { dotProduct(b, 32, 8, 128, 64) })
}

// measure times run, which is so many operations of the formula.
func measure(b *testing.B, team *kernels.Team, operations float64, run func()) {
	runtime.GC()
	before := peak(team)
	b.ResetTimer()
	for b.Loop() {
		run()
	}
	b.StopTimer()
	speed := operations * float64(b.N) / b.Elapsed().Seconds()
	b.ReportMetric(speed/1e9, "GFLOP/s")
	b.ReportMetric(speed/max(before, peak(team)), "of-peak")
}

// peak multiplies and adds for 40 ms or more, and returns operations a second.
func peak(team *kernels.Team) float64 {
	done := make([]float64, team.Size())
	for n := 1 << 10; ; n *= 2 {
		start := time.Now()
		team.Run(func(w *kernels.Worker) { done[w.ID()] = w.Peak(kernels.F32, n) })
		if took := time.Since(start); took > 40*time.Millisecond {
			operations := 0.0
			for _, worker := range done {
				operations += worker
			}
			return operations / took.Seconds()
		}
	}
}

// operations are those of the formula for t tokens: projections to the heads and the heads'
// attention, without an output projection.
func (k kind) operations(t float64) float64 {
	width := float64(k.heads * k.dim)
	projections := 3 * 2 * t * familyWidth * width
	switch {
	case k.linear:
		return projections + 4*t*width*float64(k.dim)
	case k.causal:
		return projections + 2*t*(t+1)*width
	}
	return projections + 4*t*t*width
}

// run returns one call for n tokens.
func (k kind) run(team *kernels.Team, n int) func() {
	x, dst := between(n*familyWidth, 1), make([]float32, n*k.heads*k.dim)
	if k.loop {
		return k.byLoop(team, dst, x, n)
	}
	l := attention.NewHeads(randomHead(k.heads*k.dim), familyWidth, k.heads, k.dim, k.dim)
	return func() {
		switch {
		case k.linear && k.causal:
			l.NextLinear(team, dst, x, 1, n,
				attention.NewLinearState(1, k.heads, k.dim, k.dim, attention.LinearOptions{}))
		case k.linear:
			l.Linear(team, dst, x, x, x, 1, n, n, attention.LinearOptions{})
		default:
			l.Self(team, dst, x, 1, n, attention.Options{Causal: k.causal})
		}
	}
}

// byLoop runs each head by itself and puts the results side by side.
func (k kind) byLoop(team *kernels.Team, dst, x []float32, n int) func() {
	heads := make([]*attention.Layer, k.heads)
	for h := range heads {
		heads[h] = attention.NewHead(randomHead(k.dim), familyWidth, k.dim, k.dim)
	}
	out := make([]float32, n*k.dim)
	return func() {
		for h, l := range heads {
			l.Self(team, out, x, 1, n, attention.Options{})
			for i := range n {
				copy(dst[(i*k.heads+h)*k.dim:], out[i*k.dim:(i+1)*k.dim])
			}
		}
	}
}

// randomHead has scores of the order of one.
func randomHead(rows int) attention.Head {
	weight := func() []float32 {
		return between(rows*familyWidth, float32(math.Sqrt(3/float64(familyWidth))))
	}
	return attention.Head{WQ: weight(), WK: weight(), WV: weight()}
}

// multiHead is nn.MultiheadAttention with batch × tokens × width.
func multiHead(b *testing.B, batch, tokens, width, heads int) {
	team, scale := newTeam(b, 0, os.Getenv("GPT_KERNEL")), float32(math.Sqrt(3/float64(width)))
	l := attention.NewTorch(between(3*width*width, scale), nil, between(width*width, scale), nil,
		width, heads)
	x, dst := between(batch*tokens*width, 1), make([]float32, batch*tokens*width)
	n, t, w := float64(batch), float64(tokens), float64(width)
	measure(b, team, 4*2*n*t*w*w+4*n*t*t*w,
		func() { l.Self(team, dst, x, batch, tokens, attention.Options{}) })
}

// dotProduct is scaled dot-product attention with batch × heads × tokens × dim.
func dotProduct(b *testing.B, batch, heads, tokens, dim int) {
	team, size := newTeam(b, 0, os.Getenv("GPT_KERNEL")), batch*heads*tokens*dim
	q, k, v, dst := between(size, 1), between(size, 1), between(size, 1), make([]float32, size)
	s := attention.Sizes{Batch: batch, Heads: heads, Queries: tokens, Keys: tokens, KeyDim: dim,
		ValueDim: dim}
	measure(b, team, 4*float64(size)*float64(tokens),
		func() { attention.ScaledDotProduct(team, dst, q, k, v, s, attention.Options{}) })
}

// between returns n numbers between −limit and limit, always the same.
func between(n int, limit float32) []float32 {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	x := make([]float32, n)
	for i := range x {
		x[i] = limit * (2*r.Float32() - 1)
	}
	return x
}
