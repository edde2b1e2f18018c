package sample

// Adaptive-p (llama.cpp): it makes tokens likely whose probability is near a target, and moves the
// target so that the mean probability of the drawn tokens stays near the requested one.

import (
	"math"

	"picogpt/internal/option"
)

// Adaptive is the options of adaptive-p, which replaces the probabilities after all filters.
type Adaptive struct {
	Target float64 // the mean probability of the drawn tokens, in [0, 1]; 0 means off
	Decay  float64 // the weight of a token relative to the next, in [0, 0.99]; 0.9 is usual
}

func adaptiveStep() step {
	return step{
		name: "adaptive-p", kind: last, do: (*Sampler).applyAdaptive, table: adaptiveTable,
		on: func(p *Params) bool { return p.Adaptive.Target > 0 },
		begin: func(p *Params, s *State) {
			n := 1 / (1 - p.Adaptive.Decay)
			s.drawn = average{sum: p.Adaptive.Target * n, n: n}
		},
		drew: func(s *Sampler, place int) {
			s.State.drawn.add(s.nearness[place], s.params.Adaptive.Decay)
		},
	}
}

func adaptiveTable(p *Params) []option.Option {
	a := &p.Adaptive
	return []option.Option{{
		Name: "adaptive target", Value: &a.Target, Range: option.Range{To: 1},
		Want: "a number from 0 (off) to 1", Default: "-1",
		Settle: func() { // a user writes a number below 0 for off, and 0 for the least probability
			leastForZero(&a.Target)
			a.Target = max(0, a.Target)
		},
		Flag: option.Flag{Name: "adaptive-target", Holder: "P", Group: option.Filters,
			Range: option.Range{From: -1, To: 1}, Want: "-1 (off) or a number from 0 to 1",
			Help: "make tokens likely whose probability is near P, so that this is the mean of " +
				"what is drawn; wants --min-p too; -1 is off"},
		Field: option.Field{Name: "adaptive_target", Range: option.Range{From: -1, To: 1}},
		Setting: option.Setting{Group: "More filters", Label: "Adaptive-p, target",
			Min: -1, Max: 1, Step: 0.01,
			Help: "Tokens are likely whose probability is near this. Wants Min-p too. -1 is off."},
	}, {
		Name: "adaptive decay", Value: &a.Decay, Range: option.Range{To: 0.99},
		Want: "a number from 0 to 0.99", Default: "0.9", With: []string{"adaptive-target"},
		Flag: option.Flag{Name: "adaptive-decay", Holder: "D", Group: option.Filters,
			Help: "how much of what was drawn before counts for that: near 0 only the last token"},
		Field: option.Field{Name: "adaptive_decay"},
		Setting: option.Setting{Group: "More filters", Label: "Adaptive-p, decay",
			Max: 0.99, Step: 0.01, Help: "How much of the tokens before counts for the mean."},
	}}
}

// An average is the mean of probabilities, of which older ones weigh less.
type average struct{ sum, n float64 }

func (a *average) add(p, decay float64) {
	a.sum, a.n = p+float64(decay*a.sum), 1+float64(decay*a.n)
}

// applyAdaptive replaces the score of each id according to the distance of its probability from the
// target of this token. It keeps the probabilities for drew.
func (s *Sampler) applyAdaptive() {
	s.ready()
	s.nearness = resized(s.nearness, len(s.weights))
	target := max(0, min(1, float64(2*s.params.Adaptive.Target)-s.State.drawn.sum/s.State.drawn.n))
	for i, weight := range s.weights {
		s.nearness[i] = weight / s.mass
		x := math.Abs(s.nearness[i]-target) / 0.3 // the width of the peak
		s.scores[i] = 5 - 10*float64(x*x)/(1+x)
	}
	s.largest, s.by, s.weighed = s.maximum(s.scores), 1, false
}
