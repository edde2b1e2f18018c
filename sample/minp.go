package sample

// Min-p: the ids that are likely enough beside the likeliest.

import "picogpt/kernels"

// keepMinP removes the ids less likely than MinP times the likeliest, whose weight is 1.
func (s *Sampler) keepMinP() {
	s.ready()
	if s.llama {
		// llama.cpp compares logits, which rounds otherwise.
		s.keep(s.atLeast(s.scores, s.largest+float64(s.by*kernels.Log64(s.params.MinP))))
		return
	}
	if s.least == 1 {
		s.keepFrom(s.weights, s.params.MinP)
		return
	}
	s.keepOr(s.atLeast(s.weights, s.params.MinP))
}
