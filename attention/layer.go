package attention

// A Layer: projections around attention.

import (
	"fmt"
	"sync"

	"picogpt/kernels"
)

// A Layer is attention with its weights: queries, keys and values are projected from their inputs, the heads attend, and what they
// give is projected back, side by side. Its constructors are named after the layouts of the parameters. It holds copies of its
// parameters, never changes, and is safe for use by several goroutines.
type Layer struct {
	heads, width      int // width of the inputs
	dk, dv            int // of one head
	scale             float32
	reduce            []projection // [width, reduced] for each head, or none
	query, key, value []projection // [width, heads·dim], or, where the heads reduce, [reduced, dim] for each
	output            *projection  // [heads·dv, width], or nil
	scratch           sync.Pool    // of *workspace
}

// A projection is a linear layer.
type projection struct {
	weight kernels.Matrix // [in, out]
	bias   []float32      // [out], or nil
}

// OutWidth returns the width of what the layer gives for each token.
func (l *Layer) OutWidth() int {
	if l.output != nil {
		return l.output.weight.Out
	}
	return l.heads * l.dv
}

// Heads, KeyDim and ValueDim return the number of heads and the sizes of each: what NewCache and NewLinearState want.
func (l *Layer) Heads() int    { return l.heads }
func (l *Layer) KeyDim() int   { return l.dk }
func (l *Layer) ValueDim() int { return l.dv }

// Self is self-attention: x [batch, tokens, width] -> dst [batch, tokens, out_width].
func (l *Layer) Self(team *kernels.Team, dst, x []float32, batch, tokens int, o Options) {
	l.Forward(team, dst, x, x, x, batch, tokens, tokens, o)
}

// Forward is attention with an input of its own for queries, keys and values; for cross-attention key and value are both the memory:
// query [batch, queries, width], key and value [batch, keys, width] -> dst [batch, queries, out_width].
func (l *Layer) Forward(team *kernels.Team, dst, query, key, value []float32, batch, queries, keys int, o Options) {
	l.check(dst, query, key, value, batch, queries, keys)
	if o.Scale == 0 {
		o.Scale = l.scale
	}
	s := l.workspace()
	defer l.release(s)
	s.reserve(l, batch, queries, keys)
	s.call.prepare(team, Sizes{batch, l.heads, queries, keys, l.dk, l.dv}, o, &s.packing)
	s.call.q, s.call.k, s.call.v = l.view(s.q, queries, l.dk), l.view(s.k, keys, l.dk), l.view(s.v, keys, l.dv)
	s.call.out = byRow(l.context(s, dst), l.heads, queries, l.dv)
	team.Run(func(w *kernels.Worker) {
		l.project(w, s.q, query, s.reduced, batch*queries, l.query)
		l.project(w, s.k, key, s.reduced, batch*keys, l.key)
		l.project(w, s.v, value, s.reduced, batch*keys, l.value)
		s.call.run(w)
		l.unify(w, dst, s, batch*queries)
	})
}

// Next is causal self-attention that goes on where the cache ends: x [batch, tokens, width], the new tokens -> dst [batch, tokens, out_width]. The
// result is bit for bit what Self with Causal gives for the whole sequences.
func (l *Layer) Next(team *kernels.Team, dst, x []float32, batch, tokens int, c *Cache) {
	l.check(dst, x, x, x, batch, tokens, tokens)
	l.fits("cache", c.batch, c.heads, c.dk, c.dv, batch)
	s := l.workspace()
	defer l.release(s)
	s.reserve(l, batch, tokens, tokens)
	c.prepare(byRow(l.context(s, dst), l.heads, tokens, l.dv), l.view(s.q, tokens, l.dk), l.view(s.k, tokens, l.dk), l.view(s.v, tokens, l.dv), tokens)
	team.Run(func(w *kernels.Worker) {
		l.project(w, s.q, x, s.reduced, batch*tokens, l.query)
		l.project(w, s.k, x, s.reduced, batch*tokens, l.key)
		l.project(w, s.v, x, s.reduced, batch*tokens, l.value)
		Attend(w, c.sequences, 0, 0, l.scale)
		l.unify(w, dst, s, batch*tokens)
	})
	c.forget()
}

// Linear is Forward with linear attention in place of the softmax: every query sees every key.
func (l *Layer) Linear(team *kernels.Team, dst, query, key, value []float32, batch, queries, keys int, o LinearOptions) {
	l.check(dst, query, key, value, batch, queries, keys)
	s := l.workspace()
	defer l.release(s)
	s.reserve(l, batch, queries, keys)
	c := &s.linear
	c.prepare(team, Sizes{batch, l.heads, queries, keys, l.dk, l.dv}, o, &s.linearMemory)
	c.q, c.k, c.v = l.view(s.q, queries, l.dk), l.view(s.k, keys, l.dk), l.view(s.v, keys, l.dv)
	c.out = byRow(l.context(s, dst), l.heads, queries, l.dv)
	team.Run(func(w *kernels.Worker) {
		l.project(w, s.q, query, s.reduced, batch*queries, l.query)
		l.project(w, s.k, key, s.reduced, batch*keys, l.key)
		l.project(w, s.v, value, s.reduced, batch*keys, l.value)
		c.run(w)
		l.unify(w, dst, s, batch*queries)
	})
}

