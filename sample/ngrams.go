package sample

// No sequence of n ids occurs twice.

import (
	"slices"

	"picogpt/internal/option"
)

func noRepeatStep() step {
	return step{
		name: "no-repeat-ngram", also: "no-repeat-ngram-size", kind: ofContext, do: (*Sampler).shutNgrams,
		on: func(p *Params) bool { return p.NoRepeatNgram > 0 },
		table: func(p *Params) []option.Option {
			return []option.Option{{
				Name: "no-repeat n-gram", Value: &p.NoRepeatNgram, Want: "0 (off) or more",
				Default: "0",
				Flag: option.Flag{Name: "no-repeat-ngram", Holder: "N", Group: option.Repetition,
					Others: "no-repeat-ngram-size ngram",
					Help:   "write no sequence of N tokens twice; 0 is off"},
				Field: option.Field{Name: "no_repeat_ngram_size",
					Range: option.Range{To: option.Most}},
				Setting: option.Setting{Group: "Repetition", Label: "No repeated n-gram",
					Max: 100, Step: 1, Slider: 10,
					Help: "No sequence of so many tokens occurs twice. 0 is off."},
			}}
		},
	}
}

// shutNgrams removes the ids that would complete an n-gram that occurred before.
func (s *Sampler) shutNgrams() {
	n := s.params.NoRepeatNgram
	if len(s.context)+1 < n {
		return
	}
	newest := s.context[len(s.context)-(n-1):] // [n-1]
	for i := n - 1; i < len(s.context); i++ {
		if slices.Equal(s.context[i-(n-1):i], newest) {
			s.shutID(s.context[i])
		}
	}
}
