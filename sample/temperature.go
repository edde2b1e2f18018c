package sample

// The temperature, fixed or by the entropy.

import (
	"math"

	"picogpt/kernels"
)

// setTemperature sets the temperature of the weights.
func (s *Sampler) setTemperature() {
	s.by, s.weighed = s.params.Temperature, false
	if s.params.TempRange == 0 {
		return
	}
	if s.by = s.dynamic(); s.by == 0 {
		s.by = 1
		s.keepLikeliest(1)
	}
}

// divide divides the scores by a temperature that came before, for a step that adds to them.
func (s *Sampler) divide() {
	if s.by == 1 {
		return
	}
	size := 0.0
	for _, x := range s.scores {
		if !math.IsInf(x, -1) {
			size = max(size, math.Abs(x))
		}
	}
	const most = 1e300 // where no quotient is infinite, such temperatures leave the likeliest only
	by := max(s.by, size/most)
	for i := range s.scores {
		s.scores[i] /= by
	}
	s.largest, s.by, s.weighed = s.largest/by, 1, false
}

// dynamic returns the temperature that the entropy gives (llama.cpp's dynatemp).
func (s *Sampler) dynamic() float64 {
	o := &s.params
	s.by = 1
	s.ready()
	s.weighed = false
	if len(s.scores) < 2 {
		return o.Temperature
	}
	entropy, _ := s.entropy()
	low, high := max(0, o.Temperature-o.TempRange), min(o.Temperature+o.TempRange, math.MaxFloat64)
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
