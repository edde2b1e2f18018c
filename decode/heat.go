package decode

// The temperature, fixed or by the entropy, and top-n-sigma, which needs none.

import (
	"math"

	"picogpt/kernels"
)

// heat sets the temperature of the weights.
func (s *Sampler) heat() {
	s.by, s.weighed = s.options.Temperature, false
	if s.options.TempRange == 0 {
		return
	}
	if s.by = s.dynamic(); s.by == 0 {
		s.by = 1
		s.keepLikeliest(1)
	}
}

// dynamic returns the temperature that the entropy gives (llama.cpp's dynatemp).
func (s *Sampler) dynamic() float64 {
	o := &s.options
	s.by = 1
	s.ready()
	s.weighed = false
	if len(s.scores) < 2 {
		return o.Temperature
	}
	entropy, _ := s.entropy()
	low, high := max(0, o.Temperature-o.TempRange), o.Temperature+o.TempRange
	share := max(0, min(1, entropy/kernels.Log64(float64(len(s.scores)))))
	return low + float64((high-low)*power(share, o.TempExponent))
}

// power returns x to the power of y, for x above 0, or 0 and y of 0 or more: the same bits
// everywhere, unlike math.Pow.
func power(x, y float64) float64 {
	switch {
	case y == 0 || x == 1:
		return 1
	case x == 0:
		return 0
	}
	return kernels.Exp64(float64(y * kernels.Log64(x)))
}

// keepTopNSigma removes the ids whose score is further below the largest than TopNSigma times the
// standard deviation of the scores.
func (s *Sampler) keepTopNSigma() {
	s.keepOpen()
	n, sum := float64(len(s.scores)), 0.0
	for _, x := range s.scores {
		sum += x
	}
	mean, squares := sum/n, 0.0
	s.terms = resized(s.terms, min(stretch, len(s.scores)))
	for i := 0; i < len(s.scores); i += stretch {
		scores := s.scores[i:min(i+stretch, len(s.scores))]
		terms := s.terms[:len(scores)]
		for j, x := range scores {
			terms[j] = (x - mean) * (x - mean)
		}
		squares = s.leaves.Sum64(terms, squares)
	}
	deviation := math.Sqrt(squares / n)
	s.keep(s.atLeast(s.scores, s.largest-float64(s.options.TopNSigma*deviation)))
}
