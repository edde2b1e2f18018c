package sample

// What may still be drawn, from which the steps remove ids.

import (
	"math"
	"slices"
)

// kept is what may still be drawn, in ascending order of ids: those whose weight is not 0.
type kept struct {
	all     bool      // ids is not filled: each place is its id
	ids     []int32   // one for each score
	scores  []float64 // logits after the repetition penalty; -Inf for what may not be drawn
	weights []float64 // probabilities but for a common factor: the likeliest has weight 1
	largest float64   // of the scores
	by      float64   // the temperature of the weights
	weighed bool      // the weights and the mass are those of the scores
	holes   bool      // some scores may be -Inf
	zeros   bool      // some weights are 0 because their ids are removed
	whole   int       // how many scores there were at first
	mass    float64   // the sum of the weights, in ascending order of ids
}

// id returns the id at a place.
func (k *kept) id(place int) int {
	if k.all {
		return place
	}
	return int(k.ids[place])
}

// narrow removes all but some places, which ascend.
func (s *scratch) narrow(places []int32) {
	if len(places) == len(s.scores) {
		return
	}
	if s.all {
		s.ids = append(slices.Grow(s.ids[:0], len(s.scores)), places...)
	} else {
		for i, place := range places {
			s.ids[i] = s.ids[place]
		}
	}
	s.all = false
	s.scores, s.weights = gathered(s.scores, places), gathered(s.weights, places)
}

// gathered moves what lies at some places, which ascend, to the beginning of x.
func gathered(x []float64, places []int32) []float64 {
	if len(x) == 0 { // weights that are not known yet
		return x
	}
	for i, place := range places {
		x[i] = x[place]
	}
	return x[:len(places)]
}

// within returns the places of what is least or more, and below a bound.
func (s *Sampler) within(x []float64, least, below float64) []int32 {
	s.places = resized(s.places, len(x))
	return s.places[:s.Leaves.Within(s.places, x, least, below)]
}

// atLeast returns the places of what is least or more.
func (s *Sampler) atLeast(x []float64, least float64) []int32 {
	return s.within(x, least, math.Inf(1))
}

// keepFrom removes the ids whose x, their scores or weights, is below least. Where most stay, the
// others only lose their weight, which takes less time.
func (s *Sampler) keepFrom(x []float64, least float64) {
	if places := s.atLeast(x, least); 2*len(places) < len(x) {
		s.narrow(places)
	} else if len(places) < len(x) {
		s.zeros = true
		for _, place := range s.within(x, math.Inf(-1), least) {
			s.weights[place] = 0
		}
	}
	s.mass = s.Leaves.Sum64(s.weights, 0)
}

// dropZeros removes the ids that have lost their weight.
func (s *Sampler) dropZeros() {
	if s.zeros {
		s.keep(s.atLeast(s.weights, math.SmallestNonzeroFloat64))
		s.zeros = false
	}
}

// keep removes all but some places, which ascend.
func (s *Sampler) keep(places []int32) {
	s.narrow(places)
	if s.weighed {
		s.mass = s.Leaves.Sum64(s.weights, 0)
	}
}

// keepOpen removes the ids that are never drawn.
func (s *Sampler) keepOpen() {
	if s.holes {
		s.keep(s.atLeast(s.scores, -math.MaxFloat64))
		s.holes = false
	}
}

// ready makes weights of what may be drawn.
func (s *Sampler) ready() {
	s.keepOpen()
	s.need()
}

// keepOr removes all but some places, unless they are fewer than every filter keeps: then the
// likeliest stay.
func (s *Sampler) keepOr(places []int32) {
	if len(places) >= min(s.least, len(s.scores)) {
		s.keep(places)
		return
	}
	s.keepLikeliest(s.least)
}

// place returns the place of an id, if it is kept.
func (k *kept) place(id int) (place int, ok bool) {
	if k.all {
		return id, 0 <= id && id < len(k.scores)
	}
	return slices.BinarySearch(k.ids[:len(k.scores)], int32(id))
}

// change replaces the score of an id that may be drawn by a finite one, whatever a penalty comes to.
func (k *kept) change(place int, score float64) {
	const most = 1e307
	if !math.IsInf(k.scores[place], -1) {
		k.scores[place] = max(-most, min(score, most))
	}
}

// shutID makes an id one that is never drawn.
func (k *kept) shutID(id int) {
	if place, ok := k.place(id); ok {
		k.scores[place], k.holes = math.Inf(-1), true
	}
}
