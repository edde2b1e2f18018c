package attention

// Causal linear attention: a running state of constant size.

import "picogpt/kernels"

// A LinearState is the state of causal linear attention for a batch of sequences: S and z over the
// whole blocks of 64 tokens so far, and the block that is not full yet. Its size does not grow with
// the tokens. Only one call at a time may use it.
//
// A token's result is φ(q)·(S + the keys and values of its block, up to its own), divided by the
// same with z: the products with S are one chain, which continues over the block's keys. So the
// result does not depend on how many tokens arrive in one call.
type LinearState struct {
	batch, heads, dk, dv int
	options              LinearOptions
	tokens               int

	// [batch·heads, …] over whole blocks: S in panels [features, dv], z [features]
	sums, z []float32
	// [batch·heads, …] of the block that is not full: φ(k) [features, 64], values in panels [64,
	// dv]
	keys, values []float32
	part         []float32 // [batch·heads, features]: Σ φ(k) of that block

	call stateCall
}

// NewLinearState returns an empty state for batch sequences with heads heads, whose keys are keyDim
// and whose values are valueDim wide.
func NewLinearState(batch, heads, keyDim, valueDim int, o LinearOptions) *LinearState {
	o.complete(keyDim)
	n, f := batch*heads, o.Features
	return &LinearState{batch: batch, heads: heads, dk: keyDim, dv: valueDim, options: o,
		sums: make([]float32, n*f*valueDim), z: make([]float32, n*f), part: make([]float32, n*f),
		keys: make([]float32, n*f*kernels.Block), values: make([]float32, n*kernels.Block*valueDim)}
}

// Len returns the number of tokens that each sequence has seen.
func (s *LinearState) Len() int { return s.tokens }

// Append adds new tokens and computes their attention, each seeing everything up to itself: for
// token i
//
//	dst[i] = Σ_{j≤i} (φ(q[i])·φ(k[j]))·v[j] / (Σ_{j≤i} φ(q[i])·φ(k[j]) + ε)
//
// q and k [batch, heads, tokens, key_dim], v [batch, heads, tokens, value_dim] -> dst [batch,
// heads, tokens, value_dim]. The division of the tokens into calls does not change the bits.
// (Katharopoulos et al., 2020, equations 9 to 12 and 16 to 20.)
func (s *LinearState) Append(team *kernels.Team, dst, q, k, v []float32, tokens int) {
	check("q [batch heads tokens key_dim]", len(q), s.batch, s.heads, tokens, s.dk)
	check("k [batch heads tokens key_dim]", len(k), s.batch, s.heads, tokens, s.dk)
	check("v [batch heads tokens value_dim]", len(v), s.batch, s.heads, tokens, s.dv)
	check("dst [batch heads tokens value_dim]", len(dst), s.batch, s.heads, tokens, s.dv)
	s.prepare(team, byHead(dst, s.heads, tokens, s.dv), byHead(q, s.heads, tokens, s.dk),
		byHead(k, s.heads, tokens, s.dk), byHead(v, s.heads, tokens, s.dv), tokens)
	team.Run(s.run)
	s.commit()
}

// commit adds the new tokens, and drops the references to the caller's memory.
func (s *LinearState) commit() {
	s.tokens = s.call.end
	s.call.q, s.call.k, s.call.v, s.call.out = view{}, view{}, view{}, view{}
}

// A stateCall is one call of Append: its new tokens, and memory that the next call uses again.
type stateCall struct {
	q, k, v, out view
	start, end   int // positions of the new tokens
	first        int // number of the first block that contains new tokens
	blocks       int // number of blocks that contain new tokens

	features     []float32 // [batch·heads, tokens, features], rows padded apart: φ(q)
	scores       []float32 // [batch·heads, tokens, 64]: φ(q)·φ(k) within the block
	keys, values []float32 // [batch·heads, blocks, …] as in LinearState
	// [batch·heads, blocks, features]: Σ φ(k) of a block, and of all before it
	parts, z []float32
	worker   [][]float32 // for each worker
}