// NextLinear is Next with causal linear attention: its memory does not grow with the tokens.
func (l *Layer) NextLinear(team *kernels.Team, dst, x []float32, batch, tokens int, state *LinearState) {
	l.check(dst, x, x, x, batch, tokens, tokens)
	l.fits("state", state.batch, state.heads, state.dk, state.dv, batch)
	s := l.workspace()
	defer l.release(s)
	s.reserve(l, batch, tokens, tokens)
	state.prepare(team, byRow(l.context(s, dst), l.heads, tokens, l.dv),
		l.view(s.q, tokens, l.dk), l.view(s.k, tokens, l.dk), l.view(s.v, tokens, l.dv), tokens)
	team.Run(func(w *kernels.Worker) {
		l.project(w, s.q, x, s.reduced, batch*tokens, l.query)
		l.project(w, s.k, x, s.reduced, batch*tokens, l.key)
		l.project(w, s.v, x, s.reduced, batch*tokens, l.value)
		state.run(w)
		l.unify(w, dst, s, batch*tokens)
	})
	state.forget()
}

// fits panics unless a cache or state is of the layer's sizes.
func (l *Layer) fits(what string, batch, heads, dk, dv, want int) {
	if batch != want || heads != l.heads || dk != l.dk || dv != l.dv {
		panic(fmt.Sprintf("attention: the %s is [batch heads key_dim value_dim] = [%d %d %d %d], want [%d %d %d %d]",
			what, batch, heads, dk, dv, want, l.heads, l.dk, l.dv))
	}
}

// check panics unless the inputs and the result fit the layer.
func (l *Layer) check(dst, query, key, value []float32, batch, queries, keys int) {
	check("query [batch queries width]", len(query), batch, queries, l.width)
	check("key [batch keys width]", len(key), batch, keys, l.width)
	check("value [batch keys width]", len(value), batch, keys, l.width)
	check("dst [batch queries out_width]", len(dst), batch, queries, l.OutWidth())
}

// project sets dst to the projections of rows of x: [rows, heads·dim], or, where the heads reduce x first, [heads, rows, dim]. Every
// worker calls it; it ends with a barrier.
func (l *Layer) project(w *kernels.Worker, dst, x, reduced []float32, rows int, p []projection) {
	if l.reduce == nil {
		kernels.Linear(w, dst, x, rows, &p[0].weight, p[0].bias) // [rows, width] -> [rows, heads·dim]
		return
	}
	for h := range p {
		r := &l.reduce[h]
		kernels.Linear(w, reduced, x, rows, &r.weight, r.bias) // [rows, width] -> [rows, reduced]
		n := rows * p[h].weight.Out
		kernels.Linear(w, dst[h*n:(h+1)*n], reduced, rows, &p[h].weight, p[h].bias) // [rows, reduced] -> [rows, dim]
	}
}

// view is where the heads lie in what project gives; rows are those of one sequence.
func (l *Layer) view(data []float32, rows, dim int) view {
	if l.reduce == nil {
		return byRow(data, l.heads, rows, dim)
	}
	return view{data, rows * dim, len(data) / l.heads, dim}
}

// context returns where the heads' results go, side by side: to dst, where nothing follows.
func (l *Layer) context(s *workspace, dst []float32) []float32 {
	if l.output == nil {
		return dst
	}
	return s.context
}

// unify projects the heads' results back. Every worker calls it.
func (l *Layer) unify(w *kernels.Worker, dst []float32, s *workspace, rows int) {
	if l.output != nil {
		kernels.Linear(w, dst, s.context, rows, &l.output.weight, l.output.bias) // [rows, heads·dv] -> [rows, width]
	}
}

// A workspace is the memory of one call, kept for the next.
type workspace struct {
	q, k, v, context, reduced []float32
	call                      call
	packing                   packing
	linear                    linearCall
	linearMemory              linearMemory
}

func (l *Layer) workspace() *workspace {
	if s, ok := l.scratch.Get().(*workspace); ok {
		return s
	}
	return new(workspace)
}

// release keeps the workspace and forgets the caller's memory.
func (l *Layer) release(s *workspace) {
	s.call, s.linear = call{}, linearCall{}
	l.scratch.Put(s)
}

func (s *workspace) reserve(l *Layer, batch, queries, keys int) {
	s.q = grow(&s.q, batch*queries*l.heads*l.dk)
	s.k = grow(&s.k, batch*keys*l.heads*l.dk)
	s.v = grow(&s.v, batch*keys*l.heads*l.dv)
	if l.output != nil {
		s.context = grow(&s.context, batch*queries*l.heads*l.dv)
	}
	if l.reduce != nil {
		s.reduced = grow(&s.reduced, batch*max(queries, keys)*l.reduce[0].weight.Out)
	}
}
