package attention

// Scaled dot-product attention over heads at any distances: which workers pack the keys and compute
// which queries.

import "picogpt/kernels"

// ScaledDotProduct computes, for each batch and head,
//
//	dst = softmax(q·kᵀ·Scale + mask)·v      the softmax over the keys
//
// q [batch, heads, queries, key_dim], k [batch, heads, keys, key_dim], v [batch, heads, keys,
// value_dim] -> dst [batch, heads, queries, value_dim]. (Vaswani et al., "Attention is all you
// need", 2017, equation 1; the options are those of PyTorch's scaled_dot_product_attention.)
func ScaledDotProduct(team *kernels.Team, dst, q, k, v []float32, s Sizes, o Options) {
	check("q [batch heads queries key_dim]", len(q), s.Batch, s.Heads, s.Queries, s.KeyDim)
	check("k [batch heads keys key_dim]", len(k), s.Batch, s.Heads, s.Keys, s.KeyDim)
	check("v [batch heads keys value_dim]", len(v), s.Batch, s.Heads, s.Keys, s.ValueDim)
	check("dst [batch heads queries value_dim]", len(dst), s.Batch, s.Heads, s.Queries, s.ValueDim)
	c := call{
		q: byHead(q, s.Heads, s.Queries, s.KeyDim), k: byHead(k, s.Heads, s.Keys, s.KeyDim),
		v: byHead(v, s.Heads, s.Keys, s.ValueDim), out: byHead(dst, s.Heads, s.Queries, s.ValueDim),
	}
	c.prepare(team, s, o, new(packing))
	team.Run(c.run)
}

// A call is one call of softmax attention, for all batches and heads.
type call struct {
	Sizes
	Options
	q, k, v, out view
	*packing
	tile     int  // queries in a tile
	together bool // the workers share a head: see prepare
}

// A packing is keys and values in blocks, for one head: shared by all workers, or one for each.
type packing struct {
	memory [][]float32
	blocks []headBlocks
	mean   [][]float32 // [tile, keys] for each worker
}

type headBlocks struct{ keys, values []kernels.KV }

// prepare prepares a run. If there are many heads and each is small, a worker computes a whole
// head, including packing its keys, so that they stay in its cache. Otherwise the workers pack one
// head after the other together and share its queries.
func (c *call) prepare(team *kernels.Team, s Sizes, o Options, p *packing) {
	o.check(s)
	c.Sizes, c.Options, c.packing = s, o, p
	c.tile = kernels.QueryTile(s.KeyDim+s.ValueDim, s.Queries, 1, 0)
	const small = 1 << 18 // floats: 1 MiB of keys and values
	tiles, size := (s.Queries+c.tile-1)/c.tile, s.Keys*(s.KeyDim+s.ValueDim)
	c.together = tiles > 1 && (size > small || s.Batch*s.Heads < 4*team.Size()) ||
		o.MeanWeights != nil
	if c.together {
		c.tile = kernels.QueryTile(s.KeyDim+s.ValueDim, s.Queries, 1, team.Size())
	}
	n := team.Size()
	if c.together {
		n = 1
	}
	p.reserve(n, s)
	if o.MeanWeights != nil {
		clear(o.MeanWeights)
		for len(p.mean) < team.Size() {
			p.mean = append(p.mean, nil)
		}
	}
}

func (p *packing) reserve(n int, s Sizes) {
	for len(p.memory) < n {
		p.memory, p.blocks = append(p.memory, nil), append(p.blocks, headBlocks{})
	}
	blocks := (s.Keys + kernels.Block - 1) / kernels.Block
	k, v := s.KeyDim*kernels.Block, s.ValueDim*kernels.Block
	for i := range n {
		m, h := grow(&p.memory[i], blocks*(k+v)), &p.blocks[i]
		h.keys, h.values = h.keys[:0], h.values[:0]
		for range blocks {
			h.keys, h.values, m = append(h.keys, kernels.KV{F32: m[:k]}),
				append(h.values, kernels.KV{F32: m[k : k+v]}), m[k+v:]
		}
	}
}