func (s *LinearState) prepare(team *kernels.Team, out, q, k, v view, tokens int) {
	c, f, n := &s.call, s.options.Features, s.batch*s.heads
	c.q, c.k, c.v, c.out = q, k, v, out
	c.start, c.end = s.tokens, s.tokens+tokens
	c.first = c.start / kernels.Block
	c.blocks = tiles(c.end, kernels.Block) - c.first
	c.features = grow(&c.features, n*tokens*padded(f))
	c.scores = grow(&c.scores, n*tokens*kernels.Block)
	c.keys = grow(&c.keys, n*c.blocks*f*kernels.Block)
	c.values = grow(&c.values, n*c.blocks*kernels.Block*s.dv)
	c.parts, c.z = grow(&c.parts, n*c.blocks*f), grow(&c.z, n*c.blocks*f)
	growEach(&c.worker, team, max(kernels.Block*f, sumRows*panelCols+kernels.Block*sumCols))
}

// block returns the positions from … to of the new tokens in the i-th of these blocks.
func (c *stateCall) block(i int) (from, to int) {
	at := (c.first + i) * kernels.Block
	return max(c.start, at), min(c.end, at+kernels.Block)
}

// run runs on every worker. It ends with a barrier.
func (s *LinearState) run(w *kernels.Worker) {
	c, heads := &s.call, s.batch*s.heads
	for t := w.Next(); t < heads*c.blocks; t = w.Next() {
		s.pack(w, t/c.blocks, t%c.blocks)
	}
	w.Sync()
	for t := w.Next(); t < heads; t = w.Next() {
		s.sumFeatures(w, t)
	}
	w.Sync()
	groups := tiles(s.dv, sumCols)
	for t := w.Next(); t < heads*groups; t = w.Next() {
		s.attend(w, t/groups, t%groups*sumCols)
	}
	w.Sync()
	for t := w.Next(); t < heads*c.blocks; t = w.Next() {
		s.divide(w, t/c.blocks, t%c.blocks)
	}
	w.Sync()
}

// pack packs the new tokens of one block: their features, their values in panels, and the scores of
// these tokens with one another.
func (s *LinearState) pack(w *kernels.Worker, head, i int) {
	const size = kernels.Block
	c, f, ldf := &s.call, s.options.Features, padded(s.options.Features)
	b, h, at := head/s.heads, head%s.heads, head*c.blocks+i
	from, to := c.block(i)
	keys, part := c.keys[at*f*size:(at+1)*f*size], c.parts[at*f:(at+1)*f]
	values := kernels.Panels{Data: c.values[at*size*s.dv : (at+1)*size*s.dv], K: size, Cols: s.dv}
	if i == 0 { // tokens of earlier calls
		copy(keys, s.keys[head*f*size:])
		copy(values.Data, s.values[head*size*s.dv:])
		copy(part, s.part[head*f:])
	} else {
		clear(part)
	}
	row, n := from-c.start, to-from
	rows := c.worker[w.ID()] // [n, features]
	s.options.mapRows(w, rows, f, c.k.at(b, h, row), c.k.row, s.dk, n)
	kernels.Transpose(keys[from%size:], size, rows, f, n, f)
	values.PackRows(from%size, c.v.at(b, h, row), c.v.row, n)
	plusRows(w, part, rows, n)
	at = head*(c.end-c.start) + row
	features, scores := c.features[at*ldf:][:n*ldf], c.scores[at*size:][:n*size]
	s.options.mapRows(w, features, ldf, c.q.at(b, h, row), c.q.row, s.dk, n)
	clear(scores)
	seen := kernels.Panels{Data: keys, K: f,
		Cols: tiles(to-(c.first+i)*size, panelCols) * panelCols, LD: size}
	w.Multiply(scores, size, features, ldf, n, &seen, 0, f)
}

