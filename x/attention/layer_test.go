package attention_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"picogpt/kernels"
	"picogpt/x/attention"
)

// layers are one of each constructor, of width 24.
func layers(r *rand.Rand) map[string]*attention.Layer {
	const w = 24
	m := func(rows, cols int) []float32 {
		x := randoms(r, rows*cols)
		for i := range x {
			x[i] /= float32(math.Sqrt(w))
		}
		return x
	}
	head := func(in, dk, dv int) attention.Head {
		return attention.Head{WQ: m(dk, in), WK: m(dk, in), WV: m(dv, in), BQ: m(1, dk),
			BK: m(1, dk), BV: m(1, dv)}
	}
	reduced := func() attention.Head { h := head(10, 6, 7); h.Reduce = m(10, w); return h }
	return map[string]*attention.Layer{
		"GPT2":             attention.NewGPT2(m(w, 3*w), m(1, 3*w), m(w, w), m(1, w), w, 3),
		"Torch":            attention.NewTorch(m(3*w, w), m(1, 3*w), m(w, w), m(1, w), w, 4),
		"Torch, no biases": attention.NewTorch(m(3*w, w), nil, m(w, w), nil, w, 4),
		"Einsum":           attention.NewEinsum(m(w, w), m(w, w), m(w, w), m(w, w), w, 2),
		"FullWidth": attention.NewFullWidth(m(w, w), m(w, w), m(w, w), m(w, w), m(1, w), w,
			4),
		"Head":  attention.NewHead(head(w, 5, 9), w, 5, 9),
		"Heads": attention.NewHeads(head(w, 3*6, 3*8), w, 3, 6, 8),
		"Reduced": attention.NewReduced([]attention.Head{reduced()}, nil, nil, w, 10, 6,
			7),
		"Reduced, unified": attention.NewReduced([]attention.Head{reduced(), reduced()}, m(w, 14),
			m(1, w), w, 10, 6, 7),
	}
}

// For every layout, the results token by token with a cache or a state have the bits of the whole
// sequence, on any team.
func TestLayersStepByStep(t *testing.T) {
	const batch, tokens, width = 2, 70, 24
	r := rand.New(rand.NewPCG(41, 42))
	x := randoms(r, batch*tokens*width)
	for name, l := range layers(r) {
		whole, linear := make([]float32, batch*tokens*l.OutWidth()),
			make([]float32, batch*tokens*l.OutWidth())
		one := newTeam(t, 1, "go")
		l.Self(one, whole, x, batch, tokens, attention.Options{Causal: true})
		l.NextLinear(one, linear, x, batch, tokens,
			attention.NewLinearState(batch, l.Heads(), l.KeyDim(), l.ValueDim(),
				attention.LinearOptions{}))
		for _, variant := range kernels.Variants() {
			team := newTeam(t, 3, variant)
			cache := attention.NewCache(batch, l.Heads(), l.KeyDim(), l.ValueDim())
			state := attention.NewLinearState(batch, l.Heads(), l.KeyDim(), l.ValueDim(),
				attention.LinearOptions{})
			got, gotLinear := make([]float32, len(whole)), make([]float32, len(whole))
			for from := 0; from < tokens; {
				n := min(1+from%3, tokens-from)
				dst := make([]float32, batch*n*l.OutWidth())
				l.Next(team, dst, rows(x, tokens, width, from, n), batch, n, cache)
				putRows(got, dst, tokens, l.OutWidth(), from, n)
				l.NextLinear(team, dst, rows(x, tokens, width, from, n), batch, n, state)
				putRows(gotLinear, dst, tokens, l.OutWidth(), from, n)
				from += n
			}
			sameBits(t, fmt.Sprintf("%s, %s, softmax", name, variant), got, whole)
			sameBits(t, fmt.Sprintf("%s, %s, linear", name, variant), gotLinear, linear)
		}
	}
}

