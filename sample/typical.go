package sample

// Filters by probability and entropy: typical, top-h, epsilon, eta.

import (
	"math"
	"slices"

	"picogpt/internal/option"
	"picogpt/kernels"
)

// typicalStep is typical: the ids whose surprise is nearest to the entropy.
var typicalStep = step{
	name: "typical", also: []string{"typ-p", "typical-p"}, kind: filter,
	do: (*Sampler).applyTypical, on: func(p *Params) bool { return p.Typical != 0 && p.Typical != 1 },
	table: func(p *Params) []option.Option {
		return []option.Option{{
			Name: "typical", Value: &p.Typical, Range: option.Range{To: 1},
			Want: "a number from 0 to 1", Default: "1", Saved: []string{"typical_p"},
			Settle: func() { leastForZero(&p.Typical) },
			Flag: option.Flag{Name: "typical", Holder: "P", Group: option.Filters,
				Others: "typical-p", Help: "choose among the tokens whose surprise is nearest to " +
					"what is expected, that have the probability P together; 1 is off"},
			Field: option.Field{Name: "typical_p"},
			Setting: option.Setting{Group: "More filters", Label: "Typical",
				Min: 0.01, Max: 1, Step: 0.01,
				Help: "Only tokens about as surprising as expected here, up to this " +
					"probability. 1 is off."},
		}}
	},
}

// applyTypical keeps the ids whose surprise is nearest to the entropy, as many as together have the
// probability Typical. The likeliest id can be removed.
func (s *Sampler) applyTypical() {
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
		s.applyTypicalLlama(want, least, above, found)
		return
	}
	if !found {
		return
	}
	places := s.atLeast(s.nearness, least)
	if len(places) < s.least {
		places = s.inOrder(s.nearness)[:min(s.least, len(s.scores))]
		slices.Sort(places)
	}
	s.keep(places)
	s.relevel()
}

// applyTypicalLlama is applyTypical by llama.cpp's definition: the shortest prefix, in order of
// nearness, of a probability above Typical, even if the next ids are as near. The rounded sums in
// that order decide. What reach found decides as well, unless a sum is too close to the wanted one.
func (s *Sampler) applyTypicalLlama(want, least, above float64, found bool) {
	// Twice the rounding error of two sums of so many terms that are near want.
	close := want * float64(len(s.scores)) * 0x1p-50
	if !found || above > want-close {
		s.sortTypical(want)
		return
	}
	// Of the ids as near as the least, the lowest come first.
	sum, last := above, int32(-1)
	for _, place := range s.within(s.nearness, least, math.Nextafter(least, math.Inf(1))) {
		if sum += s.weights[place]; sum > want-close {
			last = place
			break
		}
	}
	if last < 0 || sum < want+close {
		s.sortTypical(want)
		return
	}
	places := s.atLeast(s.nearness, least)
	s.keep(slices.DeleteFunc(places, func(place int32) bool {
		return s.nearness[place] == least && place > last
	}))
	s.relevel()
}

// sortTypical is applyTypicalLlama by the sums that decide: it sorts.
func (s *Sampler) sortTypical(want float64) {
	sum, places := 0.0, s.inOrder(s.nearness)
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

// topHStep is top-h: the likeliest ids that have a share of the entropy.
var topHStep = step{
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

// mostTopH is how many ids top-h looks at.
const mostTopH = 100

// applyTopH keeps, of the 100 likeliest, the beginning whose share of their entropy is at most
// TopH.
func (s *Sampler) applyTopH() {
	s.removeShut()
	s.keepTop(mostTopH)
	s.weigh()
	places := s.inOrder(s.scores)
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

// epsilonStep and etaStep are the ids above a probability, which is fixed or falls as the entropy
// rises.
var epsilonStep = step{
	name: "epsilon", also: []string{"epsilon-cutoff"}, kind: filter, do: (*Sampler).applyEpsilon,
	on: func(p *Params) bool { return p.Epsilon != 0 },
	table: func(p *Params) []option.Option {
		return []option.Option{{
			Name: "epsilon", Value: &p.Epsilon, Range: option.Range{To: belowOne},
			Want: "a number from 0 (off) to below 1", Default: "0", Saved: []string{"epsilon_cutoff"},
			Flag: option.Flag{Name: "epsilon", Holder: "P", Group: option.Filters,
				Others: "epsilon-cutoff",
				Help:   "choose among tokens at least P likely; 0 is off"},
			Field: option.Field{Name: "epsilon_cutoff"},
			Setting: option.Setting{Group: "More filters", Label: "Epsilon",
				Max: 0.5, Step: 0.001, Slider: 0.05,
				Help: "Only tokens at least so likely. 0 is off."},
		}}
	},
}

// belowOne is the largest number below 1. A limit of 1 would remove every token.
var belowOne = math.Nextafter(1, 0)

var etaStep = step{
	name: "eta", also: []string{"eta-cutoff"}, kind: filter, do: (*Sampler).applyEta,
	on: func(p *Params) bool { return p.Eta != 0 },
	table: func(p *Params) []option.Option {
		return []option.Option{{
			Name: "eta", Value: &p.Eta, Range: option.Range{To: belowOne},
			Want: "a number from 0 (off) to below 1", Default: "0", Saved: []string{"eta_cutoff"},
			Flag: option.Flag{Name: "eta", Holder: "P", Group: option.Filters,
				Others: "eta-cutoff",
				Help: "choose among tokens at least P likely, or less where the model is " +
					"unsure; 0 is off"},
			Field: option.Field{Name: "eta_cutoff"},
			Setting: option.Setting{Group: "More filters", Label: "Eta",
				Max: 0.5, Step: 0.001, Slider: 0.05,
				Help: "The same, less strict where the model is unsure. 0 is off."},
		}}
	},
}

// applyEpsilon removes the ids less likely than Epsilon.
func (s *Sampler) applyEpsilon() {
	s.ready()
	s.removeUnlikely(s.params.Epsilon)
}

// applyEta removes the ids less likely than Eta, or than sqrt(Eta)·exp(-entropy) if that is less.
func (s *Sampler) applyEta() {
	s.ready()
	entropy, _ := s.entropy()
	eta := s.params.Eta
	eta = min(eta, math.Sqrt(eta)*kernels.Exp64(-entropy))
	s.removeUnlikely(eta)
}

// removeUnlikely removes the ids less likely than p. Where fewer than s.least would stay, it keeps
// so many of the likeliest, and all that equal the last of them.
func (s *Sampler) removeUnlikely(p float64) {
	places := s.atLeast(s.weights, p*s.mass)
	if n := min(s.least, len(s.scores)); len(places) < n {
		least := s.scores[s.inOrder(s.scores)[n-1]]
		places = s.atLeast(s.scores, least)
	}
	s.keep(places)
}
