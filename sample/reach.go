package sample

// Selection: how far down the scores a sum of weights reaches, found without sorting.

import "math"

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
