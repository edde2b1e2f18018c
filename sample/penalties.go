package sample

// Penalties for ids that occurred before, and for sequences of ids.

import (
	"math"
	"slices"

	"picogpt/internal/option"
)

var penaltiesStep = step{
	name: "penalties",
	also: []string{"repeat-penalty", "repetition-penalty", "frequency-penalty", "presence-penalty"},
	kind: ofContext, do: (*Sampler).applyPenalties, table: penaltyTable,
	on: func(p *Params) bool {
		return p.RepeatPenalty != 0 && p.RepeatPenalty != 1 || p.FrequencyPenalty != 0 ||
			p.PresencePenalty != 0
	},
}

func penaltyTable(p *Params) []option.Option {
	anyNumber := option.Range{From: -math.MaxFloat64}
	most := option.Range{From: 1e-100, To: 1e100}
	with := []string{"repeat-penalty", "frequency-penalty", "presence-penalty"}
	return []option.Option{{
		Name: "repetition penalty", Value: &p.RepeatPenalty,
		Range: option.Range{From: most.From, To: most.To, Zero: true},
		Want:  "0 or 1 (off) or another number from 1e-100 to 1e100", Default: "1",
		In: option.Corpus, Saved: []string{"repetition_penalty"},
		Flag: option.Flag{Name: "repeat-penalty", Holder: "R", Group: option.WhichOnes,
			Others: "repetition-penalty repetition penalty repeat-penality rep-pen",
			Range:  most, Want: "a number above 0, such as 1.1; 1 is off",
			Help: "values above 1 make tokens that occurred before less likely; 1 is off"},
		Field: option.Field{Name: "repetition_penalty",
			Range: option.Range{From: 1 / option.MostNumber, To: option.MostNumber}},
		Setting: option.Setting{Group: "Repetition", Label: "Repetition penalty",
			Min: 0.1, Max: 10, Step: 0.05, Slider: 2,
			Help: "Above 1, tokens of the text so far are less likely. 1 is off."},
	}, {
		Name: "repetition window", Value: &p.RepeatLastN, Want: "0 (the whole context) or more",
		Default: "0", With: with, In: option.Corpus,
		Settle: func() { p.RepeatLastN = max(0, p.RepeatLastN) }, // in requests, -1 is all
		Flag: option.Flag{Name: "repeat-last-n", Holder: "N", Group: option.WhichOnes,
			Others: "repetition-penalty-range rep-pen-range repetition-window",
			Help:   "how many of the last tokens the penalty looks at; 0 is all"},
		Field: option.Field{Name: "repeat_last_n", Range: option.Range{From: -1, To: option.Most}},
	}, {
		Name: "frequency penalty", Value: &p.FrequencyPenalty, Range: anyNumber,
		Want: "a finite number", Default: "0",
		Flag: option.Flag{Name: "frequency-penalty", Holder: "X", Group: option.Repetition,
			Help: "what a token's logit loses for each time that the new text has it; 0 is off"},
		Field: option.Field{Name: "frequency_penalty", Range: option.Range{From: -2, To: 2}},
		Setting: option.Setting{Group: "Repetition", Label: "Frequency penalty",
			Min: -2, Max: 2, Step: 0.05,
			Help: "Taken from a token for each time that the completion has it. 0 is off."},
	}, {
		Name: "presence penalty", Value: &p.PresencePenalty, Range: anyNumber,
		Want: "a finite number", Default: "0",
		Flag: option.Flag{Name: "presence-penalty", Holder: "X", Group: option.Repetition,
			Help: "what a token's logit loses if the new text has it; 0 is off"},
		Field: option.Field{Name: "presence_penalty", Range: option.Range{From: -2, To: 2}},
		Setting: option.Setting{Group: "Repetition", Label: "Presence penalty",
			Min: -2, Max: 2, Step: 0.05,
			Help: "Taken from a token once if the completion has it. 0 is off."},
	}, {
		Name: "penalties of the prompt", Value: &p.PenaltyPrompt, With: with,
		Flag: option.Flag{Name: "penalty-prompt", Group: option.Repetition,
			Help: "whether the penalties count the prompt's tokens, true or false after =; " +
				"default: --repeat-penalty does, the others do not, and with --samplers llama.cpp " +
				"all do"},
	}}
}

