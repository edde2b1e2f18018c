package sample

// Memory for the choices of samplers that run together.

import (
	"slices"
	"sync"
)

// scratch is the working memory of a choice; nothing in it outlives the choice.
type scratch struct {
	kept
	maxima []float64 // of each run of scores, before any filter; empty once scores change
	runs   []float64 // maxima of runs of other numbers
	terms  []float64 // [up to stretch] of a sum
	places []int32   // places of kept that a filter leaves
	items  []item    // the last few that reach searches

	mask     []uint64  // the ids that a constraint allows
	context  []int     // the tokens before the choice
	rows     int       // one more than the largest id that has a logit
	counts   []int32   // by id, 0 between uses
	repeats  []int     // DRY's lengths of repetitions
	nearness []float64 // distance of each surprise from the entropy
}

// A Pool is working memory for samplers that run together. It grows with the number of choices made
// at the same time, not with the number of samplers. The zero value is empty.
type Pool struct {
	mu   sync.Mutex
	free []*scratch
}

// Lend gives a sampler memory to choose in, until Return. With a nil Pool it keeps its own.
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

// Return takes back the memory that Lend gave to a sampler.
func (p *Pool) Return(s *Sampler) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append(p.free, s.scratch)
}

// resized returns a slice of length n in b's memory, or in new memory if b is too small.
func resized[T any](b []T, n int) []T { return slices.Grow(b[:0], n)[:n] }
