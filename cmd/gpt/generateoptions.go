package main

// The flags of gpt generate, checked, and what they mean to package decode.

import (
	"math/rand/v2"

	"picogpt/decode"
	"picogpt/internal/fault"
	"picogpt/internal/genflags"
)

// options checks the flags and makes decode's options of them. Vocabulary is left open.
func (c *generateCommand) options() (decode.Options, error) {
	o, err := c.Usual.Options()
	if err != nil {
		return o, fault.Usage{Err: err}
	}
	if err := setChoosing(&o, &c.Filters, &c.Steering); err != nil {
		return o, err
	}
	switch {
	case c.LogProbs < 0:
		return o, usagef("--logprobs %d: want 0 or more", c.LogProbs)
	case c.LogProbs > 0 && !c.writesJSON():
		return o, fault.Hint(usagef("--logprobs: --output %s has no room for them", c.Output),
			"--output json and --output events have")

	}
	o.Top = c.LogProbs
	o.Seed = uint64(rand.Uint32()) // short enough to type
	if c.Seed != nil {
		o.Seed = *c.Seed
	}
	if err := genflags.Check(o); err != nil {
		return o, fault.Usage{Err: err}
	}
	return o, nil
}

// takeStdin lets an option have stdin for its file, unless the prompt comes from there.
func (c *generateCommand) takeStdin(a *app) error {
	flag, p := c.Form.ofStdin(), &c.Prompt
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

// settle checks the flags together, fills in what depends on others, and makes decode's options.
func (c *generateCommand) settle(given map[string]bool) (decode.Options, error) {
	if err := c.settleSearch(given); err != nil {
		return decode.Options{}, err
	}
	o, err := c.options()
	if err == nil {
		err = c.Filters.checkListed(&o, given)
	}
	if err == nil {
		err = c.Search.check(o, given)
	}
	if err == nil {
		err = c.checkGuesses()
	}
	if err == nil {
		err = c.Form.check()
	}
	return o, err
}
