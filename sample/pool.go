package sample

// Memory for the choices of samplers that run together.

import (
	"slices"
	"sync"
)

// scratch is memory that a choice works in and leaves behind.
type scratch struct {
	kept
	maxima []float64 // of each run of scores, before any filter, or none where they have changed
	runs   []float64 // the maximum of each run of something else
	terms  []float64 // [up to stretch] of a sum
	places []int32   // in kept, of what a filter leaves
	items  []item    // what reach searches in the end

	mask     []uint64  // what a constraint leaves
	context  []int     // that the scores follow
	rows     int       // above all ids that have logits
	counts   []int32   // for each id, 0 between uses
	repeats  []int     // what DRY compares
	nearness []float64 // of each score, to what is typical
}

// A Pool is memory for the choices of samplers that run together: as much as is in use at a time,
// and not as much as there are samplers. The zero value is empty.
type Pool struct {
	mu   sync.Mutex
	free []*scratch
}

// Lend gives a sampler memory to choose in, until Return. A nil Pool leaves it its own.
func (p *Pool) Lend(s *Sampler) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.free)
	if n == 0 {
		s.scratch = &scratch{}
		return
	}
	s.scratch = p.free[n-1]
	p.free = p.free[:n-1]
}

// Return takes back the memory that was lent to a sampler.
func (p *Pool) Return(s *Sampler) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append(p.free, s.scratch)
}

// resized returns a slice of length n in b's memory, or in new memory if that has too little room.
func resized[T any](b []T, n int) []T { return slices.Grow(b[:0], n)[:n] }
