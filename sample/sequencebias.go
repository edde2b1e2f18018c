package sample

// Biases of sequences of tokens, which are given as texts.

import (
	"fmt"

	"picogpt/internal/option"
	"picogpt/internal/quote"
)

func sequenceBiasStep() step {
	return step{
		name: "sequence-bias", kind: first, do: (*Sampler).addSequenceBiases,
		on: func(p *Params) bool { return len(p.SequenceBias) > 0 },
		table: func(p *Params) []option.Option {
			return []option.Option{{
				Name: "sequence bias", Value: (*sequenceBiases)(&p.SequenceBias),
				Check: func() string { return wrongBias(p.SequenceBias) },
				Flag: option.Flag{Name: "sequence-bias", Holder: "TEXT=X", Group: option.Wanted,
					Help: "add X to the logit of the last token of TEXT where the text so far ends " +
						"with its others, as in ' red apple=-5'; TEXT is several tokens, or one, as " +
						"it is written, so that a space before a word counts; -inf forbids TEXT; the " +
						"flag may be repeated"},
				Field: option.Field{Name: "sequence_bias", Most: 1000,
					Range: option.Range{From: -100, To: 100}},
			}}
		},
	}
}

func (s *Sampler) addSequenceBiases() { s.add(s.params.SequenceBias) }

// sequenceBiases is Params.SequenceBias as the value of an option.
type sequenceBiases []Bias

// Set adds a bias, given as TEXT=X.
func (b *sequenceBiases) Set(s string) error {
	text, x, ok := cutBias(s)
	if !ok {
		return fmt.Errorf(" %s: want TEXT=X, such as ' red apple=-5' or ' red apple=-inf'",
			quote.Short(s, 40))
	}
	b.Add(text, x)
	return nil
}

// Add adds a bias of a text.
func (b *sequenceBiases) Add(text string, x float64) {
	*b = append(*b, Bias{Text: text, Value: x})
}

func (b *sequenceBiases) Repeats() bool { return true }

func (b *sequenceBiases) NeedsText() bool { return (*biases)(b).NeedsText() }

func (b *sequenceBiases) String() string { return (*biases)(b).String() }
