package attention

// Scaled dot-product attention over heads at any distances: its sizes, options and masks; which
// workers pack the keys and compute which queries; and a cache of keys and values, for causal
// attention that continues token by token.

import (
	"fmt"
	"math"
	"slices"

	"picogpt/kernels"
)

// Sizes are the sizes of one call of scaled dot-product attention.
type Sizes struct {
	Batch, Heads     int
	Queries, Keys    int // tokens
	KeyDim, ValueDim int // of one head; queries have KeyDim too
}

// Options change what softmax attention computes. The zero value is no mask and a scale of 1/√dim.
type Options struct {
	Scale float32 // factor of q·k; 0 for 1/√KeyDim, or for the scale of the layer's layout

	// Causal hides the keys after a query: query i sees keys 0 … Past+i. Past is the number of keys
	// before the first query: 0 for a whole sequence. The result equals adding −1e10, as GPT-2 and
	// picoGPT do, because exp of that is 0.
	Causal bool
	Past   int

	Mask Mask

	// [batch, heads, queries, keys]: the attention weights are written here, if not nil
	Weights []float32
	// [batch, queries, keys]: their mean over the heads is written here, if not nil
	MeanWeights []float32
}

// A Mask is added to the scores, or hides some of them. Both fields may be set.
type Mask struct {
	Add  []float32 // added after scaling: −1e10 or −Inf to hide, anything else to bias
	Keep []bool    // true if a query may see a key, as in PyTorch's scaled_dot_product_attention

	// Shape is that of Add and Keep, [batch, heads, queries, keys]. Each of the first three is the
	// size, or 1 if the mask is the same for all. All zero means [1, 1, queries, keys].
	Shape [4]int
}

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
	count, size := tiles(s.Queries, c.tile), s.Keys*(s.KeyDim+s.ValueDim)
	c.together = count > 1 && (size > small || s.Batch*s.Heads < 4*team.Size()) ||
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
	blocks := tiles(s.Keys, kernels.Block)
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
	last := tiles(c.Queries, c.tile) - 1
	for h := range c.Batch * c.Heads {
		for t := w.Next(); t < len(b.keys); t = w.Next() {
			c.pack(b, h/c.Heads, h%c.Heads, t, t+1)
		}
		w.Sync()
		// in reverse: if the attention is causal, the last tile takes the longest
		for t := w.Next(); t <= last; t = w.Next() {
			c.attend(w, b, h/c.Heads, h%c.Heads, (last-t)*c.tile)
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

// check panics unless n numbers are the product of the sizes.
func check(name string, n int, sizes ...int) {
	want := 1
	for _, s := range sizes {
		if s < 0 {
			panic(fmt.Sprintf("attention: %s: sizes %v", name, slices.Clone(sizes)))
		}
		want *= s
	}
	if n != want {
		// Clone, so that sizes stays on the stack
		panic(fmt.Sprintf("attention: %s has %d numbers, want %v = %d", name, n,
			slices.Clone(sizes), want))
	}
}

// check completes the options for the sizes.
func (o *Options) check(s Sizes) {
	if o.Scale == 0 && s.KeyDim > 0 {
		o.Scale = float32(1 / math.Sqrt(float64(s.KeyDim)))
	}
	if o.Past != 0 && (!o.Causal || o.Past < 0) {
		panic(fmt.Sprintf("attention: Past is %d with Causal %v, want 0, or more with Causal",
			o.Past, o.Causal))
	}
	if o.Weights != nil {
		check("Weights [batch heads queries keys]", len(o.Weights), s.Batch, s.Heads, s.Queries,
			s.Keys)
	}
	if o.MeanWeights != nil {
		check("MeanWeights [batch queries keys]", len(o.MeanWeights), s.Batch, s.Queries, s.Keys)
	}
	o.Mask.check(s)
}

func (m *Mask) check(s Sizes) {
	full := [4]int{s.Batch, s.Heads, s.Queries, s.Keys}
	if m.Shape == [4]int{} {
		m.Shape = [4]int{1, 1, s.Queries, s.Keys}
	}
	for i, n := range m.Shape {
		if n != full[i] && (n != 1 || i == 3) {
			panic(fmt.Sprintf("attention: Mask.Shape is %v, want [batch heads queries keys] = "+
				"%v, or 1 in place of the first three", m.Shape, full))
		}
	}
	if m.Add != nil {
		check("Mask.Add", len(m.Add), m.Shape[:]...)
	}
	if m.Keep != nil {
		check("Mask.Keep", len(m.Keep), m.Shape[:]...)
	}
}

// at returns the offset of a query's row, and the distance between the rows of consecutive queries.
func (m *Mask) at(batch, head, query int) (offset, ld int) {
	if m.Shape[0] == 1 {
		batch = 0
	}
	if m.Shape[1] == 1 {
		head = 0
	}
	ld = m.Shape[3]
	if m.Shape[2] == 1 {
		query, ld = 0, 0
	}
	return ((batch*m.Shape[1]+head)*m.Shape[2] + query) * m.Shape[3], ld
}

// A view is numbers [batch, heads, rows, dim] in a slice, at any distances.
type view struct {
	data             []float32
	batch, head, row int // distances
}

// byHead returns the view of [batch, heads, rows, dim].
func byHead(data []float32, heads, rows, dim int) view {
	return view{data, heads * rows * dim, rows * dim, dim}
}

// byRow returns the view of [batch, rows, heads·dim].
func byRow(data []float32, heads, rows, dim int) view {
	return view{data, rows * heads * dim, dim, heads * dim}
}

func (v *view) at(batch, head, row int) []float32 {
	return v.data[batch*v.batch+head*v.head+row*v.row:]
}

// sequence returns the part of one sequence of the batch.
func (v *view) sequence(batch int) kernels.HeadRows {
	return kernels.HeadRows{Data: v.at(batch, 0, 0), Row: v.row, Head: v.head}
}

// grow returns n floats of memory, which *b stores from call to call. They contain old data.
func grow(b *[]float32, n int) []float32 {
	if cap(*b) < n {
		*b = make([]float32, n)
	}
	return (*b)[:n]
}
