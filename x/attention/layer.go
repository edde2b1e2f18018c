// Package attention is the attention family: scaled dot-product, multi-head and cross attention in
// each of the published parameter layouts, single heads, and linear attention, all in float32 on
// the model's kernels.
//
//	[ScaledDotProduct]       softmax(q·kᵀ/√d + mask)·v, on plain slices
//	[NewGPT2], [NewTorch],   multi-head attention with its projections, by the layout of its
//	[NewEinsum], [NewHead],  parameters: a [Layer], whose methods are Self, Forward, Next, Linear
//	[NewHeads], [NewReduced] and NextLinear
//	[NewFullWidth]
//	[Cache]                  keys and values so far: causal attention token by token
//	[Linear], [LinearState]  φ(q)·(φ(k)ᵀ·v), whose cost grows with the tokens, not with their square
//
// Its types, in the order to read them:
//
//   - [Layer] is attention with its projections; [Sizes] and [Options] say what a call is of.
//   - [Mask] hides keys from queries.
//   - [Cache] is keys and values so far.
//   - [Head] is the parameters of a single head.
//   - [LinearState] is what linear attention keeps of all tokens; [LinearOptions] have its φ.
//
// The decoder does not use this package: its attention over a cache is kernels.CausalAttention,
// which [Cache] uses too.
//
// # Conventions
//
// Slices are row-major, batch first: [batch, tokens, width], heads as [batch, heads, tokens, dim].
// Their sizes are separate arguments. dst must not overlap an input. If a slice does not have its
// sizes, the call panics and names both.
//
// Every call runs on all the workers of a [kernels.Team] and returns when they are done; calls on
// one team take turns.
//
// # What is promised
//
// The bits are the same for any number of threads and any kernel variant, and for a sequence at
// once or token by token. Softmax attention processes the keys in blocks of 64 with a running
// maximum and sum (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018; Rabe
// and Staats, "Self-attention does not need O(n²) memory", 2021), so its memory grows with the
// tokens, not with their square, unless the weights are wanted.
//
// A query that sees no key gives zeros and zero weights; PyTorch gives NaN. It sees no key if a
// boolean mask, −Inf or the causal mask hides all of them. A row of −1e10 alone hides nothing, as
// in PyTorch, because it is the same for every key. Values must be finite even if a mask hides
// them.
//
// Only a mask hides a key. As in PyTorch, a NaN or +Inf among the scores that a query sees makes
// its result NaN, and so does the overflow of all its scores to −Inf; a score of −Inf beside
// greater scores has a weight of 0. A boolean mask hides a key whatever its score is; −Inf is added
// to the score, so that a NaN stays one. Linear attention gives NaN if its sums overflow. Results
// that are not finite are not reported: a caller that needs to know must check for them, as package
// model does.
package attention

// A Layer: projections around attention.

import (
	"fmt"
	"sync"

	"picogpt/kernels"
)

// A Layer is attention with its weights: queries, keys and values are projected from their inputs,
// the heads attend, and their results, side by side, are projected back. The constructors are named
// after the layouts of the parameters. A Layer holds copies of its parameters, is immutable, and is
// safe for concurrent use.
type Layer struct {
	heads, width int // width of the inputs
	dk, dv       int // of one head
	scale        float32
	reduce       []projection // [width, reduced] for each head, or none
	// [width, heads·dim] or, if the heads reduce, [reduced, dim] for each
	query, key, value []projection
	// the three side by side, packed once, for calls with one input; nil if the heads reduce
	all     *projection
	output  *projection // [heads·dv, width], or nil
	scratch sync.Pool   // of *workspace
}

// A projection is a linear layer.
type projection struct {
	weight kernels.Matrix // [in, out]
	bias   []float32      // [out], or nil
}

// OutWidth returns the width of the layer's output for each token.
func (l *Layer) OutWidth() int {
	if l.output != nil {
		return l.output.weight.Out
	}
	return l.heads * l.dv
}

// Heads, KeyDim and ValueDim return the number of heads and the sizes of each: the arguments of
// NewCache and NewLinearState.
func (l *Layer) Heads() int    { return l.heads }
func (l *Layer) KeyDim() int   { return l.dk }
func (l *Layer) ValueDim() int { return l.dv }

// Self is self-attention: x [batch, tokens, width] -> dst [batch, tokens, out_width].
func (l *Layer) Self(team *kernels.Team, dst, x []float32, batch, tokens int, o Options) {
	l.Forward(team, dst, x, x, x, batch, tokens, tokens, o)
}

