package sample

// Ids that may not be drawn, whatever their scores are.

import "math"

// shutMasked removes the ids that the constraint does not allow.
func (s *Sampler) shutMasked() {
	if s.Open == nil {
		return
	}
	s.holes = true
	for i, word := range s.Open {
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
	}
}
