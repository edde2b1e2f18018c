package sample

// Epsilon and eta: the ids above a probability, which is fixed or falls with the entropy.

import (
	"math"

	"picogpt/kernels"
)

// keepEpsilon removes the ids less likely than Epsilon.
func (s *Sampler) keepEpsilon() {
	s.ready()
	s.keepLikely(s.params.Epsilon)
}

// keepEta removes the ids less likely than Eta, or than what the entropy makes of it if that is
// less.
func (s *Sampler) keepEta() {
	s.ready()
	entropy, _ := s.entropy()
	eta := s.params.Eta
	eta = min(eta, math.Sqrt(eta)*kernels.Exp64(-entropy))
	s.keepLikely(eta)
}

// keepLikely removes the ids less likely than p. Where fewer would stay than every filter keeps, it
// keeps those, and all that equal the last of them.
func (s *Sampler) keepLikely(p float64) {
	places := s.atLeast(s.weights, p*s.mass)
	if n := min(s.least, len(s.scores)); len(places) < n {
		least := s.scores[s.inOrder()[n-1]]
		places = s.atLeast(s.scores, least)
	}
	s.keep(places)
}
