package attention

// Linear attention: a feature map replaces the exponential, so that keys and values can be summed
// once for all queries.

import (
	"picogpt/kernels"
)

// LinearOptions choose the feature map of linear attention. The zero value is elu(x)+1 and an
// epsilon of 1e-6.
type LinearOptions struct {
	// Map writes the features of one query or key, x [key_dim], to dst [Features]. Several workers
	// call it concurrently. nil means elu(x) + 1 with key_dim features. The sum of the features
	// must not be negative, because results are divided by it. If Map panics, so does the call, and
	// a LinearState is as it was before.
	Map      func(dst, x []float32)
	Features int // 0 for key_dim

	Epsilon float32 // added to the denominator; 0 for 1e-6
}

func (o *LinearOptions) complete(keyDim int) {
	if o.Features == 0 || o.Map == nil {
		o.Features = keyDim
	}
	if o.Epsilon == 0 {
		o.Epsilon = 1e-6
	}
}

// Linear computes, for each batch and head, with φ the feature map,
//
//	dst[i] = φ(q[i])·S / (φ(q[i])·z + ε)      S = Σ_j φ(k[j])·v[j]ᵀ, z = Σ_j φ(k[j])
//
// over all keys j: each query sees every key. Time and memory grow with the tokens, not with their
// square. q [batch, heads, queries, key_dim], k [batch, heads, keys, key_dim], v [batch, heads,
// keys, value_dim] -> dst [batch, heads, queries, value_dim]. (Katharopoulos et al., "Transformers
// are RNNs", 2020, equations 4 to 7.) For the causal form see LinearState.
func Linear(team *kernels.Team, dst, q, k, v []float32, s Sizes, o LinearOptions) {
	check("q [batch heads queries key_dim]", len(q), s.Batch, s.Heads, s.Queries, s.KeyDim)
	check("k [batch heads keys key_dim]", len(k), s.Batch, s.Heads, s.Keys, s.KeyDim)
	check("v [batch heads keys value_dim]", len(v), s.Batch, s.Heads, s.Keys, s.ValueDim)
	check("dst [batch heads queries value_dim]", len(dst), s.Batch, s.Heads, s.Queries, s.ValueDim)
	c := linearCall{
		q: byHead(q, s.Heads, s.Queries, s.KeyDim), k: byHead(k, s.Heads, s.Keys, s.KeyDim),
		v: byHead(v, s.Heads, s.Keys, s.ValueDim), out: byHead(dst, s.Heads, s.Queries, s.ValueDim),
	}
	c.prepare(team, s, o, new(linearMemory))
	team.Run(c.run)
}

// A linearCall is one call of linear attention, for all batches and heads; every query sees every
// key.
type linearCall struct {
	Sizes
	LinearOptions
	q, k, v, out view
	*linearMemory
	blocks int // of keys in a head
}

// linearMemory is the memory of a call. The next call uses it again.
type linearMemory struct {
	// [batch·heads, blocks, …]: φ(k) [features, 64], values in panels [64, value_dim]
	keys, values []float32
	parts        []float32   // [batch·heads, blocks, features]: Σ φ(k) of each block
	sums, z      []float32   // [batch·heads, …]: S in panels [features, value_dim], z [features]
	worker       [][]float32 // for each worker
}

// growEach makes room for n floats for each worker of a team.
func growEach(worker *[][]float32, team *kernels.Team, n int) {
	for len(*worker) < team.Size() {
		*worker = append(*worker, nil)
	}
	for i := range team.Size() {
		(*worker)[i] = grow(&(*worker)[i], n)
	}
}

// Sizes of tasks: a piece of S that stays in the first-level cache, and the number of queries that
// are multiplied with all of S together.
const (
	sumRows    = 192
	sumCols    = 64
	linearRows = 192
)

func (c *linearCall) prepare(team *kernels.Team, s Sizes, o LinearOptions, m *linearMemory) {
	o.complete(s.KeyDim)
	c.Sizes, c.LinearOptions, c.linearMemory = s, o, m
	c.blocks = tiles(s.Keys, kernels.Block)
	n, f := s.Batch*s.Heads, o.Features
	m.keys = grow(&m.keys, n*c.blocks*f*kernels.Block)
	m.values = grow(&m.values, n*c.blocks*kernels.Block*s.ValueDim)
	m.parts = grow(&m.parts, n*c.blocks*f)
	m.sums, m.z = grow(&m.sums, n*f*s.ValueDim), grow(&m.z, n*f)
	growEach(&m.worker, team, max(kernels.Block*f, 2*sumRows*sumCols,
		linearRows*(padded(f)+padded(s.ValueDim))))
}

// padded returns the distance at which rows of n floats should lie: at a multiple of 512 bytes all
// of them would share a few lines of the cache.
func padded(n int) int {
	if n%128 == 0 {
		return n + 16
	}
	return n
}

// run runs on every worker. It ends with a barrier.
func (c *linearCall) run(w *kernels.Worker) {
	heads := c.Batch * c.Heads
	for t := w.Next(); t < heads*c.blocks; t = w.Next() {
		c.pack(w, t/c.blocks, t%c.blocks)
	}
	w.Sync()
	across, down := tiles(c.ValueDim, sumCols), tiles(c.Features, sumRows)
	for t := w.Next(); t < heads*(across*down+1); t = w.Next() {
		if n := t / heads; n < across*down {
			c.sum(w, t%heads, n%down*sumRows, n/down*sumCols)
		} else {
			c.sumFeatures(w, t%heads)
		}
	}
	w.Sync()
	rows := tiles(c.Queries, linearRows)
	for t := w.Next(); t < heads*rows; t = w.Next() {
		c.attend(w, t/rows, t%rows*linearRows)
	}
	w.Sync()
}

