package gpu

// What the rows of a pass need on their way through the layers, kept from pass to pass.

import (
	"fmt"
	"math/bits"

	"picogpt/internal/engine"
	"picogpt/kernels"
)

// A scratch is buffers for so many rows and, where attention works on blocks side by side, for so
// many pairs of a row and a block.
type scratch struct {
	rows, pairs, ints int

	plan         Buffer // [ints] int32: see kernels/rows.cl
	x, norm      Buffer // [rows, n_embd]
	qkv          Buffer // [rows, 3·n_embd]
	inner        Buffer // [rows, n_inner]
	q            Buffer // [rows, ⌈in/32⌉·32] int16: rows of a linear layer as integers
	starts       Buffer // [rows, ⌈in/32⌉] int32
	scales       Buffer // [rows]
	scores       Buffer // [pairs, n_head, 64]
	part         Buffer // [pairs, n_head, head_dim]
	maxima, sums Buffer // [pairs, n_head]
	hidden       Buffer // [groupRows, n_embd]
	logits       Buffer // [groupRows, vocab_size]

	all []Buffer
}

// fits reports whether there is room for a pass.
func (s *scratch) fits(rows, pairs, ints int) bool {
	return rows <= s.rows && pairs <= s.pairs && ints <= s.ints
}

// newScratch makes room for a pass, and for somewhat larger ones.
func newScratch(d Driver, p *engine.Params, rows, pairs, ints int) (s scratch, err error) {
	up := func(n, least int) int { return max(least, 1<<bits.Len(uint(n-1))) }
	s.rows, s.pairs, s.ints = up(rows, 16), up(pairs, 64), up(ints, 1024)
	group := min(s.rows, engine.GroupRows)
	blocks := (max(p.Embd, p.Inner) + 31) / 32
	for _, b := range []struct {
		buffer *Buffer
		words  int // of 4 bytes
	}{
		{&s.plan, s.ints}, {&s.x, s.rows * p.Embd}, {&s.norm, s.rows * p.Embd},
		{&s.qkv, s.rows * 3 * p.Embd}, {&s.inner, s.rows * p.Inner},
		{&s.q, s.rows * blocks * 16}, {&s.starts, s.rows * blocks}, {&s.scales, s.rows},
		{&s.scores, s.pairs * p.Heads * kernels.Block}, {&s.part, s.pairs * p.Embd},
		{&s.maxima, s.pairs * p.Heads}, {&s.sums, s.pairs * p.Heads},
		{&s.hidden, group * p.Embd}, {&s.logits, group * p.Vocab},
	} {
		*b.buffer, err = d.Alloc(4 * int64(b.words))
		if err != nil {
			s.free(d)
			return scratch{}, fmt.Errorf("memory for %d rows: %w", rows, err)
		}
		s.all = append(s.all, *b.buffer)
	}
	return s, nil
}

// free gives the memory back.
func (s *scratch) free(d Driver) {
	for _, b := range s.all {
		d.Free(b)
	}
	*s = scratch{}
}
