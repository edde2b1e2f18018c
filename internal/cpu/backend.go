// Package cpu computes a model on the processor: it implements engine.Backend with package kernels.
// The forward pass is in forward.go, which reads like picoGPT.
package cpu

import (
	"context"
	"sync/atomic"

	"picogpt/internal/engine"
	"picogpt/kernels"
	"picogpt/model/stack"
)

// A backend holds the workers, the pages of the caches, and the rows of the current pass with their
// scratch memory, which later passes use again. forward.go computes with them.
type backend struct {
	params *stack.Params
	team   *kernels.Team
	pool   pool

	ctx  context.Context
	pass *engine.Pass

	wholePass func(*kernels.Worker) // forward; made once, because a method value is an allocation

	rows  int            // of the pass
	parts []group        // its rows by the variants of the model that compute them
	spans []kernels.Span // the inputs of attention for each span
	last  lastBlock      // what it is computed for
	alone bool           // the layers run on one worker
	read  []bool         // [n_layer+1]: the layers, and the head, that passes have read
	depth int            // how many layers run: all, unless every span wants less
	reads []bool         // [n_layer+1]: whose hidden states spans want; nil: none

	trace *trace // what is read and edited inside of the pass; nil: nothing

	x, norm, sum []float32 // [rows, n_embd]
	qkv          []float32 // [rows, 3·n_embd]
	inner        []float32 // [rows, n_inner]

	engine.Outputs     // the rows whose logits are wanted
	gathered       int // number of rows whose logits were gathered or skipped

	stopped atomic.Bool // the context has ended
	ended   error       // the context's error
}

var _ engine.Backend = (*backend)(nil)

// New returns a backend that runs on a team. The backend does not close the team.
func New(team *kernels.Team, p *stack.Params, cache *engine.Budget) engine.Backend {
	b := &backend{params: p, team: team, read: make([]bool, len(p.H)+1)}
	b.pool.params, b.pool.budget = p, cache
	b.wholePass = b.forward
	b.last.divided = divide(p)
	return b
}

// Kernel implements engine.Backend.
func (b *backend) Kernel() string { return b.team.Variant() }

// NewCache implements engine.Backend.
func (b *backend) NewCache() engine.Cache { return &cache{pool: &b.pool} }

// Inside implements engine.Backend.
func (b *backend) Inside() bool { return b.team.Inside() }

// Close implements engine.Backend: the garbage collector frees the memory.
func (b *backend) Close() error { return nil }

// aloneBelow is a rough number of multiplications between two barriers below which one worker does
// all: a layer has ten barriers, and each takes about a microsecond, or much more on a machine that
// is busy with other work. The bits do not depend on it.
const aloneBelow = 1 << 20

// Run implements engine.Backend.
func (b *backend) Run(ctx context.Context, p *engine.Pass) error {
	b.ctx, b.pass = ctx, p
	b.stopped.Store(false)
	defer b.release()
	b.prepare()
	c := b.params
	b.alone = b.rows*c.H[0].Weights() < aloneBelow
	if b.alone && b.rows*c.Vocab*c.Embd < aloneBelow {
		b.team.RunAlone(b.wholePass)
	} else {
		b.team.Run(b.wholePass)
	}
	if b.stopped.Load() {
		return b.ended
	}
	return b.Err()
}

// prepare assigns the rows of the pass to its spans, and makes room for them. No data of the
// previous pass is used.
func (b *backend) prepare() {
	c := b.params
	b.Begin(c, b.pass)
	b.rows = b.Rows()
	grow(&b.x, b.rows*c.Embd)
	grow(&b.norm, b.rows*c.Embd)
	grow(&b.sum, b.rows*c.Embd)
	grow(&b.qkv, b.rows*3*c.Embd)
	grow(&b.inner, b.rows*c.Inner)
	b.spans, b.reads, b.depth = b.spans[:0], nil, 0
	for i := range b.pass.Spans {
		b.spans = append(b.spans, b.span(i))
		s, deep := &b.pass.Spans[i], len(c.H)
		if s.Hidden {
			if b.reads == nil {
				b.reads = make([]bool, len(c.H)+1)
			}
			b.reads[s.Layer], deep = true, s.Layer
		}
		b.depth = max(b.depth, deep)
	}
	b.prepareGroups()
	b.prepareTrace()
	b.prepareLast()
}

// span returns the queries, keys and values of a span's rows, and the memory for the results of
// attention: from qkv [rows, 3·n_embd] to norm [rows, n_embd].
func (b *backend) span(i int) kernels.Span {
	s, n, dim, row := &b.pass.Spans[i], b.params.Embd, b.params.HeadDim(), b.Start(i)
	cache, qkv := s.Cache.(*cache), b.qkv[row*3*n:]
	return kernels.Span{
		Rows: len(s.Tokens), Heads: b.params.Heads, KeyDim: dim, ValueDim: dim,
		Query: kernels.HeadRows{Data: qkv, Row: 3 * n, Head: dim},
		Key:   kernels.HeadRows{Data: qkv[n:], Row: 3 * n, Head: dim},
		Value: kernels.HeadRows{Data: qkv[2*n:], Row: 3 * n, Head: dim},
		Out:   kernels.HeadRows{Data: b.norm[row*n:], Row: n, Head: dim},
		Keys:  cache.keys, Values: cache.values, Room: cache.room(),
		Tokens: s.Position + len(s.Tokens),
	}
}

// release drops the references to the callers' memory.
func (b *backend) release() {
	b.ctx, b.pass, b.trace = nil, nil, nil
	b.End()
	clear(b.parts[:cap(b.parts)])
	clear(b.spans[:cap(b.spans)])
	clear(b.last.spans[:cap(b.last.spans)])
}

func grow(b *[]float32, n int) {
	if cap(*b) < n {
		*b = make([]float32, n)
	}
	*b = (*b)[:n]
}
