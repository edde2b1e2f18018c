package main

// The flags of gpt generate, checked, and what they mean to package decode.

import (
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
		file == nil && prompts == nil && len(p.Text.Words) == 0 && p.Prompt == nil && p.Tokens == nil:
		return usagef("%s -: want a file, because stdin has the prompt", flag)
	}
	return nil
}

// writesJSON reports whether the output is objects.
func (c *generateCommand) writesJSON() bool {
	return c.Output == "json" || c.Output == "events" || c.Many.Prompts != nil
}

// settle checks the flags together, fills in what depends on others, and makes decode's options of
// them. c stays as it is. Vocabulary is left open.
func (c *generateCommand) settle(given map[string]bool) (decode.Options, error) {
	meant := *c
	o, table := &meant.Options, meant.table()
	if err := meant.settleSearch(given); err != nil {
		return *o, err
	}
	err := settle(table, given)
	switch {
	case err != nil:
	case o.Top > 0 && !c.writesJSON():
		err = fault.Hint(usagef("--logprobs: --output %s has no room for them", c.Output),
			"--output json and --output events have")
	default:
		err = fault.First(checkEnds(o), checkListed(o, table, given), meant.checkSearch(given),
			c.checkGuesses(), c.Form.Check())
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