// run runs on every worker. It ends with a barrier.
func (c *call) run(w *kernels.Worker) {
	if !c.together {
		b := &c.blocks[w.ID()]
		for t := w.Next(); t < c.Batch*c.Heads; t = w.Next() {
			c.pack(b, t/c.Heads, t%c.Heads, 0, len(b.keys))
			for row := 0; row < c.Queries; row += c.tile {
				c.attend(w, b, t/c.Heads, t%c.Heads, row)
			}
		}
		w.Sync()
		return
	}
	b := &c.blocks[0]
	tiles := (c.Queries + c.tile - 1) / c.tile
	for h := range c.Batch * c.Heads {
		for t := w.Next(); t < len(b.keys); t = w.Next() {
			c.pack(b, h/c.Heads, h%c.Heads, t, t+1)
		}
		w.Sync()
		// in reverse: if the attention is causal, the last tile takes the longest
		for t := w.Next(); t < tiles; t = w.Next() {
			c.attend(w, b, h/c.Heads, h%c.Heads, (tiles-1-t)*c.tile)
		}
		w.Sync()
	}
}

// pack copies blocks from … to of one head's keys and values into panels. Narrow values are not
// copied.
func (c *call) pack(b *headBlocks, batch, head, from, to int) {
	for i := from; i < to; i++ {
		first := i * kernels.Block
		n := min(kernels.Block, c.Keys-first)
		k := kernels.Panels{Data: b.keys[i].F32, K: c.KeyDim, Cols: kernels.Block}
		k.PackColumns(0, c.k.at(batch, head, first), c.k.row, n)
		if c.inPlace() {
			b.values[i].F32 = c.v.at(batch, head, first)
			continue
		}
		v := kernels.Panels{Data: b.values[i].F32, K: kernels.Block, Cols: c.ValueDim}
		v.PackRows(0, c.v.at(batch, head, first), c.v.row, n)
	}
}

// inPlace reports whether the values are read in place: their rows lie so close together that a
// block of them stays in the first-level cache without packing.
func (c *call) inPlace() bool { return c.v.row <= kernels.Block }

// attend computes the tile of one head that begins at a query.
func (c *call) attend(w *kernels.Worker, b *headBlocks, batch, head, row int) {
	a := kernels.Attention{
		Q: c.q.at(batch, head, row), LDQ: c.q.row,
		Out: c.out.at(batch, head, row), LDO: c.out.row,
		Rows: min(c.tile, c.Queries-row),
		K:    b.keys, V: b.values, DK: c.KeyDim, DV: c.ValueDim,
		Keys: c.Keys, See: c.Keys, Scale: c.Scale,
	}
	if c.inPlace() {
		a.LDV = c.v.row
	}
	if c.Causal {
		a.See, a.Step = c.Past+row+1, 1
	}
	offset, ld := c.Mask.at(batch, head, row)
	if c.Mask.Add != nil {
		a.Mask, a.LDM = c.Mask.Add[offset:], ld
	}
	if c.Mask.Keep != nil {
		a.Keep, a.LDM = c.Mask.Keep[offset:], ld
	}
	if c.Weights != nil {
		a.Weights, a.LDW = c.Weights[((batch*c.Heads+head)*c.Queries+row)*c.Keys:], c.Keys
	} else if c.MeanWeights != nil {
		a.Weights, a.LDW = grow(&c.mean[w.ID()], c.tile*c.Keys), c.Keys
	}
	w.AttendTile(&a)
	if c.MeanWeights != nil { // the heads come one after another: see run
		n := a.Rows * c.Keys
		mean := c.MeanWeights[(batch*c.Queries+row)*c.Keys:][:n]
		w.Plus(mean, a.Weights[:n])
		if head == c.Heads-1 {
			w.Times(mean, float32(1/float64(c.Heads)))
		}
	}
}
