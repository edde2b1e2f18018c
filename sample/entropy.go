package sample

// The entropy of the ids that may be drawn: how unsure the model is.

import "picogpt/kernels"

// entropy returns the entropy of the ids that may be drawn, in nats, and the logarithm of the mass.
// The logarithm of a probability is its score divided by the temperature, minus logMass.
func (s *Sampler) entropy() (entropy, logMass float64) {
	logMass = kernels.Log64(s.mass)
	s.terms = resized(s.terms, min(stretch, len(s.weights)))
	sum := 0.0
	for i := 0; i < len(s.weights); i += stretch {
		end := min(i+stretch, len(s.weights))
		terms := s.terms[:end-i]
		s.surprises(terms, s.weights[i:end], s.scores[i:end])
		sum = s.Leaves.Sum64(terms, sum)
	}
	return logMass + sum/s.mass, logMass
}

// surprises sets terms[i] to weights[i] times ln(1/weights[i]), which is at least 0.
func (s *Sampler) surprises(terms, weights, scores []float64) {
	scores, terms = scores[:len(weights)], terms[:len(weights)]
	largest, by := s.largest, s.by
	for i, w := range weights {
		below := largest - scores[i]
		if by != 1 { // the division takes longer than the rest of the loop
			below /= by
		}
		if terms[i] = w * below; w == 0 { // below may be infinite
			terms[i] = 0
		}
	}
}

// logWeight returns the logarithm of the weight at a place. The weight is in proportion to the
// probability.
func (s *Sampler) logWeight(place int) float64 { return (s.scores[place] - s.largest) / s.by }

// relevel sets largest to the largest score that is kept. Where the likeliest ids are removed, the
// weights of the others may be too small to draw from.
func (s *Sampler) relevel() {
	if largest := s.maximum(s.scores); largest != s.largest {
		s.largest, s.weighed = largest, false
	}
}
