// Package genflags is the flags that say how texts are continued, and what they mean to package
// decode. gpt and module picogpt/corpus have the same by it.
//
// Its errors are mistakes in the command line, by the names of flags.
package genflags

// The flags that everybody knows.

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"picogpt/decode"
	"picogpt/sample"
	"picogpt/tokenizer"
)

// Usual are the flags that every program has that writes texts, in the grammar of
// github.com/alecthomas/kong.
type Usual struct {
	Overflow string `json:"overflow" placeholder:"HOW" default:"error" enum:"error,truncate,slide" group:"How much:"`

	MaxTokens *int     `json:"max_tokens" short:"n" placeholder:"N" group:"How much:"`
	Samples   int      `json:"samples" placeholder:"N" default:"1" group:"How much:"`
	Stop      []string `json:"stop" placeholder:"STRING" sep:"none" group:"How much:"`

	Temp          float64 `json:"temp" placeholder:"T" default:"0.8" aliases:"temperature" group:"Which tokens:"`
	TopK          int     `json:"top_k" placeholder:"K" default:"40" group:"Which tokens:"`
	TopP          float64 `json:"top_p" placeholder:"P" default:"1" group:"Which tokens:"`
	MinP          float64 `json:"min_p" placeholder:"P" default:"0" group:"Which tokens:"`
	RepeatPenalty float64 `json:"repeat_penalty" placeholder:"R" default:"1" group:"Which tokens:"`
	RepeatLastN   int     `json:"repeat_last_n" placeholder:"N" default:"0" group:"Which tokens:"`
}

// Options are what the flags mean. Check is left, for when the other flags are known.
func (f *Usual) Options() (decode.Options, error) {
	o := decode.Options{Stop: f.Stop, Overflow: decode.Overflow(f.Overflow),
		Params: sample.Params{Temperature: f.Temp, TopK: f.TopK, TopP: f.TopP, MinP: f.MinP,
			RepeatPenalty: f.RepeatPenalty, RepeatLastN: f.RepeatLastN}}
	if err := Complete(&o); err != nil {
		return o, err
	}
	switch {
	case f.MaxTokens != nil && *f.MaxTokens < 1:
		return o, fmt.Errorf("--max-tokens %d: want at least 1", *f.MaxTokens)
	case f.Samples < 1:
		return o, fmt.Errorf("--samples %d: want at least 1", f.Samples)
	case f.MaxTokens != nil:
		o.MaxTokens = *f.MaxTokens
	}
	return o, NoneEmpty("--stop", f.Stop)
}

// Complete makes options of flags where a 0 means something else to decode: --top-p, for which it
// leaves one token, and --repeat-penalty, which it refuses.
func Complete(o *decode.Options) error {
	if o.TopP == 0 {
		// as in Hugging Face, one token stays; decode's 0 is off
		o.TopP = math.SmallestNonzeroFloat64
	}
	if r := o.RepeatPenalty; !(r >= 1e-100 && r <= 1e100) {
		return fmt.Errorf("--repeat-penalty %v: want a number above 0, such as 1.1; 1 is off", r)
	}
	return nil
}

// NoneEmpty refuses an empty string in a list.
func NoneEmpty(flag string, list []string) error {
	if slices.Contains(list, "") {
		return fmt.Errorf("%s: want at least one byte, found none", flag)
	}
	return nil
}

// Check refuses what no sampler could follow, whatever the vocabulary is.
func Check(o decode.Options) error {
	// stop and banned strings want a vocabulary; the real one comes later
	o.Vocabulary = OnlyIDs(tokenizer.GPT2Size, nil)
	return Named(o.Check())
}

// Named is a mistake in options by the name of its flag, where the library has other words.
func Named(err error) error {
	if err == nil {
		return nil
	}
	message := err.Error()
	for _, known := range [][2]string{
		{"temperature range", "--dynatemp-range"}, {"temperature exponent", "--dynatemp-exponent"},
		{"temperature", "--temp"}, {"repetition window", "--repeat-last-n"},
		{"frequency penalty", "--frequency-penalty"}, {"presence penalty", "--presence-penalty"},
		{"no-repeat n-gram", "--no-repeat-ngram"}, {"DRY multiplier", "--dry-multiplier"},
		{"DRY base", "--dry-base"}, {"DRY allowed length", "--dry-allowed-length"},
		{"min tokens", "--min-tokens"}, {"mirostat tau", "--mirostat-tau"},
		{"mirostat eta", "--mirostat-eta"}, {"XTC probability", "--xtc-probability"},
		{"XTC threshold", "--xtc-threshold"}, {"bias", "--logit-bias"}, {"banned strings", "--ban"},
		{"beam groups", "--beam-groups"}, {"length penalty", "--length-penalty"},
		{"contrastive alpha", "--contrastive"},
	} {
		if rest, found := strings.CutPrefix(message, known[0]); found {
			return errors.New(known[1] + rest)
		}
	}
	return errors.New("--" + message) // top-k, mirostat, diversity, ...
}
