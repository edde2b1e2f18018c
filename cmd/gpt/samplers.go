package main

// The flags that say how a token is chosen, which gpt generate and gpt next share.

import (
	"math"
	"strings"

	"picogpt/decode"
	"picogpt/sample"
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

// setChoosing gives o what the flags say that gpt generate and gpt next share.
func setChoosing(o *decode.Options, filters *filterFlags, steering *steering) error {
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
	o.Mirostat = sample.Mirostat{Version: f.Mirostat, Tau: f.MirostatTau, Eta: f.MirostatEta}
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
	for _, name := range sample.SamplerNames() {
		flags = append(flags, [2]string{name, name})
	}
	for _, f := range flags {
		if given[f[0]] && !o.Lists(f[1]) {
			return usagef("--%s: want %s in the list of --samplers too", f[0], f[1])
		}
	}
	return nil
}
