package gpu

// Scratch memory for the rows of a pass, which is used again by the next pass.

import (
	"fmt"
	"math/bits"

	"picogpt/internal/engine"
	"picogpt/kernels"
	"picogpt/model/stack"
)

// A scratch holds buffers for that many rows.
type scratch struct {
	rows, words int

	plan    Buffer // [words] int32
	x, norm Buffer // [rows, n_embd]
	parts   Buffer // [segments, rows, out]: the partial sums of a linear layer
	qkv     Buffer // [rows, 3, n_embd]
	inner   Buffer // [rows, n_inner]; of one row it may be [segments, n_inner]
	q       Buffer // [rows, ⌈in/32⌉·32] int16: the inputs of a linear layer as integers
	scales  Buffer // [rows]
	hidden  Buffer // [groupRows, n_embd]
	logits  Buffer // [groupRows, vocab_size]

	// for kernels/best.cl, if the device has float64
	maxima Buffer // [groupRows, runs]
	terms  Buffer // [groupRows, runs·64] float64
	best   Buffer // [groupRows, bestWords]

	// memory of the host for what recordings copy, if the driver has some: a plan, and results of
	// best.cl
	hostPlan, hostBest []byte

	all   []Buffer
	bytes int64 // of all
}

// fits reports whether there is room for a pass.
func (s *scratch) fits(rows, words int) bool { return rows <= s.rows && words <= s.words }

// list returns the index in a plan at which the groups of attention begin.
func (s *scratch) list() int { return 4 * s.rows }

// newScratch makes room for a pass, and for somewhat larger ones. best is how many of the greatest
// logits of a row the device can choose.
func newScratch(d Driver, p *stack.Params, best, rows, words int) (s scratch, err error) {
	up := func(n, least int) int { return max(least, 1<<bits.Len(uint(n-1))) }
	s.rows = up(rows, 16)
	s.words = up(words+6*(s.rows-rows), leastPlan)
	group := min(s.rows, engine.GroupRows)
	blocks := groups(max(p.Embd, p.Inner), 32)
	parts := 0           // for one row
	for i := range p.H { // whose formats may differ
		for _, l := range p.H[i].Linears() {
			segments := 1
			if l.Weight.Format < kernels.Q8 {
				segments = groups(l.Weight.In, segment)
			}
			parts = max(parts, segments*l.Weight.Out)
		}
	}
	runs := runsOf(p.Vocab)
	if best == 0 {
		runs = 0
	}
	for _, b := range []struct {
		buffer *Buffer
		words  int // of 4 bytes
	}{
		{&s.plan, s.words}, {&s.x, s.rows * p.Embd}, {&s.norm, s.rows * p.Embd},
		{&s.parts, s.rows * parts}, {&s.qkv, s.rows * 3 * p.Embd},
		{&s.inner, max(s.rows, groups(p.Embd, segment)) * p.Inner},
		{&s.q, s.rows * blocks * 16}, {&s.scales, s.rows},
		{&s.hidden, group * p.Embd}, {&s.logits, group * p.Vocab},
		{&s.maxima, group * runs}, {&s.terms, group * 2 * runs * runLogits},
		{&s.best, group * bestWords(best)},
	} {
		if b.words == 0 {
			continue
		}
		*b.buffer, err = d.Alloc(4 * int64(b.words))
		if err != nil {
			s.free(d)
			return scratch{}, fmt.Errorf("memory for %d rows: %w", rows, err)
		}
		s.all, s.bytes = append(s.all, *b.buffer), s.bytes+4*int64(b.words)
	}
	if err := s.pin(d, best); err != nil {
		s.free(d)
		return scratch{}, err
	}
	return s, nil
}

// pin sets hostPlan and hostBest.
func (s *scratch) pin(d Driver, best int) (err error) {
	pinner, ok := d.(Pinner)
	if !ok {
		return nil
	}
	if s.hostPlan, err = pinner.Pin(4 * s.words); err == nil && best > 0 {
		s.hostBest, err = pinner.Pin(4 * min(s.rows, mostFew) * bestWords(best))
	}
	return fromDevice(err)
}

// free gives the memory back.
func (s *scratch) free(d Driver) {
	for _, b := range s.all {
		d.Free(b)
	}
	for _, memory := range [][]byte{s.hostPlan, s.hostBest} {
		if memory != nil {
			d.(Pinner).Unpin(memory)
		}
	}
	*s = scratch{}
}