func tiles(n, each int) int { return (n + each - 1) / each }

// mapRows writes the features of n rows of x to dst, rows ld apart.
func (o *LinearOptions) mapRows(
	w *kernels.Worker, dst []float32, ld int, x []float32, ldx, keyDim, n int,
) {
	for i := range n {
		y, x := dst[i*ld:i*ld+o.Features], x[i*ldx:i*ldx+keyDim]
		if o.Map == nil {
			w.ELU1(y, x)
		} else {
			o.Map(y, x)
		}
	}
}

// pack packs one block of keys and values: φ(k) transposed, the values in panels, and the sum of
// the features.
func (c *linearCall) pack(w *kernels.Worker, head, block int) {
	first := block * kernels.Block
	n := min(kernels.Block, c.Keys-first)
	f, at := c.Features, head*c.blocks+block
	rows := c.worker[w.ID()] // [n, features]
	b, h := head/c.Heads, head%c.Heads
	c.mapRows(w, rows, f, c.k.at(b, h, first), c.k.row, c.KeyDim, n)
	kernels.Transpose(c.keys[at*f*kernels.Block:], kernels.Block, rows, f, n, f)
	values := c.panels(at)
	values.PackRows(0, c.v.at(b, h, first), c.v.row, n)
	part := c.parts[at*f : (at+1)*f]
	clear(part)
	plusRows(w, part, rows, n)
}

// plusRows adds n rows of x, as long as dst, to dst.
func plusRows(w *kernels.Worker, dst, x []float32, n int) {
	for i := range n {
		w.Plus(dst, x[i*len(dst):(i+1)*len(dst)])
	}
}

// panels returns a block of values.
func (c *linearCall) panels(at int) kernels.Panels {
	n := kernels.Block * c.ValueDim
	return kernels.Panels{Data: c.values[at*n : (at+1)*n], K: kernels.Block, Cols: c.ValueDim}
}

// sum computes a piece of S, block after block: the features from row on, and the values' columns
// from col on.
func (c *linearCall) sum(w *kernels.Worker, head, row, col int) {
	f := c.Features
	s := kernels.Panels{Data: c.sums[head*f*c.ValueDim:], K: f, Cols: c.ValueDim}
	for j := col; j < min(col+sumCols, s.Cols); j += panelCols {
		clear(piece(&s, row, j))
	}
	for i := range c.blocks {
		at := head*c.blocks + i
		addPiece(w, &s, c.worker[w.ID()], c.keys[at*f*kernels.Block:], c.panels(at), row, col,
			min(kernels.Block, c.Keys-i*kernels.Block))
	}
}

// addPiece adds a block's Σ φ(k)·vᵀ, over its first n keys, to the piece of S from a row and a
// column on. The block is summed by itself first: sums of sums lose less precision than one long
// chain.
func addPiece(
	w *kernels.Worker, s *kernels.Panels, part, keys []float32, values kernels.Panels,
	row, col, n int,
) {
	for j := col; j < min(col+sumCols, s.Cols); j += panelCols {
		total := piece(s, row, j) // [rows, cols]
		part := part[:len(total)]
		clear(part)
		cols := min(panelCols, s.Cols-j)
		panel := kernels.Panels{Data: values.Data[j*kernels.Block:], K: kernels.Block, Cols: cols}
		w.Multiply(part, cols, keys[row*kernels.Block:], kernels.Block, len(total)/cols, &panel, 0,
			n)
		w.Plus(total, part)
	}
}

// piece returns the part of S for one task: up to sumRows rows of the panel from column j on.
func piece(s *kernels.Panels, row, j int) []float32 {
	cols := min(panelCols, s.Cols-j)
	return s.Data[j*s.K+row*cols:][:min(sumRows, s.K-row)*cols]
}

// panelCols is the width of a panel of kernels.Panels.
const panelCols = 16

// sumFeatures computes z, block after block.
func (c *linearCall) sumFeatures(w *kernels.Worker, head int) {
	f := c.Features
	z := c.z[head*f : (head+1)*f]
	clear(z)
	for i := range c.blocks {
		w.Plus(z, c.parts[(head*c.blocks+i)*f:][:f])
	}
}

// attend computes the result of some queries of a head, from row on.
func (c *linearCall) attend(w *kernels.Worker, head, row int) {
	f, ldf, lda := c.Features, padded(c.Features), padded(c.ValueDim)
	n, b, h := min(linearRows, c.Queries-row), head/c.Heads, head%c.Heads
	rows, acc := c.worker[w.ID()][:n*ldf], c.worker[w.ID()][n*ldf:][:n*lda]
	c.mapRows(w, rows, ldf, c.q.at(b, h, row), c.q.row, c.KeyDim, n)
	clear(acc)
	s := kernels.Panels{Data: c.sums[head*f*c.ValueDim:], K: f, Cols: c.ValueDim}
	w.Multiply(acc, lda, rows, ldf, n, &s, 0, f)
	z := c.z[head*f : (head+1)*f]
	for i := range n {
		out := c.out.at(b, h, row+i)[:c.ValueDim]
		copy(out, acc[i*lda:])
		w.Times(out, inverse(float32(w.Dot(rows[i*ldf:i*ldf+f], z)+c.Epsilon)))
	}
}

// inverse returns 1/sum, and NaN for a sum that has overflowed: 0 would hide the overflow.
func inverse(sum float32) float32 { return float32(float32(1/sum) + float32(sum-sum)) }
