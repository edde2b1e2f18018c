package attention

// The keys and values of a batch of sequences so far, for causal attention that continues token by
// token.

import (
	"math"

	"picogpt/kernels"
)

// A Cache holds the keys and values of a batch of sequences of one length, in blocks of 64 tokens.
// It grows with the tokens. Only one call at a time may use it.
type Cache struct {
	batch, heads, dk, dv int
	tokens               int
	end                  int            // number of tokens after the running call
	sequences            []kernels.Span // one for each of the batch
}

// NewCache returns an empty cache for batch sequences with heads heads, whose keys are keyDim and
// whose values are valueDim wide.
func NewCache(batch, heads, keyDim, valueDim int) *Cache {
	c := &Cache{batch, heads, keyDim, valueDim, 0, 0, make([]kernels.Span, batch)}
	for b := range c.sequences {
		c.sequences[b] = kernels.Span{Heads: heads, KeyDim: keyDim, ValueDim: valueDim}
	}
	return c
}

// Len returns the number of tokens that each sequence holds.
func (c *Cache) Len() int { return c.tokens }

// Append adds new tokens and computes their causal attention: each sees all tokens up to itself.
// The result has the same bits as one call of ScaledDotProduct with Causal for the whole sequence.
//
// q and k [batch, heads, tokens, key_dim], v [batch, heads, tokens, value_dim] -> dst [batch,
// heads, tokens, value_dim]. scale is what q·k is multiplied by, 0 for 1/√key_dim.
func (c *Cache) Append(team *kernels.Team, dst, q, k, v []float32, tokens int, scale float32) {
	check("q [batch heads tokens key_dim]", len(q), c.batch, c.heads, tokens, c.dk)
	check("k [batch heads tokens key_dim]", len(k), c.batch, c.heads, tokens, c.dk)
	check("v [batch heads tokens value_dim]", len(v), c.batch, c.heads, tokens, c.dv)
	check("dst [batch heads tokens value_dim]", len(dst), c.batch, c.heads, tokens, c.dv)
	if scale == 0 && c.dk > 0 {
		scale = float32(1 / math.Sqrt(float64(c.dk)))
	}
	c.prepare(byHead(dst, c.heads, tokens, c.dv), byHead(q, c.heads, tokens, c.dk),
		byHead(k, c.heads, tokens, c.dk), byHead(v, c.heads, tokens, c.dv), tokens)
	team.Run(func(w *kernels.Worker) { kernels.CausalAttention(w, c.sequences, 0, scale) })
	c.commit()
}

// prepare makes room for new tokens, and describes where they are and where their results go.
func (c *Cache) prepare(out, q, k, v view, tokens int) {
	c.end = c.tokens + tokens
	for b := range c.sequences {
		s := &c.sequences[b]
		for len(s.Keys)*kernels.Block < c.end {
			s.Keys = append(s.Keys, kernels.MakeKV(kernels.F32, c.heads*c.dk*kernels.Block))
			s.Values = append(s.Values, kernels.MakeKV(kernels.F32, c.heads*c.dv*kernels.Block))
		}
		s.Rows, s.Tokens = tokens, c.end
		s.Query, s.Key, s.Value, s.Out = q.sequence(b), k.sequence(b), v.sequence(b),
			out.sequence(b)
	}
}

// commit adds the new tokens, and drops the references to the caller's memory.
func (c *Cache) commit() {
	c.tokens = c.end
	for b := range c.sequences {
		s, none := &c.sequences[b], kernels.HeadRows{}
		s.Query, s.Key, s.Value, s.Out = none, none, none, none
	}
}
