package sample

// Weights of the ids that may be drawn: their sums, their entropy, and the draw.

import (
	"math"
	"math/rand/v2"
	"slices"

	"picogpt/kernels"
)

// likeliest returns the place of the largest score, of equal ones that of the lowest id.
func (s *Sampler) likeliest() int {
	const run = kernels.MaximaRun
	s.maxima = resized(s.maxima, (len(s.scores)+run-1)/run)
	s.Leaves.Maxima(s.maxima, s.scores)
	best := kernels.Argmax(s.maxima)
	return best*run + slices.Index(s.scores[best*run:], s.maxima[best])
}

// maximum returns the largest number of x, which has at least one.
func (s *Sampler) maximum(x []float64) float64 {
	s.runs = resized(s.runs, (len(x)+kernels.MaximaRun-1)/kernels.MaximaRun)
	s.Leaves.Maxima(s.runs, x)
	return slices.Max(s.runs)
}

// weigh computes the weights of the kept ids, and their sum, unless they are known. It subtracts
// the largest score first: exp cannot overflow, nor can a tiny temperature make Inf - Inf.
func (s *Sampler) weigh() {
	if s.weighed {
		return
	}
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

// Selection: how far down the scores a sum of weights reaches, found without sorting.

// item is a score and its weight.
type item struct{ score, weight float64 }

// reach returns the greatest score such that the weights of the scores at or above it sum to want
// or more, and the sum of the weights above it. If all weights sum to less than want, found is
// false. The largest score is s.largest. It is fast if the result is in [low, high), which are -Inf
// and +Inf where nothing is known. Its sums are rounded in an order of their own.
//
// It halves the range of the scores, which takes one pass for each bit, at the speed of memory,
// until few scores are left. Only nearly equal scores stay many.
func (s *Sampler) reach(
	scores, weights []float64, want, low, high float64,
) (score, above float64, found bool) {
	if math.IsInf(low, -1) || s.Leaves.SumAtLeast(weights, scores, low) < want {
		low = s.largest
		for _, x := range scores {
			if x < low {
				low = x
			}
		}
	}
	if high <= s.largest {
		if above = s.Leaves.SumAtLeast(weights, scores, high); above >= want {
			low, high, above = high, math.Inf(1), 0
		}
	}
	places, passes := s.within(scores, low, high), mostPasses
	for len(places) > fewScores && passes > 0 {
		// Many scores may be equal.
		low = s.largest
		for _, place := range places {
			if x := scores[place]; x < low {
				low = x
			}
		}
		next := math.Nextafter(low, math.Inf(1))
		if sum := s.Leaves.SumAtLeast(weights, scores, next); sum < want {
			return low, sum, s.Leaves.SumAtLeast(weights, scores, low) >= want
		}
		for n := len(places); n > fewScores/16; n /= 2 {
			passes--
			middle := low/2 + min(high, s.largest)/2
			if sum := s.Leaves.SumAtLeast(weights, scores, middle); sum >= want {
				low = middle
			} else {
				high, above = middle, sum
			}
		}
		places = s.within(scores, low, high)
	}
	s.items = resized(s.items, max(len(scores), len(s.scores)))[:len(places)]
	for i, place := range places {
		s.items[i] = item{scores[place], weights[place]}
	}
	return quickselect(s.items, want, above)
}

const (
	fewScores  = 2048 // below it, quickselect is faster
	mostPasses = 64   // bounds the time where scores differ by many magnitudes
)

// quickselect is reach for few items, where above is the weight of the scores above all of them. It
// is Hoare's algorithm (1961) by weight, and reorders the items.
func quickselect(items []item, want, above float64) (score, sum float64, found bool) {
	state := uint64(len(items))
	for len(items) > 0 {
		pivot := medianOfThree(items, &state)
		greater, less := split(items, pivot)
		through := above + weightOf(items[:greater])
		if through >= want {
			items = items[:greater]
			continue
		}
		above = through
		if through += weightOf(items[greater:less]); through >= want {
			return pivot, above, true
		}
		above, items = through, items[less:]
	}
	return 0, above, false
}

// medianOfThree returns the median score of three random items. No order of the items makes that a
// bad choice repeatedly.
func medianOfThree(items []item, state *uint64) float64 {
	var s [3]float64
	for i := range s {
		*state = *state*6364136223846793005 + 1442695040888963407 // Knuth's MMIX
		s[i] = items[(*state>>33)%uint64(len(items))].score
	}
	return max(min(s[0], s[1]), min(max(s[0], s[1]), s[2]))
}

// split orders the items: first scores above the pivot, then, from greater on, those equal to it,
// then, from less on, those below it.
func split(items []item, pivot float64) (greater, less int) {
	less = len(items)
	for i := 0; i < less; {
		switch score := items[i].score; {
		case score > pivot:
			items[i], items[greater] = items[greater], items[i]
			greater++
			i++
		case score < pivot:
			less--
			items[i], items[less] = items[less], items[i]
		default:
			i++
		}
	}
	return greater, less
}

// weightOf returns the sum of the weights.
func weightOf(items []item) float64 {
	sum := 0.0
	for i := range items {
		sum += items[i].weight
	}
	return sum
}
