package sample

// The ids that may still be drawn, from which the steps remove some.

import (
	"math"
	"slices"
)

// kept holds the ids that may still be drawn, those of a weight above 0, in ascending order. A
// place is an index into its slices.
type kept struct {
	all     bool      // ids is not filled: the id at a place is the place
	ids     []int32   // [len(scores)]
	scores  []float64 // logits after the steps so far; -Inf for ids that may not be drawn
	weights []float64 // probabilities times a common factor: the likeliest id has weight 1
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

// narrow removes all places but the given ones, which ascend.
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

// gathered moves the numbers at the given places, which ascend, to the beginning of x.
func gathered(x []float64, places []int32) []float64 {
	if len(x) == 0 { // the weights are not known yet
		return x
	}
	for i, place := range places {
		x[i] = x[place]
	}
	return x[:len(places)]
}

// within returns the places i for which least <= x[i] < below.
func (s *Sampler) within(x []float64, least, below float64) []int32 {
	s.places = resized(s.places, len(x))
	return s.places[:s.Leaves.Within(s.places, x, least, below)]
}

// atLeast returns the places i for which x[i] >= least.
func (s *Sampler) atLeast(x []float64, least float64) []int32 {
	return s.within(x, least, math.Inf(1))
}

// removeBelow removes the ids whose x, their scores or weights, is below least. Where most ids
// stay, the others only lose their weight, which takes less time.
func (s *Sampler) removeBelow(x []float64, least float64) {
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

// dropZeros removes the ids whose weight is 0.
func (s *Sampler) dropZeros() {
	if s.zeros {
		s.keep(s.atLeast(s.weights, math.SmallestNonzeroFloat64))
		s.zeros = false
	}
}

// keep removes all places but the given ones, which ascend.
func (s *Sampler) keep(places []int32) {
	s.narrow(places)
	if s.weighed {
		s.mass = s.Leaves.Sum64(s.weights, 0)
	}
}

// removeShut removes the ids whose score is -Inf.
func (s *Sampler) removeShut() {
	if s.holes {
		s.keep(s.atLeast(s.scores, -math.MaxFloat64))
		s.holes = false
	}
}

// ready brings the weights and the mass up to date.
func (s *Sampler) ready() {
	s.removeShut()
	s.need()
}

// keepOrLikeliest removes all places but the given ones. Where those are fewer than s.least, it
// keeps the likeliest s.least ids instead.
func (s *Sampler) keepOrLikeliest(places []int32) {
	if len(places) >= min(s.least, len(s.scores)) {
		s.keep(places)
		return
	}
	s.keepLikeliest(s.least)
}

// place returns the place of an id; ok is false if the id is not kept.
func (k *kept) place(id int) (place int, ok bool) {
	if k.all {
		return id, 0 <= id && id < len(k.scores)
	}
	return slices.BinarySearch(k.ids[:len(k.scores)], int32(id))
}

// change replaces the score of an id that may be drawn by a finite one: penalties cannot make it
// infinite.
func (k *kept) change(place int, score float64) {
	const most = 1e307
	if !math.IsInf(k.scores[place], -1) {
		k.scores[place] = max(-most, min(score, most))
	}
}

// shutID makes the id at a place one that is never drawn.
func (k *kept) shutID(id int) {
	if place, ok := k.place(id); ok {
		k.scores[place], k.holes = math.Inf(-1), true
	}
}