// Forward is attention with separate inputs for queries, keys and values; in cross-attention key
// and value are both the memory: query [batch, queries, width], key and value [batch, keys, width]
// -> dst [batch, queries, out_width].
func (l *Layer) Forward(
	team *kernels.Team, dst, query, key, value []float32, batch, queries, keys int, o Options,
) {
	l.check(dst, query, key, value, batch, queries, keys)
	if o.Scale == 0 {
		o.Scale = l.scale
	}
	s := l.workspace()
	defer l.release(s)
	s.reserve(l, batch, queries, keys, same(query, key) && same(key, value))
	s.call.prepare(team, Sizes{batch, l.heads, queries, keys, l.dk, l.dv}, o, &s.packing)
	s.call.q, s.call.k, s.call.v = s.qHeads, s.kHeads, s.vHeads
	s.call.out = byRow(l.context(s, dst), l.heads, queries, l.dv)
	team.Run(func(w *kernels.Worker) {
		l.project(w, s, query, key, value, batch*queries, batch*keys)
		s.call.run(w)
		l.unify(w, dst, s, batch*queries)
	})
}

// Next is causal self-attention that continues the sequences of the cache: x [batch, tokens,
// width], the new tokens -> dst [batch, tokens, out_width]. The result has the same bits as Self
// with Causal for the whole sequences.
func (l *Layer) Next(team *kernels.Team, dst, x []float32, batch, tokens int, c *Cache) {
	l.check(dst, x, x, x, batch, tokens, tokens)
	l.fits("cache", c.batch, c.heads, c.dk, c.dv, batch)
	s := l.workspace()
	defer l.release(s)
	s.reserve(l, batch, tokens, tokens, true)
	c.prepare(byRow(l.context(s, dst), l.heads, tokens, l.dv), s.qHeads, s.kHeads, s.vHeads, tokens)
	team.Run(func(w *kernels.Worker) {
		l.project(w, s, x, x, x, batch*tokens, batch*tokens)
		kernels.CausalAttention(w, c.sequences, 0, l.scale)
		l.unify(w, dst, s, batch*tokens)
	})
	c.commit()
}

// Linear is Forward with linear attention instead of the softmax: every query sees every key.
func (l *Layer) Linear(
	team *kernels.Team, dst, query, key, value []float32, batch, queries, keys int, o LinearOptions,
) {
	l.check(dst, query, key, value, batch, queries, keys)
	s := l.workspace()
	defer l.release(s)
	s.reserve(l, batch, queries, keys, same(query, key) && same(key, value))
	c := &s.linear
	c.prepare(team, Sizes{batch, l.heads, queries, keys, l.dk, l.dv}, o, &s.linearMemory)
	c.q, c.k, c.v = s.qHeads, s.kHeads, s.vHeads
	c.out = byRow(l.context(s, dst), l.heads, queries, l.dv)
	team.Run(func(w *kernels.Worker) {
		l.project(w, s, query, key, value, batch*queries, batch*keys)
		c.run(w)
		l.unify(w, dst, s, batch*queries)
	})
}

// NextLinear is Next with causal linear attention: its memory does not grow with the tokens.
func (l *Layer) NextLinear(
	team *kernels.Team, dst, x []float32, batch, tokens int, state *LinearState,
) {
	l.check(dst, x, x, x, batch, tokens, tokens)
	l.fits("state", state.batch, state.heads, state.dk, state.dv, batch)
	s := l.workspace()
	defer l.release(s)
	s.reserve(l, batch, tokens, tokens, true)
	state.prepare(team, byRow(l.context(s, dst), l.heads, tokens, l.dv),
		s.qHeads, s.kHeads, s.vHeads, tokens)
	team.Run(func(w *kernels.Worker) {
		l.project(w, s, x, x, x, batch*tokens, batch*tokens)
		state.run(w)
		l.unify(w, dst, s, batch*tokens)
	})
	state.commit()
}

// fits panics unless a cache or state has the layer's sizes.
func (l *Layer) fits(what string, batch, heads, dk, dv, want int) {
	if batch != want || heads != l.heads || dk != l.dk || dv != l.dv {
		panic(fmt.Sprintf("attention: the %s is [batch heads key_dim value_dim] = "+
			"[%d %d %d %d], want [%d %d %d %d]", what, batch, heads, dk, dv, want, l.heads,
			l.dk, l.dv))
	}
}

// check panics unless the inputs and the result fit the layer.
func (l *Layer) check(dst, query, key, value []float32, batch, queries, keys int) {
	check("query [batch queries width]", len(query), batch, queries, l.width)
	check("key [batch keys width]", len(key), batch, keys, l.width)
	check("value [batch keys width]", len(value), batch, keys, l.width)
	check("dst [batch queries out_width]", len(dst), batch, queries, l.OutWidth())
}

