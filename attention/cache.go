package attention

// The keys and values of a batch of sequences so far, for causal attention that goes on token by token.

import (
	"math"

	"picogpt/kernels"
)

// A Cache holds the keys and values of a batch of sequences of one length, in blocks of 64 tokens. It grows with the tokens.
// One call at a time.
type Cache struct {
	batch, heads, dk, dv int
	tokens               int
	sequences            []Span // the blocks, and room for a call's queries
}

// NewCache makes an empty cache for batch sequences with so many heads of keys key_dim wide and values value_dim wide.
func NewCache(batch, heads, keyDim, valueDim int) *Cache {
	return &Cache{batch, heads, keyDim, valueDim, 0, make([]Span, batch)}
}

// Len returns the number of tokens that each sequence holds.
func (c *Cache) Len() int { return c.tokens }

// Append adds new tokens and computes their causal attention: each sees everything up to itself. The result is bit for bit what one
// call of ScaledDotProduct with Causal gives for the whole sequence.
//
// q and k [batch, heads, tokens, key_dim], v [batch, heads, tokens, value_dim] -> dst [batch, heads, tokens, value_dim]. scale is what
// q·k is multiplied by, 0 for 1/√key_dim.
func (c *Cache) Append(team *kernels.Team, dst, q, k, v []float32, tokens int, scale float32) {
	check("q [batch heads tokens key_dim]", len(q), c.batch, c.heads, tokens, c.dk)
	check("k [batch heads tokens key_dim]", len(k), c.batch, c.heads, tokens, c.dk)
	check("v [batch heads tokens value_dim]", len(v), c.batch, c.heads, tokens, c.dv)
	check("dst [batch heads tokens value_dim]", len(dst), c.batch, c.heads, tokens, c.dv)
	c.prepare(byHead(q, c.heads, tokens, c.dk), byHead(dst, c.heads, tokens, c.dv), tokens, scale)
	team.Run(func(w *kernels.Worker) {
		c.run(w, byHead(k, c.heads, tokens, c.dk), byHead(v, c.heads, tokens, c.dv), tokens)
	})
	c.forget()
}

// forget lets go of the caller's memory.
func (c *Cache) forget() {
	for b := range c.sequences {
		c.sequences[b].Q, c.sequences[b].Out = nil, nil
	}
}

// prepare makes room for new tokens, and says where their queries are and their results go.
func (c *Cache) prepare(q, out view, tokens int, scale float32) {
	if scale == 0 && c.dk > 0 {
		scale = float32(1 / math.Sqrt(float64(c.dk)))
	}
	c.tokens += tokens
	for b := range c.sequences {
		s := &c.sequences[b]
		for len(s.K)*kernels.Block < c.tokens {
			s.K = append(s.K, make([]float32, c.heads*c.dk*kernels.Block))
			s.V = append(s.V, make([]float32, c.heads*c.dv*kernels.Block))
		}
		s.Rows, s.Heads, s.KeyDim, s.ValueDim = tokens, c.heads, c.dk, c.dv
		s.Q, s.LDQ, s.QHead = q.at(b, 0, 0), q.row, q.head
		s.Out, s.LDO, s.OutHead = out.at(b, 0, 0), out.row, out.head
		s.Keys, s.Scale = c.tokens, scale
	}
}

// run stores the keys and values of the new tokens and computes their attention. Every worker calls it; it ends with a barrier.
func (c *Cache) run(w *kernels.Worker, k, v view, tokens int) {
	for t := w.Next(); t < c.batch*c.heads; t = w.Next() {
		b, h := t/c.heads, t%c.heads
		s := &c.sequences[b]
		for i := range tokens {
			at := c.tokens - tokens + i
			block, j := at/kernels.Block, at%kernels.Block
			kernels.StoreKV(s.K[block][h*c.dk*kernels.Block:], s.V[block][h*c.dv*kernels.Block:], j, k.at(b, h, i)[:c.dk], v.at(b, h, i)[:c.dv])
		}
	}
	w.Sync()
	Attend(w, c.sequences)
}
