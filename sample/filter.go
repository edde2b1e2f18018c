package sample

// The filters of a sampler: top-k, top-p and min-p. Each finds the places of what stays without
// sorting the vocabulary.

import (
	"cmp"
	"math"
	"slices"

	"picogpt/kernels"
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

// keepTopK removes the ids below the k-th largest score, and those that are never drawn. Dividing
// by the temperature keeps the order, so it can wait until the ids are few.
func (s *Sampler) keepTopK() {
	least := -math.MaxFloat64
	switch k := max(s.params.TopK, s.least); {
	case k < len(s.scores):
		// There are k scores at or above the k-th largest maximum.
		if len(s.scores) == s.whole && k < len(s.maxima) {
			s.narrow(s.atLeast(s.scores, s.kthLargest(s.maxima, k)))
		}
		least = max(least, s.kthLargest(s.scores, k))
	case !s.holes:
		return
	}
	s.weighed = false
	s.keep(s.atLeast(s.scores, least))
	s.holes = false
	if s.llama {
		s.keepLikeliest(s.params.TopK)
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

// keepLikeliest keeps k ids of the largest scores, of equal ones the lowest ids.
func (s *Sampler) keepLikeliest(k int) {
	if len(s.scores) <= k {
		return
	}
	places := s.inOrder()[:k]
	slices.Sort(places)
	s.keep(places)
}

// inOrder returns all places, those of the largest scores first.
func (s *Sampler) inOrder() []int32 {
	places := s.atLeast(s.scores, math.Inf(-1))
	slices.SortFunc(places, func(a, b int32) int {
		return cmp.Or(cmp.Compare(s.scores[b], s.scores[a]), cmp.Compare(a, b))
	})
	return places
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

// kthLargest returns the k-th largest of x, for 0 < k <= len(x).
func (s *Sampler) kthLargest(x []float64, k int) float64 {
	s.weights = resized(s.weights, max(len(x), len(s.scores)))[:len(x)]
	for i := range s.weights {
		s.weights[i] = 1
	}
	score, _, _ := s.reach(x, s.weights, float64(k), math.Inf(-1), math.Inf(1))
	s.weights = s.weights[:0]
	return score
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

// keepMinP removes the ids less likely than MinP times the likeliest, whose weight is 1.
func (s *Sampler) keepMinP() {
	s.ready()
	if s.llama {
		// llama.cpp compares logits, which rounds otherwise.
		s.keep(s.atLeast(s.scores, s.largest+float64(s.by*kernels.Log64(s.params.MinP))))
		return
	}
	if s.least == 1 {
		s.keepFrom(s.weights, s.params.MinP)
		return
	}
	s.keepOr(s.atLeast(s.weights, s.params.MinP))
}
