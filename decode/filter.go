package decode

// The filters of a sampler: top-k, top-p and min-p. Each finds the places of what stays without
// sorting the vocabulary.

import (
	"cmp"
	"math"
	"slices"

	"picogpt/kernels"
)

// kept is what may still be drawn, in ascending order of ids.
type kept struct {
	all     bool      // ids is not filled: each place is its id
	ids     []int32   // one for each score
	scores  []float64 // logits after the repetition penalty; -Inf for gaps
	weights []float64 // probabilities but for a common factor: the likeliest has weight 1
	largest float64   // of the scores
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

// atLeast returns the places of what is least or more.
func (s *Sampler) atLeast(x []float64, least float64) []int32 {
	s.places = resized(s.places, len(x))
	return s.places[:s.leaves.AtLeast(s.places, x, least)]
}

// keepTopK removes the ids below the k-th largest score, and gaps. Dividing by the temperature
// keeps the order, so it can wait until the ids are few.
func (s *Sampler) keepTopK() {
	s.weights = s.weights[:0]
	least := -math.MaxFloat64 // so that gaps are out
	switch k := s.topK; {
	case 0 < k && k < len(s.scores):
		if k < len(s.maxima) { // there are k scores at or above the k-th largest maximum
			s.narrow(s.atLeast(s.scores, s.kthLargest(s.maxima, k)))
		}
		least = max(least, s.kthLargest(s.scores, k))
	case len(s.gaps) == 0:
		return
	}
	s.narrow(s.atLeast(s.scores, least))
}

// kthLargest returns the k-th largest of x, for 0 < k <= len(x).
func (s *Sampler) kthLargest(x []float64, k int) float64 {
	s.weights = resized(s.weights, max(len(x), len(s.scores)))[:len(x)]
	for i := range s.weights {
		s.weights[i] = 1
	}
	score, _, _ := s.reach(x, s.weights, float64(k))
	s.weights = s.weights[:0]
	return score
}

// keepTopP removes the least likely ids whose mass together is at most 1-p: an id stays if the mass
// of those before it in order of likelihood is below p. Sums in that order decide, and each of them
// is rounded. A sum in another order tells as much, unless it comes too close to p.
func (s *Sampler) keepTopP() {
	if s.topP == 0 || s.topP == 1 {
		return
	}
	want, n := s.topP*s.mass, float64(len(s.scores))
	// Twice what rounding can do to two sums of n terms that are near want.
	close := want * n * 0x1p-50
	s.dropUnlikely(s.mass-want, close)
	least, above, found := s.reach(s.scores, s.weights, want)
	if !found {
		s.keepTopPInOrder(want)
		return
	}
	// Of those equal to the least, the lowest ids stay, as many as it takes.
	weight := s.weights[slices.Index(s.scores, least)]
	equals := math.Ceil((want - above) / weight)
	if above+(equals-1)*weight > want-close || above+equals*weight < want+close {
		s.keepTopPInOrder(want)
		return
	}
	places := s.atLeast(s.scores, least)
	stay := places[:0]
	for _, place := range places {
		if s.scores[place] == least {
			if equals--; equals < 0 {
				continue
			}
		}
		stay = append(stay, place)
	}
	s.narrow(stay)
	s.mass = s.leaves.Sum64(s.weights, 0)
}

// dropUnlikely removes ids at the unlikely end, all together less likely than what top-p is to
// remove, so that what follows has few to look at. Not even rounding makes one of them stay: see
// close in keepTopP.
func (s *Sampler) dropUnlikely(remove, close float64) {
	if remove < 4*close {
		return
	}
	if places := s.atLeast(s.scores, s.scoreOf(s.guess(remove))); len(places) < len(s.scores) {
		left := 0.0
		for _, place := range places {
			left += s.weights[place]
		}
		if s.mass-left < remove-2*close {
			s.narrow(places)
			return
		}
	}
	// Too many. Ids that are less likely than this have half of it at most, all together.
	s.narrow(s.atLeast(s.scores, s.scoreOf(remove/2/float64(len(s.scores)))))
}

// scoreOf returns the score of a weight.
func (s *Sampler) scoreOf(weight float64) float64 {
	return s.largest + s.temperature*kernels.Log64(weight)
}

// guess returns a power of two such that the weights below it, by a sample of them, are together a
// little less than remove.
func (s *Sampler) guess(remove float64) float64 {
	const every, powers = 32, 64
	var sums [powers]float64 // of weights from 2^(-i-1) to 2^-i
	for i := 0; i < len(s.weights); i += every {
		power := 1022 - int(math.Float64bits(s.weights[i])>>52)
		sums[max(0, min(power, powers-1))] += s.weights[i]
	}
	left, i := 0.75/every*remove, powers
	for i > 0 && left > sums[i-1] {
		i--
		left -= sums[i]
	}
	return math.Ldexp(1, -i)
}

// keepTopPInOrder is keepTopP by the sums that decide: it sorts, which takes far longer.
func (s *Sampler) keepTopPInOrder(want float64) {
	places := s.atLeast(s.scores, math.Inf(-1)) // all
	slices.SortFunc(places, func(a, b int32) int {
		return cmp.Or(cmp.Compare(s.scores[b], s.scores[a]), cmp.Compare(a, b))
	})
	before := 0.0
	for i, place := range places {
		if before >= want {
			places = places[:i]
			break
		}
		before += s.weights[place]
	}
	slices.Sort(places)
	s.narrow(places)
	s.mass = s.leaves.Sum64(s.weights, 0)
}

// keepMinP removes the ids less likely than MinP times the likeliest, whose weight is 1.
func (s *Sampler) keepMinP() {
	if s.minP == 0 {
		return
	}
	s.narrow(s.atLeast(s.weights, s.minP))
	s.mass = s.leaves.Sum64(s.weights, 0)
}
