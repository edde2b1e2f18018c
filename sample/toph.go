package sample

// Top-h: the likeliest ids that have a share of the entropy.

import (
	"slices"

	"picogpt/kernels"
)

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
