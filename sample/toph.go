package sample

// Top-h: the likeliest ids that have a share of the entropy.

import (
	"slices"

	"picogpt/internal/option"
	"picogpt/kernels"
)

func topHStep() step {
	return step{
		name: "top-h", kind: filter, do: (*Sampler).applyTopH,
		on: func(p *Params) bool { return p.TopH != 0 },
		table: func(p *Params) []option.Option {
			return []option.Option{{
				Name: "top-h", Value: &p.TopH, Range: option.Range{To: 1},
				Want: "a number from 0 to 1", Default: "0",
				Flag: option.Flag{Name: "top-h", Holder: "H", Group: option.Filters,
					Help: "choose among the likeliest tokens that have the share H of the entropy; " +
						"0 is off"},
				Field: option.Field{Name: "top_h"},
				Setting: option.Setting{Group: "More filters", Label: "Top-h", Max: 1, Step: 0.01,
					Help: "Only the likeliest tokens, up to this part of the entropy. 0 is off."},
			}}
		},
	}
}

// mostTopH is how many ids top-h looks at.
const mostTopH = 100

// applyTopH keeps, of the 100 likeliest, the beginning whose share of their entropy is at most
// TopH.
func (s *Sampler) applyTopH() {
	s.removeShut()
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
	most += float64(most * 0x1p-40) // allows for rounding
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