// newest returns the last n of the tokens, or all if n is 0 or there are fewer.
func newest(tokens []int, n int) []int {
	if 0 < n && n < len(tokens) {
		return tokens[len(tokens)-n:]
	}
	return tokens
}

// penalised returns the tokens that a penalty counts, with those of the prompt or without.
func (s *Sampler) penalised(prompt bool) []int {
	window := newest(s.context, s.params.RepeatLastN)
	if own := s.State.Generated; !prompt && own < len(window) {
		return window[len(window)-own:]
	}
	return window
}

// applyPenalties applies the repetition penalty, once to each id, then the frequency and the
// presence penalty.
func (s *Sampler) applyPenalties() {
	s.divide()
	o := &s.params
	withPrompt := func(otherwise bool) bool {
		if o.PenaltyPrompt != nil {
			return *o.PenaltyPrompt
		}
		return otherwise
	}
	if p := o.RepeatPenalty; p != 0 && p != 1 {
		s.count(s.penalised(withPrompt(true)), func(_ int, x float64, _ int32) float64 {
			if x < 0 {
				return x * p
			}
			return x / p
		})
	}
	if o.FrequencyPenalty != 0 || o.PresencePenalty != 0 {
		s.count(s.penalised(withPrompt(s.llama)), func(_ int, x float64, n int32) float64 {
			return x - float64(float64(n)*o.FrequencyPenalty) - o.PresencePenalty
		})
	}
}

// count replaces the score x of each of the ids by score(id, x, n), where n is how often it occurs.
func (s *Sampler) count(ids []int, score func(id int, x float64, n int32) float64) {
	counts := s.zeroCounts()
	for _, id := range ids {
		if 0 <= id && id < len(counts) {
			counts[id]++
		}
	}
	s.spend(ids, score)
}

// spend replaces the score of each of the ids that has a count by score(id, x, count), and sets the
// counts back to 0.
func (s *Sampler) spend(ids []int, score func(id int, x float64, n int32) float64) {
	for _, id := range ids {
		if id < 0 || id >= len(s.counts) || s.counts[id] == 0 {
			continue
		}
		if place, ok := s.place(id); ok {
			s.change(place, score(id, s.scores[place], s.counts[id]))
		}
		s.counts[id] = 0
	}
}

// zeroCounts returns a count for each id of the vocabulary, all 0. The caller sets them back to 0.
func (s *Sampler) zeroCounts() []int32 {
	if len(s.counts) < s.rows {
		s.counts = make([]int32, s.rows)
	}
	return s.counts
}

// noRepeatStep lets no sequence of n ids occur twice.
var noRepeatStep = step{
	name: "no-repeat-ngram", also: []string{"no-repeat-ngram-size"}, kind: ofContext,
	do: (*Sampler).shutNgrams, on: func(p *Params) bool { return p.NoRepeatNgram > 0 },
	table: func(p *Params) []option.Option {
		return []option.Option{{
			Name: "no-repeat n-gram", Value: &p.NoRepeatNgram, Want: "0 (off) or more",
			Default: "0", Saved: []string{"no_repeat_ngram_size"},
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

// shutNgrams removes the ids that would complete an n-gram that occurred before.
func (s *Sampler) shutNgrams() {
	n := s.params.NoRepeatNgram
	if len(s.context)+1 < n {
		return
	}
	newest := s.context[len(s.context)-(n-1):] // [n-1]
	for i := n - 1; i < len(s.context); i++ {
		if slices.Equal(s.context[i-(n-1):i], newest) {
			s.shut(s.context[i])
		}
	}
}