// project computes the heads' queries, keys and values. Every worker calls it; it ends with a
// barrier.
func (l *Layer) project(
	w *kernels.Worker, s *workspace, query, key, value []float32, queries, keys int,
) {
	if s.self {
		// [rows, width] -> [rows, heads·(2·dk + dv)]
		kernels.Linear(w, s.q, query, queries, &l.all.weight, l.all.bias)
		return
	}
	l.projectOne(w, s.q, query, s.reduced, queries, l.query)
	l.projectOne(w, s.k, key, s.reduced, keys, l.key)
	l.projectOne(w, s.v, value, s.reduced, keys, l.value)
}

// projectOne sets dst to one of the projections of rows of x: [rows, heads·dim] or, if the heads
// reduce x first, [heads, rows, dim].
func (l *Layer) projectOne(w *kernels.Worker, dst, x, reduced []float32, rows int, p []projection) {
	if l.reduce == nil {
		// [rows, width] -> [rows, heads·dim]
		kernels.Linear(w, dst, x, rows, &p[0].weight, p[0].bias)
		return
	}
	for h := range p {
		r := &l.reduce[h]
		kernels.Linear(w, reduced, x, rows, &r.weight, r.bias) // [rows, width] -> [rows, reduced]
		n := rows * p[h].weight.Out
		// [rows, reduced] -> [rows, dim]
		kernels.Linear(w, dst[h*n:(h+1)*n], reduced, rows, &p[h].weight, p[h].bias)
	}
}

// same reports whether two inputs are the same slice.
func same(x, y []float32) bool { return len(x) == len(y) && (len(x) == 0 || &x[0] == &y[0]) }

// context returns the memory for the heads' results, side by side: dst if no projection follows.
func (l *Layer) context(s *workspace, dst []float32) []float32 {
	if l.output == nil {
		return dst
	}
	return s.context
}

// unify projects the heads' results back. Every worker calls it.
func (l *Layer) unify(w *kernels.Worker, dst []float32, s *workspace, rows int) {
	if l.output != nil {
		// [rows, heads·dv] -> [rows, width]
		kernels.Linear(w, dst, s.context, rows, &l.output.weight, l.output.bias)
	}
}

// A workspace is the memory of one call. The next call uses it again.
type workspace struct {
	self                   bool      // one input: q holds queries, keys and values
	q, k, v                []float32 // results of project
	qHeads, kHeads, vHeads view      // the heads in these
	context, reduced       []float32
	call                   call
	packing                packing
	linear                 linearCall
	linearMemory           linearMemory
}

func (l *Layer) workspace() *workspace {
	if s, ok := l.scratch.Get().(*workspace); ok {
		return s
	}
	return new(workspace)
}

// release stores the workspace for the next call, and drops the references to the caller's memory.
func (l *Layer) release(s *workspace) {
	s.call, s.linear = call{}, linearCall{}
	l.scratch.Put(s)
}

// reserve makes room for a call. self says that queries, keys and values have one input.
func (s *workspace) reserve(l *Layer, batch, queries, keys int, self bool) {
	if l.output != nil {
		s.context = grow(&s.context, batch*queries*l.heads*l.dv)
	}
	dk, dv := l.heads*l.dk, l.heads*l.dv
	if s.self = self && l.all != nil; s.self {
		width := 2*dk + dv
		s.q = grow(&s.q, batch*queries*width)
		s.qHeads = view{s.q, queries * width, l.dk, width}
		s.kHeads = view{s.q[min(dk, len(s.q)):], queries * width, l.dk, width}
		s.vHeads = view{s.q[min(2*dk, len(s.q)):], queries * width, l.dv, width}
		return
	}
	s.q, s.k, s.v = grow(&s.q, batch*queries*dk), grow(&s.k, batch*keys*dk),
		grow(&s.v, batch*keys*dv)
	s.qHeads, s.kHeads, s.vHeads = byRow(s.q, l.heads, queries, l.dk),
		byRow(s.k, l.heads, keys, l.dk), byRow(s.v, l.heads, keys, l.dv)
	if l.reduce != nil { // each head by itself
		s.reduced = grow(&s.reduced, batch*max(queries, keys)*l.reduce[0].weight.Out)
		s.qHeads = view{s.q, queries * l.dk, batch * queries * l.dk, l.dk}
		s.kHeads = view{s.k, keys * l.dk, batch * keys * l.dk, l.dk}
		s.vHeads = view{s.v, keys * l.dv, batch * keys * l.dv, l.dv}
	}
}