// sumFeatures sums z up to each block.
func (s *LinearState) sumFeatures(w *kernels.Worker, head int) {
	c, f := &s.call, s.options.Features
	z, left := s.z[head*f:(head+1)*f], s.part[head*f:(head+1)*f]
	for i := range c.blocks {
		at := head*c.blocks + i
		part := c.parts[at*f : (at+1)*f]
		copy(c.z[at*f:], z)
		if _, to := c.block(i); to%kernels.Block == 0 {
			w.Plus(z, part)
			clear(left)
		} else {
			copy(left, part)
		}
	}
}

// attend computes the numerators of a group of the values' columns, and adds every full block to S.
func (s *LinearState) attend(w *kernels.Worker, head, col int) {
	const size = kernels.Block
	c, f, ldf := &s.call, s.options.Features, padded(s.options.Features)
	b, h, cols := head/s.heads, head%s.heads, min(sumCols, s.dv-col)
	part, acc := c.worker[w.ID()][:sumRows*panelCols], c.worker[w.ID()][sumRows*panelCols:]
	all := kernels.Panels{Data: s.sums[head*f*s.dv:], K: f, Cols: s.dv}
	sums := kernels.Panels{Data: all.Data[col*f:], K: f, Cols: cols}
	for i := range c.blocks {
		from, to := c.block(i)
		row, n, at := from-c.start, to-from, head*c.blocks+i
		first := head*(c.end-c.start) + row
		block := kernels.Panels{Data: c.values[at*size*s.dv:], K: size, Cols: s.dv}
		values := kernels.Panels{Data: block.Data[col*size:], K: size, Cols: cols}
		clear(acc[:n*cols])
		w.Multiply(acc, cols, c.features[first*ldf:], ldf, n, &sums, 0, f)
		addSeen(w, acc, cols, c.scores[first*size:], n, &values, from%size)
		for j := range n {
			copy(c.out.at(b, h, row+j)[col:col+cols], acc[j*cols:])
		}
		if to%size == 0 {
			for r := 0; r < f; r += sumRows {
				addPiece(w, &all, part, c.keys[at*f*size:], block, r, col, size)
			}
		}
	}
}

// addSeen continues the sums of n rows over the keys of their block, up to each row's own, which is
// from for the first row. For a few rows, the keys that all see are taken together, the others row
// by row.
func addSeen(
	w *kernels.Worker, acc []float32, ld int, scores []float32, n int, values *kernels.Panels,
	from int,
) {
	const few = 6
	for i := 0; i < n; i += few {
		rows, common := min(few, n-i), from+i+1
		w.Multiply(acc[i*ld:], ld, scores[i*kernels.Block:], kernels.Block, rows, values, 0, common)
		for j := i + 1; j < i+rows; j++ {
			w.Multiply(acc[j*ld:], ld, scores[j*kernels.Block+common:], kernels.Block, 1, values,
				common, from+j+1)
		}
	}
}

// divide divides the new tokens' results of a block by their sums, and stores the last block for
// the next call.
func (s *LinearState) divide(w *kernels.Worker, head, i int) {
	c, f, ldf := &s.call, s.options.Features, padded(s.options.Features)
	z := c.z[(head*c.blocks+i)*f:][:f]
	from, to := c.block(i)
	for p := from; p < to; p++ {
		row := p - c.start
		at := head*(c.end-c.start) + row
		sum := w.Dot(c.features[at*ldf:at*ldf+f], z)
		for _, a := range c.scores[at*kernels.Block:][:p%kernels.Block+1] {
			sum = float32(sum + a)
		}
		out := c.out.at(head/s.heads, head%s.heads, row)[:s.dv]
		w.Times(out, inverse(float32(sum+s.options.Epsilon)))
	}
	if i == c.blocks-1 {
		keys, values := f*kernels.Block, kernels.Block*s.dv
		copy(s.keys[head*keys:(head+1)*keys], c.keys[(head*c.blocks+i)*keys:])
		copy(s.values[head*values:(head+1)*values], c.values[(head*c.blocks+i)*values:])
	}
}
