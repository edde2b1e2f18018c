package sample

// Filters that depend on how sure the model is, by the entropy of what may be drawn: typical, eta
// and top-h. Epsilon, eta's simpler relative, is here too.

import (
	"cmp"
	"math"
	"slices"

	"picogpt/kernels"
)

// entropy returns the entropy of what may be drawn, in nats, and the logarithm of the mass. The
// logarithm of a probability is a score at the temperature, less that.
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

// surprises sets terms to the weights times the logarithms of one over them, which are not below 0.
func (s *Sampler) surprises(terms, weights, scores []float64) {
	scores, terms = scores[:len(weights)], terms[:len(weights)]
	largest, by := s.largest, s.by
	for i, w := range weights {
		below := largest - scores[i]
		if by != 1 { // a division takes longer than all else
			below /= by
		}
		if terms[i] = w * below; w == 0 { // and below may be infinite
			terms[i] = 0
		}
	}
}

// logWeight returns the logarithm of the weight at a place, which is in proportion to the
// probability.
func (s *Sampler) logWeight(place int) float64 { return (s.scores[place] - s.largest) / s.by }

// relevel makes the largest score that of what is kept. Where the likeliest ids are gone, the
// weights of the others may be too small to draw from.
func (s *Sampler) relevel() {
	if largest := s.maximum(s.scores); largest != s.largest {
		s.largest, s.weighed = largest, false
	}
}

// keepTypical keeps the ids whose surprise is nearest to the entropy, as many as have the
// probability Typical together. The likeliest id can go.
func (s *Sampler) keepTypical() {
	s.ready()
	entropy, logMass := s.entropy()
	s.nearness = resized(s.nearness, len(s.scores))
	for i := range s.scores {
		s.nearness[i] = -math.Abs(logMass - s.logWeight(i) - entropy)
	}
	want := s.params.Typical * s.mass
	largest := s.largest
	s.largest = s.maximum(s.nearness)
	least, above, found := s.reach(s.nearness, s.weights, want, math.Inf(-1), math.Inf(1))
	s.largest = largest
	if s.llama {
		s.keepTypicalLlama(want, least, above, found)
		return
	}
	if !found {
		return
	}
	places := s.atLeast(s.nearness, least)
	if len(places) < s.least {
		places = s.nearest()[:min(s.least, len(s.scores))]
		slices.Sort(places)
	}
	s.keep(places)
	s.relevel()
}

// keepTypicalLlama is llama.cpp's keepTypical: the shortest beginning of the order of nearness that
// is likelier than Typical, whether the ids after it are as near or not. Sums in that order decide,
// and each of them is rounded. What reach found tells as much, unless a sum comes too close to what is
// wanted.
func (s *Sampler) keepTypicalLlama(want, least, above float64, found bool) {
	// Twice what rounding can do to two sums of so many terms that are near want.
	close := want * float64(len(s.scores)) * 0x1p-50
	if !found || above > want-close {
		s.keepTypicalInOrder(want)
		return
	}
	// Of those as near as the least, the lowest ids come first.
	sum, last := above, int32(-1)
	for _, place := range s.within(s.nearness, least, math.Nextafter(least, math.Inf(1))) {
		if sum += s.weights[place]; sum > want-close {
			last = place
			break
		}
	}
	if last < 0 || sum < want+close {
		s.keepTypicalInOrder(want)
		return
	}
	places := s.atLeast(s.nearness, least)
	s.keep(slices.DeleteFunc(places, func(place int32) bool {
		return s.nearness[place] == least && place > last
	}))
	s.relevel()
}

// keepTypicalInOrder is keepTypicalLlama by the sums that decide: it sorts.
func (s *Sampler) keepTypicalInOrder(want float64) {
	sum, places := 0.0, s.nearest()
	for i, place := range places {
		if sum += s.weights[place]; sum > want {
			places = places[:i+1]
			break
		}
	}
	slices.Sort(places)
	s.keep(places)
	s.relevel()
}

// nearest returns all places in the order of nearness.
func (s *Sampler) nearest() []int32 {
	places := s.atLeast(s.nearness, math.Inf(-1))
	slices.SortFunc(places, func(a, b int32) int {
		return cmp.Or(cmp.Compare(s.nearness[b], s.nearness[a]), cmp.Compare(a, b))
	})
	return places
}

// keepEpsilon removes the ids less likely than Epsilon.
func (s *Sampler) keepEpsilon() {
	s.ready()
	s.keepLikely(s.params.Epsilon)
}

// keepEta removes the ids less likely than Eta, or than what the entropy makes of it if that is
// less.
func (s *Sampler) keepEta() {
	s.ready()
	entropy, _ := s.entropy()
	eta := s.params.Eta
	eta = min(eta, math.Sqrt(eta)*kernels.Exp64(-entropy))
	s.keepLikely(eta)
}

// keepLikely removes the ids less likely than p. Where fewer would stay than every filter keeps, it
// keeps those, and all that equal the last of them.
func (s *Sampler) keepLikely(p float64) {
	places := s.atLeast(s.weights, p*s.mass)
	if n := min(s.least, len(s.scores)); len(places) < n {
		least := s.scores[s.inOrder()[n-1]]
		places = s.atLeast(s.scores, least)
	}
	s.keep(places)
}

// mostTopH is how many ids top-h looks at.
const mostTopH = 100

// keepTopH keeps, of the 100 likeliest, the beginning whose share of their entropy is at most TopH.
func (s *Sampler) keepTopH() {
	s.keepOpen()
	if len(s.scores) > mostTopH {
		least := s.kthLargest(s.scores, mostTopH)
		s.weighed = false
		s.keep(s.atLeast(s.scores, least))
	}
	s.need()
	places := s.inOrder()
	places = places[:min(mostTopH, len(places))]
	mass := 0.0
	for _, place := range places {
		mass += s.weights[place]
	}
	logMass := kernels.Log64(mass)
	surprise := func(place int32) float64 {
		p := s.weights[place] / mass
		if p == 0 {
			return 0
		}
		return float64(p * (logMass - s.logWeight(int(place))))
	}
	entropy := 0.0
	for _, place := range places {
		entropy += surprise(place)
	}
	most := s.params.TopH * entropy
	most += float64(most * 0x1p-40) // what is above by rounding only is not above
	through, n := 0.0, 0
	for n < len(places) {
		if through += surprise(places[n]); n > 0 && through > most {
			break
		}
		n++
	}
	places = places[:n]
	slices.Sort(places)
	s.keep(places)
}
