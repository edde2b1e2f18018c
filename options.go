package picogpt

// The options of a text: those of package decode.

import (
	"context"
	"math/rand/v2"

	"picogpt/decode"
	"picogpt/internal/option"
)

// Options say how tokens are chosen and when a text ends: all options of package decode, which has
// their definitions. The zero value is greedy, to the end of the text or of the context; Sampling
// returns those of the command.
//
//	o := picogpt.Options{MaxTokens: 40, Stop: []string{"\n"}}
//	o.Temperature, o.TopP, o.Seed = 0.7, 0.95, 1
//
// A GPT fills in what it knows: Vocabulary is its tokenizer, texts in Bias, Guidance and DRY are
// turned into ids, and a Seed of 0 is drawn. Lookup and Draft have no effect in a batch; they
// change no token.
type Options = decode.Options

// Sampling returns the options that the command gpt begins with: temperature 0.8, one of the 40
// likeliest tokens, and for settings that others need, such as DRY's base, their usual values.
func Sampling() Options {
	var o Options
	table := option.Of(&o)
	if err := option.SetDefaults(table, true); err != nil {
		panic(err) // a row of the table contradicts itself, which a test would have found
	}
	option.Settle(table)
	return o
}

// Sampling returns what the function Sampling does, with what the checkpoint's generation_config.json
// says of the choice of tokens in its place, as the command gpt begins with it. Other Options have
// none of it. The error names a field of that file whose value cannot be meant.
func (g *GPT) Sampling() (Options, error) {
	o, c := Sampling(), g.model.Config()
	_, err := option.TakeSaved(option.Of(&o), c.Generation.Sampling, c.VocabSize, c.EndTokens(), nil)
	return o, err
}

// opened returns o with what the GPT knows, and a drawn seed if o has none.
func (g *GPT) opened(ctx context.Context, o Options) (Options, error) {
	if o.Vocabulary == nil {
		o.Vocabulary = g.tokenizer
	}
	if o.Seed == 0 && o.Temperature != 0 {
		o.Seed = 1 + uint64(rand.Uint32N(1<<32-1)) // short enough to type
	}
	err := o.Params.Open(ctx, g.tokenizer)
	return o, err
}
