package sample

// Top-p: the likeliest ids that have a probability together, found without sorting the vocabulary.

import (
	"math"
	"slices"

	"picogpt/internal/option"
	"picogpt/kernels"
)

func topPStep() step {
	return step{
		name: "top-p", kind: filter, do: (*Sampler).keepTopP,
		on: func(p *Params) bool { return p.TopP != 0 && p.TopP != 1 },
		table: func(p *Params) []option.Option {
			return []option.Option{{
				Name: "top-p", Value: &p.TopP, Range: option.Range{To: 1},
				Want: "a number from 0 to 1 (off)", Default: "1", In: option.Corpus,
				Settle: func() { leastForZero(&p.TopP) },
				Flag: option.Flag{Name: "top-p", Holder: "P", Group: option.WhichOnes,
					Others: "nucleus p", Help: "choose among the likeliest tokens that have the " +
						"probability P together; 1 is no limit"},
				Field: option.Field{Name: "top_p"},
				Setting: option.Setting{Group: "Filters", Label: "Top-p",
					Min: 0.01, Max: 1, Step: 0.01,
					Help: "Only the likeliest tokens that together have this probability. 1 is off."},
			}}
		},
	}
}

// leastForZero makes a 0 the smallest number: as in Hugging Face, a filter that is written as 0
// leaves one token, or those that equal it. In Params 0 is off.
func leastForZero(x *float64) {
	if *x == 0 {
		*x = math.SmallestNonzeroFloat64
	}
}

// keepTopP removes the least likely ids whose mass together is at most 1-p: an id stays if the mass
// of those before it in order of likelihood is below p. Sums in that order decide, and each of them
// is rounded. A sum in another order tells as much, unless it comes too close to p.
func (s *Sampler) keepTopP() {
	s.ready()
	if s.least > 1 {
		s.keepTopPInOrder(s.params.TopP * s.mass)
		return
	}
	want, n := s.params.TopP*s.mass, float64(len(s.scores))
	// Twice what rounding can do to two sums of n terms that are near want.
	close := want * n * 0x1p-50
	low, high := s.bracket(s.mass - want)
	s.dropBelow(low, want+2*close)
	least, above, found := s.reach(s.scores, s.weights, want, low, high)
	if !found {
		s.keepTopPInOrder(want)
		return
	}
	// Of those equal to the least, the lowest ids stay, as many as it takes.
	equals := s.within(s.scores, least, math.Nextafter(least, math.Inf(1)))
	weight := s.weights[equals[0]]
	stay := math.Ceil((want - above) / weight)
	if above+(stay-1)*weight > want-close || above+stay*weight < want+close {
		s.keepTopPInOrder(want)
		return
	}
	for _, place := range equals[int(stay):] {
		s.weights[place], s.zeros = 0, true
	}
	s.keepFrom(s.scores, least)
}

// dropBelow removes the scores below low, if they are many and the others have that weight: what
// follows then has few to look at.
func (s *Sampler) dropBelow(low, weight float64) {
	places := s.within(s.scores, low, math.Inf(1))
	if 4*len(places) > len(s.scores) {
		return
	}
	sum := 0.0
	for _, place := range places {
		sum += s.weights[place]
	}
	if sum > weight {
		s.narrow(places)
	}
}

// bracket guesses, from a sample of the scores, two of them between which top-p ends that is to
// remove so much mass. The tail of a distribution is made of many ids, so a sample knows it well.
func (s *Sampler) bracket(remove float64) (low, high float64) {
	const every, buckets = 32, 256
	bottom := s.largest + float64(s.by*kernels.Log64(remove/2/float64(len(s.scores))))
	scale := buckets / (s.largest - bottom)
	if !(0 < scale && scale < math.MaxFloat64) {
		return math.Inf(-1), math.Inf(1)
	}
	var sums [buckets + 1]float64 // from the largest score down, and in the end what is below bottom
	for i := 0; i < len(s.scores); i += every {
		sums[int(min((s.largest-s.scores[i])*scale, buckets))] += every * s.weights[i]
	}
	// From 0.7 to 1.4 of the mass: what such a sample can be wrong by.
	low, high = bottom, math.Inf(1)
	tail := 0.0
	for i := buckets; i >= 0; i-- {
		tail += sums[i]
		if tail < 0.7*remove {
			low = s.largest - float64(i)/scale
		} else if tail > 1.4*remove {
			return low, s.largest - float64(i)/scale
		}
	}
	return low, high
}

// keepTopPInOrder is keepTopP by the sums that decide: it sorts, which takes far longer.
func (s *Sampler) keepTopPInOrder(want float64) {
	places := s.inOrder()
	before := 0.0
	for i, place := range places {
		if before >= want && i >= s.least {
			places = places[:i]
			break
		}
		before += s.weights[place]
	}
	slices.Sort(places)
	s.keep(places)
}
