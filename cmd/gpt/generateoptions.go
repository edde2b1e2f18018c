package main

// The flags of gpt generate, checked: what does not go together, and what has no effect.

import (
	"fmt"

	"picogpt/decode"
	"picogpt/internal/fault"
	"picogpt/internal/option"
)

// takeStdin lets an option have stdin for its file, unless the prompt comes from there.
func (c *generateCommand) takeStdin(a *app) error {
	flag, p := c.Form.OfStdin(), &c.Prompt
	if flag == "" {
		return nil
	}
	a.files.StdinTaken = true
	switch file, prompts := p.Text.File, c.Many.Prompts; {
	case file != nil && *file == "-", prompts != nil && *prompts == "-",
		file == nil && prompts == nil && len(p.Text.Words) == 0 && p.Prompt == nil &&
			p.Tokens == nil:
		return usagef("%s -: want a file, because stdin has the prompt", flag)
	}
	return nil
}

// takeJSON makes --json the output that it means.
func (c *generateCommand) takeJSON(given map[string]bool) error {
	if !c.JSON {
		return nil
	}
	if given["output"] && c.Output != "json" {
		return usagef("--json and --output %s: want one of them", c.Output)
	}
	c.Output = "json"
	return nil
}

// writesJSON reports whether the output is objects.
func (c *generateCommand) writesJSON() bool {
	return c.Output == "json" || c.Output == "events" || c.Many.Prompts != nil
}

// tellsOpen reports whether objects have the mass that a form leaves open.
func (c *generateCommand) tellsOpen() bool {
	return c.writesJSON() && c.Form.Asked() != "" && c.Search.asked() == ""
}

// settle checks the flags together, fills in what depends on others, and makes decode's options of
// them. c stays as it is. Vocabulary is left open.
func (c *generateCommand) settle(given map[string]bool) (decode.Options, error) {
	meant := *c
	o, table := &meant.Options, meant.table()
	if err := meant.settleSearch(given); err != nil {
		return *o, err
	}
	o.OpenMass = meant.tellsOpen()
	err := settle(table, given)
	switch {
	case err != nil:
	case o.Top > 0 && !c.writesJSON():
		err = fault.Hint(usagef("--logprobs: --output %s has no room for them", c.Output),
			"--output json and --output events have")
	default:
		err = fault.First(checkEnds(o), checkListed(o, table, given), meant.checkSearch(given),
			c.checkGuesses(), c.Form.Check(), meant.checkExact(given))
	}
	return *o, err
}

// settle checks options that flags have said, and makes them what is meant.
func settle(table []option.Option, given map[string]bool) error {
	err := option.CheckFlags(table, func(flag string) bool { return given[flag] })
	if err == nil {
		option.Settle(table)
		err = option.Check(table)
	}
	if err != nil {
		return fault.Usage{Err: option.ByFlag(err)}
	}
	return nil
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

// checkListed refuses flags for what --samplers does not list.
func checkListed(o *decode.Options, table []option.Option, given map[string]bool) error {
	for i := range table {
		row := &table[i]
		if row.Step != "" && len(row.With) == 0 && given[row.Flag.Name] && !o.Lists(row.Step) {
			return usagef("--%s: want %s in the list of --samplers too", row.Flag.Name, row.Step)
		}
	}
	return nil
}

// wanting calls f with each flag that was given without one that it needs, which is named as want.
func wanting(table []option.Option, given map[string]bool, f func(flag, want string)) {
	option.Wanting(table, func(flag string) bool { return given[flag] }, f)
	for _, flag := range []string{"json-open", "json-closed", "json-strict", "json-space"} {
		if given[flag] && !given["json-schema"] {
			f("--"+flag, "--json-schema")
		}
	}
	for _, flag := range []string{"input-format", "text-field"} {
		if given[flag] && !given["prompts"] {
			f("--"+flag, "--prompts FILE")
		}
	}
}

// checkNeeds refuses flags that need others.
func checkNeeds(table []option.Option, given map[string]bool) (err error) {
	wanting(table, given, func(flag, want string) {
		if err == nil {
			err = usagef("%s: want %s with it", flag, want)
		}
	})
	return err
}

// sampling are the flags that are on and without effect where nothing is drawn, the filters first.
func sampling(table []option.Option) []string { return append(filters(table), others(table)...) }

// filters are the flags of the filters that are on.
func filters(table []option.Option) []string {
	return on(table, func(o *option.Option) bool { return o.Filter })
}

// others are the flags that are on, without effect where nothing is drawn, and no filters.
func others(table []option.Option) []string {
	return on(table, func(o *option.Option) bool { return o.Drawn && !o.Filter })
}

func on(table []option.Option, f func(*option.Option) bool) (flags []string) {
	for i := range table {
		if o := &table[i]; f(o) && o.On() {
			flags = append(flags, o.Flag.Name)
		}
	}
	return flags
}

// withoutEffect tells which of the flags that were given have no effect, and why: those of a
// command's table, as they are meant. Searches refuse what they do not follow.
func withoutEffect(
	table []option.Option, o *decode.Options, given map[string]bool, searches bool,
) (notes []string) {
	note := func(flag, because string) {
		if given[flag] {
			notes = append(notes, fmt.Sprintf("--%s, because %s", flag, because))
		}
	}
	for i := range table {
		row := &table[i]
		if row.Idle == nil || !row.On() {
			continue
		}
		if because := row.Idle(); because != "" {
			note(row.Flag.Name, because)
		}
	}
	for _, flag := range []string{"lookup", "draft"} {
		if o.Guidance.On() {
			note(flag, "--guidance evaluates two texts, and nothing is guessed for them")
		}
	}
	switch {
	case searches:
	case o.Temperature == 0:
		for _, flag := range sampling(table) {
			note(flag, "--temp 0 takes the likeliest token")
		}
	case o.Mirostat.Version != 0:
		for _, flag := range filters(table) {
			note(flag, "--mirostat takes the place of all filters")
		}
	}
	return notes
}

// noteWithout tells of flags without effect.
func (a *app) noteWithout(notes []string) {
	for _, note := range notes {
		a.Notef("without effect: %s", note)
	}
}
