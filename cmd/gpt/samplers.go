package main

// The flags that say how a token is chosen, which gpt generate and gpt next share.

import (
	"math"
	"slices"
	"strings"

	"picogpt/decode"
	"picogpt/tokenizer"
)

// filterFlags are filters beyond --top-k, --top-p and --min-p, which everybody knows.
type filterFlags struct {
	Typical          float64 `placeholder:"P" default:"1"`
	Epsilon          float64 `placeholder:"P" default:"0"`
	Eta              float64 `placeholder:"P" default:"0"`
	TopH             float64 `name:"top-h" placeholder:"H" default:"0"`
	TopNSigma        float64 `name:"top-n-sigma" placeholder:"N" default:"0"`
	XTCProbability   float64 `name:"xtc-probability" placeholder:"P" default:"0"`
	XTCThreshold     float64 `name:"xtc-threshold" placeholder:"P" default:"0.1"`
	DynatempRange    float64 `placeholder:"R" default:"0"`
	DynatempExponent float64 `placeholder:"E" default:"1"`
	Mirostat         int     `placeholder:"1|2" default:"0"`
	MirostatTau      float64 `placeholder:"BITS" default:"5" help:"the target"`
	MirostatEta      float64 `placeholder:"X" default:"0.1" help:"how fast Mirostat corrects itself"`
	Samplers         string  `placeholder:"ORDER" default:"hf"`
}

// setChoosing completes the options of gpt generate and gpt next, which have TopP and RepeatPenalty
// from flags of their own.
func setChoosing(o *decode.Options, filters *filterFlags, steering *steering) error {
	if o.TopP == 0 {
		// as in Hugging Face, one token stays; decode's 0 is off
		o.TopP = math.SmallestNonzeroFloat64
	}
	if err := checkRepeatPenalty(o.RepeatPenalty); err != nil {
		return err
	}
	if err := filters.set(o); err != nil {
		return err
	}
	return steering.set(o)
}

// set gives o what the flags say.
func (f *filterFlags) set(o *decode.Options) error {
	for name := range strings.SplitSeq(strings.ReplaceAll(f.Samplers, ";", ","), ",") {
		if strings.TrimSpace(name) == "" {
			return usagef("--samplers %s: want a name before and after each comma, found none",
				quoteShort(f.Samplers))
		}
	}
	o.Typical, o.Epsilon, o.Eta, o.TopH = f.Typical, f.Epsilon, f.Eta, f.TopH
	if f.Typical == 0 {
		o.Typical = math.SmallestNonzeroFloat64 // one token, or those that equal it; decode's 0 is off
	}
	o.TopNSigma, o.XTCProbability, o.XTCThreshold = f.TopNSigma, f.XTCProbability, f.XTCThreshold
	o.Mirostat = decode.Mirostat{Version: f.Mirostat, Tau: f.MirostatTau, Eta: f.MirostatEta}
	o.TempRange, o.TempExponent, o.Samplers = f.DynatempRange, f.DynatempExponent, f.Samplers
	return nil
}

// checkListed refuses flags for what --samplers does not list.
func (f *filterFlags) checkListed(o *decode.Options, given map[string]bool) error {
	flags := [][2]string{
		{"repeat-penalty", "penalties"}, {"frequency-penalty", "penalties"},
		{"presence-penalty", "penalties"}, {"dry-multiplier", "dry"}, {"temp", "temperature"},
		{"dynatemp-range", "temperature"}, {"xtc-probability", "xtc"},
	}
	for _, name := range decode.SamplerNames() {
		flags = append(flags, [2]string{name, name})
	}
	for _, f := range flags {
		if given[f[0]] && !o.Lists(f[1]) {
			return usagef("--%s: want %s in the list of --samplers too", f[0], f[1])
		}
	}
	return nil
}

// checkRepeatPenalty refuses 0 too, which is decode's way to say that there is none.
func checkRepeatPenalty(r float64) error {
	if !(r >= 1e-100 && r <= 1e100) {
		return usagef("--repeat-penalty %v: want a number above 0, such as 1.1; 1 is off", r)
	}
	return nil
}

// noneEmpty refuses an empty string in a list.
func noneEmpty(flag string, list []string) error {
	if slices.Contains(list, "") {
		return usagef("%s: want at least one byte, found none", flag)
	}
	return nil
}

// checkSampling refuses what no sampler could follow.
func checkSampling(o decode.Options) error {
	// stop and banned strings want a vocabulary; the real one comes later
	o.Vocabulary = onlyIDs{size: tokenizer.GPT2Size}
	if _, err := decode.NewSampler(o); err != nil {
		return withFlag(err)
	}
	return nil
}

// withFlag is a mistake in options by the name of its flag, where the library has other words.
func withFlag(err error) error {
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
			return usagef("%s%s", known[1], rest)
		}
	}
	return usagef("--%s", message) // top-k, mirostat, diversity, ...
}
