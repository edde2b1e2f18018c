package main

// Flags that have no effect: those that want another flag with them are errors, those that others
// take the place of are told.

import (
	"fmt"
	"slices"

	"picogpt/decode"
)

// needs are the flags that say nothing without one of others, which a message names as want.
var needs = [...]struct {
	flags []string
	of    []string
	want  string
}{
	{[]string{"return", "length-penalty", "early-stopping", "beam-groups"},
		[]string{"beams"}, "--beams N"},
	{[]string{"diversity"}, []string{"beam-groups"}, "--beam-groups G"},
	{[]string{"json-closed", "json-space"}, []string{"json-schema"}, "--json-schema"},
	{[]string{"negative"}, []string{"guidance"}, "--guidance G"},
	{[]string{"mirostat-tau", "mirostat-eta"}, []string{"mirostat"}, "--mirostat 1|2"},
	{[]string{"dry-base", "dry-allowed-length", "dry-last-n", "dry-breaker"},
		[]string{"dry-multiplier"}, "--dry-multiplier X"},
	{[]string{"dynatemp-exponent"}, []string{"dynatemp-range"}, "--dynatemp-range R"},
	{[]string{"xtc-threshold"}, []string{"xtc-probability"}, "--xtc-probability P"},
	{[]string{"repeat-last-n", "penalty-prompt"},
		[]string{"repeat-penalty", "frequency-penalty", "presence-penalty"},
		"--repeat-penalty, --frequency-penalty or --presence-penalty"},
}

// wanting calls f with each flag that was given without one that it needs.
func wanting(given map[string]bool, f func(flag, want string)) {
	for _, n := range needs {
		if slices.ContainsFunc(n.of, func(flag string) bool { return given[flag] }) {
			continue
		}
		for _, flag := range n.flags {
			if given[flag] {
				f("--"+flag, n.want)
			}
		}
	}
}

// checkNeeds refuses flags that need others.
func checkNeeds(given map[string]bool) (err error) {
	wanting(given, func(flag, want string) {
		if err == nil {
			err = usagef("%s: want %s with it", flag, want)
		}
	})
	return err
}

// checkEnds refuses flags about the end of texts that no token ends.
func checkEnds(o *decode.Options) error {
	never := o.EndOfText != nil && len(o.EndOfText) == 0
	switch {
	case never && o.MinTokens > 0:
		return usagef("--min-tokens and --eos none: want one of them, for no token ends the text")
	case never && o.LengthDecay.Factor != 0:
		return usagef("--length-decay and --eos none: want one of them, for no token ends the text")
	}
	return nil
}

// filtersOn are the flags of the filters that are on.
func filtersOn(o *decode.Options) (flags []string) {
	for _, filter := range []struct {
		flag string
		on   bool
	}{
		{"top-k", o.TopK != 0}, {"top-p", o.TopP != 0 && o.TopP != 1}, {"min-p", o.MinP != 0},
		{"typical", o.Typical != 0 && o.Typical != 1}, {"epsilon", o.Epsilon != 0},
		{"eta", o.Eta != 0}, {"top-h", o.TopH != 0}, {"top-n-sigma", o.TopNSigma != 0},
		{"xtc-probability", o.XTCProbability != 0},
	} {
		if filter.on {
			flags = append(flags, filter.flag)
		}
	}
	return flags
}

// sampling are the flags that are on and without effect where nothing is drawn.
func sampling(o *decode.Options) []string {
	flags := filtersOn(o)
	if o.TempRange != 0 {
		flags = append(flags, "dynatemp-range")
	}
	if o.Mirostat.Version != 0 {
		flags = append(flags, "mirostat")
	}
	return flags
}

// withoutEffect tells which of the flags that were given have no effect, and why. search is nil for
// commands that have none.
func withoutEffect(
	o *decode.Options, given map[string]bool, search *searchFlags,
) (notes []string) {
	idle := func(flag string, is bool, because string) {
		if is && given[flag] {
			notes = append(notes, fmt.Sprintf("--%s, because %s", flag, because))
		}
	}
	guided := o.Guidance != nil && o.Guidance.Scale != 1
	const two = "--guidance evaluates two texts, and nothing is guessed for them"
	idle("lookup", guided, two)
	idle("draft", guided, two)
	idle("xtc-probability", o.XTCProbability != 0 && o.XTCThreshold > 0.5,
		"above --xtc-threshold 0.5 nothing is left out")
	idle("dry-multiplier", o.DRY.Multiplier != 0 && o.DRY.Base < 1, "--dry-base is below 1")

	var replaced []string
	because := "--temp 0 takes the likeliest token"
	switch {
	case search != nil && search.asked() != "": // which refuses what it does not follow
		idle("beam-groups", search.BeamGroups > 1 && search.Diversity == 0,
			"without --diversity D they all search alike")
	case o.Temperature == 0:
		replaced = sampling(o)
	case o.Mirostat.Version != 0:
		replaced, because = filtersOn(o), "--mirostat takes the place of all filters"
	}
	for _, flag := range replaced {
		idle(flag, true, because)
	}
	return notes
}

// noteWithout tells of flags without effect.
func (a *app) noteWithout(notes []string) {
	for _, note := range notes {
		a.Notef("without effect: %s", note)
	}
}