// Several heads at once give the results of the single heads, side by side.
func TestHeadsAtOnceAreHeadsByLoop(t *testing.T) {
	const batch, queries, keys, width, n, dk, dv = 2, 20, 33, 24, 3, 6, 8
	r := rand.New(rand.NewPCG(43, 44))
	h := attention.Head{WQ: randoms(r, n*dk*width), WK: randoms(r, n*dk*width),
		WV: randoms(r, n*dv*width)}
	x, memory := randoms(r, batch*queries*width), randoms(r, batch*keys*width)
	team := newTeam(t, 2, "")
	atOnce := make([]float32, batch*queries*n*dv)
	attention.NewHeads(h, width, n, dk, dv).Forward(team, atOnce, x, memory, memory, batch, queries,
		keys, attention.Options{})
	for i := range n {
		one := attention.NewHead(attention.Head{WQ: h.WQ[i*dk*width : (i+1)*dk*width],
			WK: h.WK[i*dk*width : (i+1)*dk*width], WV: h.WV[i*dv*width : (i+1)*dv*width]}, width,
			dk, dv)
		out, want := make([]float32, batch*queries*dv), make([]float32, 0, batch*queries*dv)
		one.Forward(team, out, x, memory, memory, batch, queries, keys, attention.Options{})
		for row := range batch * queries {
			want = append(want, atOnce[(row*n+i)*dv:(row*n+i+1)*dv]...)
		}
		sameBits(t, fmt.Sprint("head ", i), out, want)
	}
}

// Queries, keys and values may come from three inputs, and the constructors keep none of the slices
// that they are given.
func TestThreeInputs(t *testing.T) {
	const tokens, width = 11, 6
	r := rand.New(rand.NewPCG(45, 46))
	h := attention.Head{WQ: randoms(r, width*width), WK: randoms(r, width*width),
		WV: randoms(r, width*width)}
	l := attention.NewHead(h, width, width, width)
	q, k, v := randoms(r, tokens*width), randoms(r, tokens*width), randoms(r, tokens*width)
	pq, pk, pv := multiply(q, h.WQ, tokens, width, width), multiply(k, h.WK, tokens, width, width),
		multiply(v, h.WV, tokens, width, width)
	want, _, _ := byLoop(pq, pk, pv, attention.Sizes{Batch: 1, Heads: 1, Queries: tokens,
		Keys: tokens, KeyDim: width, ValueDim: width}, attention.Options{})
	clear(h.WQ)
	clear(h.WV)
	got := make([]float32, tokens*width)
	l.Forward(newTeam(t, 2, ""), got, q, k, v, 1, tokens, tokens, attention.Options{})
	near(t, "three inputs", got, want)
}

// One layer may be used by several goroutines.
func TestLayerIsShared(t *testing.T) {
	r := rand.New(rand.NewPCG(47, 48))
	l, x := layers(r)["GPT2"], randoms(r, 30*24)
	team := newTeam(t, 2, "")
	want := make([]float32, len(x))
	l.Self(team, want, x, 1, 30, attention.Options{})
	results := make(chan []float32)
	for range 4 {
		go func() {
			out := make([]float32, len(x))
			l.Self(team, out, x, 1, 30, attention.Options{})
			results <- out
		}()
	}
	for range 4 {
		sameBits(t, "side by side", <-results, want)
	}
}

// If the inputs are one slice they are projected at once; the bits are those of three equal inputs.
func TestOneInputOrThree(t *testing.T) {
	const batch, tokens, width = 2, 9, 24
	r := rand.New(rand.NewPCG(49, 50))
	x := randoms(r, batch*tokens*width)
	team := newTeam(t, 2, "")
	for name, l := range layers(r) {
		one, three := make([]float32, batch*tokens*l.OutWidth()),
			make([]float32, batch*tokens*l.OutWidth())
		l.Self(team, one, x, batch, tokens, attention.Options{})
		l.Forward(team, three, x, slices.Clone(x), slices.Clone(x), batch, tokens, tokens,
			attention.Options{})
		sameBits(t, name, three, one)
		l.Linear(team, one, x, x, x, batch, tokens, tokens, attention.LinearOptions{})
		l.Linear(team, three, slices.Clone(x), x, x, batch, tokens, tokens,
			attention.LinearOptions{})
		sameBits(t, name+", linear", three, one)
	}
}
