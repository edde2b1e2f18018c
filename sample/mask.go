package sample

// Ids that may not be drawn, whatever their scores are.

import (
	"math"
	"slices"
)

// shutMasked removes the ids that the constraint does not allow.
func (s *Sampler) shutMasked() { s.shutBut(s.Open) }

// shutOthers removes the ids that are not among Params.Allowed.
func (s *Sampler) shutOthers() {
	if s.shutBut(s.allowed); s.allowed != nil {
		s.note("allowed tokens")
	}
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

// shutGaps removes the ids that the vocabulary does not have.
func (s *Sampler) shutGaps() {
	for _, id := range s.gaps {
		s.shutID(id)
	}
}

// NewMask returns memory for Open, with a bit for each of so many ids; its contents are undefined.
// It is valid until the next call for a sampler with the same memory.
func (s *Sampler) NewMask(ids int) []uint64 {
	s.mask = resized(s.mask, (ids+63)/64)
	return s.mask
}

// shutBarred removes the ids of Barred.
func (s *Sampler) shutBarred() {
	for _, id := range s.Barred {
		s.shutID(id)
	}
	if s.Barred != nil {
		s.note("ban")
	}
}

// maskSteps returns the steps that come before all others: they remove ids, whatever their scores
// are.
func maskSteps() []step {
	always := func(*Params) bool { return true }
	return []step{
		{name: "vocabulary", on: always, do: (*Sampler).shutGaps},
		{name: "constraint", on: always, do: (*Sampler).shutMasked},
		{name: "ban", on: always, do: (*Sampler).shutBarred},
		{name: "allowed tokens", on: always, do: (*Sampler).shutOthers},
	}
}
