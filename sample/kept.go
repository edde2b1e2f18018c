package sample

// The ids that may still be drawn, those that never may, and the memory for them.

import (
	"math"
	"slices"
	"sync"
)

// kept holds the ids that may still be drawn, those of a weight above 0, in ascending order. A
// place is an index into its slices.
type kept struct {
	all     bool      // ids is not filled: the id at a place is the place
	ids     []int32   // [len(scores)]
	scores  []float64 // logits after the steps so far; -Inf for ids that may not be drawn
	weights []float64 // probabilities times a common factor: the likeliest id has weight 1
	largest float64   // of the scores
	by      float64   // the temperature of the weights
	weighed bool      // the weights and the mass are those of the scores
	holes   bool      // some scores may be -Inf
	zeros   bool      // some weights are 0 because their ids are removed
	whole   int       // how many scores there were at first
	mass    float64   // the sum of the weights, in ascending order of ids
}

// id returns the id at a place.
func (k *kept) id(place int) int {
	if k.all {
		return place
	}
	return int(k.ids[place])
}

// narrow removes all places but the given ones, which ascend.
func (s *scratch) narrow(places []int32) {
	if len(places) == len(s.scores) {
		return
	}
	if s.all {
		s.ids = append(slices.Grow(s.ids[:0], len(s.scores)), places...)
	} else {
		for i, place := range places {
			s.ids[i] = s.ids[place]
		}
	}
	s.all = false
	s.scores, s.weights = gathered(s.scores, places), gathered(s.weights, places)
}

// gathered moves the numbers at the given places, which ascend, to the beginning of x.
func gathered(x []float64, places []int32) []float64 {
	if len(x) == 0 { // the weights are not known yet
		return x
	}
	for i, place := range places {
		x[i] = x[place]
	}
	return x[:len(places)]
}

// within returns the places i for which least <= x[i] < below.
func (s *Sampler) within(x []float64, least, below float64) []int32 {
	s.places = resized(s.places, len(x))
	return s.places[:s.Leaves.Within(s.places, x, least, below)]
}

// atLeast returns the places i for which x[i] >= least.
func (s *Sampler) atLeast(x []float64, least float64) []int32 {
	return s.within(x, least, math.Inf(1))
}

// removeBelow removes the ids whose x, their scores or weights, is below least. Where most ids
// stay, the others only lose their weight, which takes less time.
func (s *Sampler) removeBelow(x []float64, least float64) {
	if places := s.atLeast(x, least); 2*len(places) < len(x) {
		s.narrow(places)
	} else if len(places) < len(x) {
		s.zeros = true
		for _, place := range s.within(x, math.Inf(-1), least) {
			s.weights[place] = 0
		}
	}
	s.mass = s.Leaves.Sum64(s.weights, 0)
}

// dropZeros removes the ids whose weight is 0.
func (s *Sampler) dropZeros() {
	if s.zeros {
		s.keep(s.atLeast(s.weights, math.SmallestNonzeroFloat64))
		s.zeros = false
	}
}

// keep removes all places but the given ones, which ascend.
func (s *Sampler) keep(places []int32) {
	s.narrow(places)
	if s.weighed {
		s.mass = s.Leaves.Sum64(s.weights, 0)
	}
}

// removeShut removes the ids whose score is -Inf.
func (s *Sampler) removeShut() {
	if s.holes {
		s.keep(s.atLeast(s.scores, -math.MaxFloat64))
		s.holes = false
	}
}

// ready brings the weights and the mass up to date.
func (s *Sampler) ready() {
	s.removeShut()
	s.weigh()
}

// keepOrLikeliest removes all places but the given ones. Where those are fewer than s.least, it
// keeps the likeliest s.least ids instead.
func (s *Sampler) keepOrLikeliest(places []int32) {
	if len(places) >= min(s.least, len(s.scores)) {
		s.keep(places)
		return
	}
	s.keepLikeliest(s.least)
}

// place returns the place of an id; ok is false if the id is not kept.
func (k *kept) place(id int) (place int, ok bool) {
	if k.all {
		return id, 0 <= id && id < len(k.scores)
	}
	return slices.BinarySearch(k.ids[:len(k.scores)], int32(id))
}

// change replaces the score of an id that may be drawn by a finite one: penalties cannot make it
// infinite.
func (k *kept) change(place int, score float64) {
	const most = 1e307
	if !math.IsInf(k.scores[place], -1) {
		k.scores[place] = max(-most, min(score, most))
	}
}

// shut makes ids some that are never drawn.
func (k *kept) shut(ids ...int) {
	for _, id := range ids {
		if place, ok := k.place(id); ok {
			k.scores[place], k.holes = math.Inf(-1), true
		}
	}
}

// maskSteps come before all others: they remove ids, whatever their scores are.
var maskSteps = []step{
	{name: "vocabulary", do: func(s *Sampler) { s.shut(s.gaps...) }},
	{name: "constraint", do: func(s *Sampler) { s.shutBut(s.Open) }},
	{name: "ban", do: func(s *Sampler) {
		if s.shut(s.Barred...); s.Barred != nil {
			s.note("ban")
		}
	}},
	{name: "allowed tokens", do: func(s *Sampler) {
		if s.shutBut(s.allowed); s.allowed != nil {
			s.note("allowed tokens")
		}
	}},
}

// allowedMask returns Params.Allowed as a mask; nil if all ids are.
func (p *Params) allowedMask() []uint64 {
	if len(p.Allowed) == 0 {
		return nil
	}
	mask := make([]uint64, slices.Max(p.Allowed)/64+1)
	for _, id := range p.Allowed {
		mask[id/64] |= 1 << (id % 64)
	}
	return mask
}

// shutBut removes the ids whose bits are not set in a mask. Nil has all of them set, and bits beyond
// its end are not.
func (s *Sampler) shutBut(open []uint64) {
	if open == nil {
		return
	}
	s.holes = true
	for id := min(64*len(open), len(s.scores)); id < len(s.scores); id++ {
		s.scores[id] = math.Inf(-1)
	}
	for i, word := range open {
		if word == math.MaxUint64 || 64*i >= len(s.scores) {
			continue
		}
		scores := s.scores[64*i : min(64*i+64, len(s.scores))]
		for j := range scores {
			if word&1 == 0 {
				scores[j] = math.Inf(-1)
			}
			word >>= 1
		}
	}
}

// NewMask returns memory for Open, with a bit for each of so many ids; its contents are undefined.
// It is valid until the next call for a sampler with the same memory.
func (s *Sampler) NewMask(ids int) []uint64 {
	s.mask = resized(s.mask, (ids+63)/64)
	return s.mask
}

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
