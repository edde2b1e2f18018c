package picogpt

import (
	"math/rand/v2"

	"picogpt/decode"
	"picogpt/sample"
)

// Options say how Generate chooses tokens and when it stops. The zero value is the command's
// defaults: temperature 0.8, the 40 likeliest tokens, to the end of the text or of the context.
type Options struct {
	MaxTokens int // new tokens at most; 0 is to the end of the text or of the context

	// always the likeliest token: Temperature, TopK, TopP, MinP and Seed do not count
	Greedy      bool
	Temperature float64 // 0 is 0.8; more is wilder
	TopK        int     // only so many of the likeliest tokens; 0 is 40, below 0 is off
	TopP        float64 // only the likeliest tokens that share this probability; 0 is off
	MinP        float64 // only tokens at least so many times as likely as the likeliest; 0 is off
	// The same seed gives the same text, on every machine. 0 draws one for each loop: the last Token
	// has it.
	Seed uint64

	RepeatPenalty float64 // above 1, tokens that were there become less likely; 0 is off
	RepeatLastN   int     // how many tokens back the penalty looks; 0 is all

	Stop     []string        // the text ends before the first of these strings
	Overflow decode.Overflow // what is done where the context is too short; "" is an error
}

// The command's defaults.
const (
	defaultTemperature = 0.8
	defaultTopK        = 40
)

// options are decode's words for o, with a seed of its own where o leaves it open.
func (g *GPT) options(o Options) decode.Options {
	d := decode.Options{
		MaxTokens: o.MaxTokens, Stop: o.Stop, Overflow: o.Overflow, Vocabulary: g.tokenizer,
		Params: sample.Params{
			Temperature: o.Temperature, TopK: o.TopK, TopP: o.TopP, MinP: o.MinP, Seed: o.Seed,
			RepeatPenalty: o.RepeatPenalty, RepeatLastN: o.RepeatLastN,
		},
	}
	switch {
	case o.Greedy:
		d.Temperature = 0
	case o.Temperature == 0:
		d.Temperature = defaultTemperature
	}
	if d.Seed == 0 && d.Temperature != 0 {
		d.Seed = 1 + uint64(rand.Uint32N(1<<32-1)) // short enough to type
	}
	switch {
	case o.TopK == 0:
		d.TopK = defaultTopK
	case o.TopK < 0:
		d.TopK = 0
	}
	return d
}
