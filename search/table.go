package search

// The table of the options of searches.

import (
	"fmt"
	"math"

	"picogpt/internal/option"
)

func init() { option.Register((*BeamOptions).table) }

// table returns all options of a beam search, bound to the fields of b: option.Of finds it.
func (b *BeamOptions) table() []option.Option {
	with := []string{"beams"}
	return []option.Option{{
		Name: "beams", Value: &b.Beams, Range: option.Range{To: mostBeams},
		Want: fmt.Sprintf("1 to %d", mostBeams), In: option.Receipts,
		Flag: option.Flag{Name: "beams", Holder: "N", Group: option.Searches,
			Others: "num-beams beam-size beam-width beam-search use-beam-search n-beams",
			Range:  option.Range{From: 1}, Want: "at least 1",
			Help: "beam search: N texts go on side by side, and the likeliest whole text wins; a " +
				"--temp given too samples them"},
	}, {
		Name: "return", Value: &b.Return, Want: "0 (one) or more", Default: "1", With: with,
		In: option.Receipts,
		Flag: option.Flag{Name: "return", Holder: "K", Group: option.Searches,
			Range: option.Range{From: 1}, Want: "at least 1",
			Help: "print the K best texts of the beams"},
	}, {
		Name: "length penalty", Value: &b.LengthPenalty,
		Range: option.Range{From: -math.MaxFloat64}, Want: "a finite number", Default: "1",
		With: with, In: option.Receipts,
		Flag: option.Flag{Name: "length-penalty", Holder: "L", Group: option.Searches,
			Help: "the score of a text is its log-probability divided by its length to the power " +
				"of L: above 0 favours long texts, below 0 short ones"},
		Field: option.Field{Name: "length_penalty", Range: option.Range{From: -100, To: 100}},
	}, {
		Name: "early stopping", Value: (*string)(&b.EarlyStopping), With: with,
		Words: []string{string(EarlyStoppingTrue), string(EarlyStoppingFalse),
			string(EarlyStoppingNever)},
		Want: fmt.Sprintf("%q, %q or %q", EarlyStoppingTrue, EarlyStoppingFalse,
			EarlyStoppingNever),
		Default: string(EarlyStoppingFalse), In: option.Receipts,
		Flag: option.Flag{Name: "early-stopping", Holder: "HOW", Group: option.Searches,
			Help: "when N texts have ended: true ends the search, false goes on while the best " +
				"text that runs scores better as it is, never while any could"},
		Field: option.Field{Name: "early_stopping"},
	}, {
		Name: "beam groups", Value: &b.Groups, Want: "0 (one) or more", Default: "1", With: with,
		In: option.Receipts,
		Idle: func() string {
			if b.Groups > 1 && b.Diversity == 0 {
				return "without --diversity D they all search alike"
			}
			return ""
		},
		Flag: option.Flag{Name: "beam-groups", Holder: "G", Group: option.Searches,
			Others: "num-beam-groups", Range: option.Range{From: 1}, Want: "at least 1",
			Help: "diverse beam search: divide the beams into G groups"},
	}, {
		Name: "diversity", Value: &b.Diversity, Want: "0 or a finite number above it",
		Default: "0", With: []string{"beam-groups"}, In: option.Receipts,
		Flag: option.Flag{Name: "diversity", Holder: "D", Group: option.Searches,
			Others: "diversity-penalty",
			Help:   "what a token loses for each beam of an earlier group that has just taken it"},
	}}
}
