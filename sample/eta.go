package sample

// Epsilon and eta: the ids above a probability, which is fixed or falls as the entropy rises.

import (
	"math"

	"picogpt/internal/option"
	"picogpt/kernels"
)

func epsilonStep() step {
	return step{
		name: "epsilon", also: "epsilon-cutoff", kind: filter, do: (*Sampler).applyEpsilon,
		on: func(p *Params) bool { return p.Epsilon != 0 },
		table: func(p *Params) []option.Option {
			return []option.Option{{
				Name: "epsilon", Value: &p.Epsilon, Range: option.Range{To: belowOne},
				Want: "a number from 0 (off) to below 1", Default: "0",
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
}

// belowOne is the largest number below 1. A limit of 1 would remove every token.
var belowOne = math.Nextafter(1, 0)

func etaStep() step {
	return step{
		name: "eta", also: "eta-cutoff", kind: filter, do: (*Sampler).applyEta,
		on: func(p *Params) bool { return p.Eta != 0 },
		table: func(p *Params) []option.Option {
			return []option.Option{{
				Name: "eta", Value: &p.Eta, Range: option.Range{To: belowOne},
				Want: "a number from 0 (off) to below 1", Default: "0",
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
		least := s.scores[s.inOrder()[n-1]]
		places = s.atLeast(s.scores, least)
	}
	s.keep(places)
}
