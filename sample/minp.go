package sample

// Min-p: the ids that are likely enough compared with the likeliest.

import (
	"picogpt/internal/option"
	"picogpt/kernels"
)

func minPStep() step {
	return step{
		name: "min-p", kind: filter, do: (*Sampler).applyMinP,
		on: func(p *Params) bool { return p.MinP != 0 },
		table: func(p *Params) []option.Option {
			return []option.Option{{
				Name: "min-p", Value: &p.MinP, Range: option.Range{To: 1},
				Want: "a number from 0 (off) to 1", Default: "0", In: option.Corpus,
				Flag: option.Flag{Name: "min-p", Holder: "P", Group: option.WhichOnes,
					Help: "choose among tokens at least P times as likely as the likeliest; " +
						"0 is no limit"},
				Field: option.Field{Name: "min_p"},
				Setting: option.Setting{Group: "Filters", Label: "Min-p", Max: 1, Step: 0.01,
					Help: "Only tokens that have this part of the likeliest one's probability. " +
						"0 is off."},
			}}
		},
	}
}

// applyMinP removes the ids less likely than MinP times the likeliest, whose weight is 1.
func (s *Sampler) applyMinP() {
	s.ready()
	if s.llama {
		// llama.cpp compares logits, which rounds differently.
		s.keep(s.atLeast(s.scores, s.largest+float64(s.by*kernels.Log64(s.params.MinP))))
		return
	}
	if s.least == 1 {
		s.removeBelow(s.weights, s.params.MinP)
		return
	}
	s.keepOrLikeliest(s.atLeast(s.weights, s.params.MinP))
}
