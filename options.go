package picogpt

import (
	"math/rand/v2"

	"picogpt/decode"
	"picogpt/internal/option"
	"picogpt/sample"
)

// Options say how Generate chooses tokens and when it stops. The zero value has the defaults of the
// command: temperature 0.8, the 40 likeliest tokens, to the end of the text or of the context.
type Options struct {
	MaxTokens int // at most so many new tokens; 0: to the end of the text or of the context

	// Greedy always chooses the likeliest token; Temperature, TopK, TopP, MinP and Seed have no
	// effect.
	Greedy      bool
	Temperature float64 // 0 is 0.8; a higher one makes less likely tokens more likely
	TopK        int     // keeps so many of the likeliest tokens; 0 is 40, below 0 is off
	TopP        float64 // keeps the likeliest tokens that together have this probability; 0 is off
	MinP        float64 // keeps tokens at least MinP times as likely as the likeliest; 0 is off
	// The same Seed gives the same text, on every machine. 0 draws one for each loop: the last
	// Token has it.
	Seed uint64

	RepeatPenalty float64 // above 1, tokens that occurred before are less likely; 0 is off
	RepeatLastN   int     // how many of the last tokens the penalty counts; 0 is all

	Stop     []string        // the text ends before the first of these strings
	Overflow decode.Overflow // what happens if the context is too short; "" is an error
}

// options returns o as decode.Options, with a drawn seed where o has none.
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
		setUsual(&d, "temp")
	}
	if d.Seed == 0 && d.Temperature != 0 {
		d.Seed = 1 + uint64(rand.Uint32N(1<<32-1)) // short enough to type
	}
	switch {
	case o.TopK == 0:
		setUsual(&d, "top-k")
	case o.TopK < 0:
		d.TopK = 0
	}
	return d
}

// setUsual gives d the command's default of a flag.
func setUsual(d *decode.Options, flag string) {
	o := option.Find(d.Table(), flag)
	o.Set(o.First(true))
}
