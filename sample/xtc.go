package sample

// XTC, "exclude top choices" (text-generation-webui, llama.cpp): with some probability, of the ids
// that are likely enough all but the least likely are removed.

import (
	"picogpt/internal/option"
)

func xtcStep() step {
	return step{
		name: "xtc", kind: filter, do: (*Sampler).applyXTC, table: xtcTable,
		on: func(p *Params) bool { return p.XTCProbability != 0 },
	}
}

func xtcTable(p *Params) []option.Option {
	return []option.Option{{
		Name: "XTC probability", Value: &p.XTCProbability, Range: option.Range{To: 1},
		Want: "a number from 0 to 1", Default: "0",
		Idle: func() string {
			if p.XTCThreshold > 0.5 {
				return "above --xtc-threshold 0.5 nothing is left out"
			}
			return ""
		},
		Flag: option.Flag{Name: "xtc-probability", Holder: "P", Group: option.Filters,
			Help: "how often the likeliest tokens are left out, all but the last of those above " +
				"the threshold; 0 is off"},
		Field: option.Field{Name: "xtc_probability"},
		Setting: option.Setting{Group: "More filters", Label: "XTC, how often", Max: 1, Step: 0.05,
			Help: "So often, all tokens above the threshold but the least likely of them go. " +
				"0 is off."},
	}, {
		Name: "XTC threshold", Value: &p.XTCThreshold, Range: option.Range{To: 1},
		Want: "a number from 0 to 1", Default: "0.1", With: []string{"xtc-probability"},
		Flag: option.Flag{Name: "xtc-threshold", Holder: "P", Group: option.Filters,
			Help: "how likely a token must be for that; above 0.5 nothing is left out"},
		Field: option.Field{Name: "xtc_threshold"},
		Setting: option.Setting{Group: "More filters", Label: "XTC, threshold",
			Max: 0.5, Step: 0.01, Help: "How likely a token must be for XTC to take it away."},
	}}
}

// applyXTC draws a random number for this position, and removes ids if that says so.
func (s *Sampler) applyXTC() {
	o := &s.params
	coin := uniform(&s.State.coins) // one for each position, whether ids are removed or not
	if coin >= o.XTCProbability || o.XTCThreshold > 0.5 {
		return
	}
	s.ready()
	likely := s.atLeast(s.weights, o.XTCThreshold*s.mass)
	if len(likely) < 2 {
		return
	}
	// Of equal ids the lowest counts as the likeliest, so that the highest stays.
	stays := likely[0]
	for _, place := range likely {
		if s.scores[place] <= s.scores[stays] {
			stays = place
		}
	}
	least := o.XTCThreshold * s.mass
	places := s.places[:0]
	for i := range s.scores {
		if place := int32(i); place == stays || s.weights[i] < least {
			places = append(places, place)
		}
	}
	s.keep(places)
	s.relevel()
}
