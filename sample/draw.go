package sample

// Weights of the ids that may be drawn, and the draw.

import (
	"math/rand/v2"
	"slices"

	"picogpt/kernels"
)

// likeliest returns the place of the largest score, of equal ones that of the lowest id.
func (s *Sampler) likeliest() int {
	const run = kernels.MaximaRun
	s.maxima = resized(s.maxima, (len(s.scores)+run-1)/run)
	s.Leaves.Maxima(s.maxima, s.scores)
	best := 0
	for i, x := range s.maxima {
		if x > s.maxima[best] {
			best = i
		}
	}
	return best*run + slices.Index(s.scores[best*run:], s.maxima[best])
}

// maximum returns the largest number of x, which has at least one.
func (s *Sampler) maximum(x []float64) float64 {
	s.runs = resized(s.runs, (len(x)+kernels.MaximaRun-1)/kernels.MaximaRun)
	s.Leaves.Maxima(s.runs, x)
	return slices.Max(s.runs)
}

// weigh computes the weights of the kept ids, and their sum. It subtracts the largest score first:
// exp cannot overflow, nor can a tiny temperature make Inf - Inf.
func (s *Sampler) weigh() {
	s.weighed = true
	s.weights, s.mass = resized(s.weights, len(s.scores)), 0
	for i := 0; i < len(s.scores); i += stretch {
		end := min(i+stretch, len(s.scores))
		s.Leaves.Exp64s(s.weights[i:end], s.scores[i:end], s.largest, s.by)
		s.mass = s.Leaves.Sum64(s.weights[i:end], s.mass)
	}
}

// stretch is how many weights are computed together, so that they stay in the first-level cache.
const stretch = 1024

// need computes the weights of the kept ids, unless they are known.
func (s *Sampler) need() {
	if !s.weighed {
		s.weigh()
	}
}

// draw draws a place of kept, with one random number.
func (s *Sampler) draw() int {
	at := uniform(&s.State.random) * s.mass // [0, mass)
	// The weights before the drawn place sum to at most at. Find the stretch that has that place,
	// then the place.
	below, from := 0.0, 0
	for from+stretch < len(s.weights) {
		next := s.Leaves.Sum64(s.weights[from:from+stretch], below)
		if at < next {
			break
		}
		below, from = next, from+stretch
	}
	for i, weight := range s.weights[from:] {
		below += weight
		if at < below {
			return from + i
		}
	}
	// Not reached: below ends as the mass, term by term, and at is less than the mass even after
	// rounding.
	return len(s.weights) - 1
}

// uniform returns the next number of [0, 1).
func uniform(random *rand.PCG) float64 { return float64(random.Uint64()>>11) * 0x1p-53 }
