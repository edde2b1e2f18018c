package main

// gpt choose: how likely each of some texts is, if one of them follows.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"picogpt/cmd/gpt/internal/form"
	"picogpt/cmd/gpt/internal/show"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/quote"
	"picogpt/internal/strictjson"
	"picogpt/model"
	"picogpt/sample"
	"picogpt/search"
	"picogpt/tokenizer"
)

type chooseCommand struct {
	Source optionalPrompt
	form.Form
	search.ChooseOptions
	Heal bool
	JSON bool
}

// An optionalPrompt is a prompt that --prompt may give too.
type optionalPrompt struct {
	Prompt *string
	promptSource
}

func (s *optionalPrompt) flags(f *cli.Flags) {
	s.promptSource.flags(f)
	f.Add(&s.Prompt, "-p, --prompt TEXT", "take TEXT as the prompt, whatever it looks like")
}

// given is promptSource.given with --prompt.
func (s *optionalPrompt) given(a *app) (prompt, error) {
	switch {
	case s.Prompt == nil:
	case len(s.Text.Words) > 0:
		return prompt{}, errPromptAndText()
	case s.Text.File != nil || s.Tokens != nil:
		return prompt{}, usagef("--prompt and another prompt: want one of them")
	default:
		s.Text.Words = []string{*s.Prompt}
	}
	return s.promptSource.given(a)
}

// encoded is given, with ids, and the tokenizer.
func (s *optionalPrompt) encoded(a *app) (prompt, *tokenizer.Tokenizer, error) {
	p, err := s.given(a)
	if err != nil {
		return p, nil, err
	}
	tok, err := a.openTokenizer()
	if err == nil && p.asText {
		err = p.encode(tok.ForPrompts(), s.Special)
	}
	return p, tok, err
}

func newChoose(a *app) *cli.Command {
	c := &chooseCommand{}
	return &cli.Command{
		Name: "choose", Group: "look",
		Short: "show how likely each of some texts is to follow",
		Args:  []cli.Arg{wordsArg(&c.Source.Text)},
		Flags: func(f *cli.Flags) {
			c.Source.flags(f)
			f.Add(&c.Choice, "--choice STRING", "a text that may follow; the flag may be repeated")
			f.Add(&c.Choices, "--choices A,B,C", `texts that may follow; \, is a comma in one`)
			f.Add(&c.End, "--end", "each is the whole text: an end of text follows it")
			f.Add(&c.Suffix, "--suffix STRING", "STRING follows each of them, such as a full stop")
			f.Add(&c.Heal, "--heal", "take back the end of the prompt where it may be in a word")
			f.Add(&c.Precision, "--precision P [0.0001]",
				"go on until at most P of the whole is unseen, from 1e-12 to 1")
			f.Add(&c.Budget, "--budget N [10000]", "evaluate at most N tokens beside the prompt")
			f.Add(&c.JSON, "--json", "print one JSON object")
			a.flags(f, evaluates|edited|cjkSpaces)
		},
		Run: func(f *cli.Flags) error { return c.Run(a, f) },
		Long: `
Shows the probability of each choice if one of them must follow the prompt: the model's own, at
temperature 1 and without filters. They add up to 1. A choice counts with all sequences of tokens
that spell it, and the space before it belongs to it: " yes".

gpt --choice draws one of the choices token by token, and each token from those that the form leaves
open: that favours choices that begin with a likely token. Here a choice has what the model gives to
the whole of it.

Where one choice begins another, both follow at once, and their probabilities cannot be compared:
--end or --suffix tells them apart.

The likeliest spellings are summed first. What is not summed is bounded by the probability of its
beginning, and the last line says how much that is: each probability is at most so far from its true
value.

--json prints one object:

choices	the choices, the likeliest first, as objects
text	the choice
prob	its probability, given that one of the choices follows
logprob	the natural logarithm of its probability by itself, as far as it is summed
unseen	how far a prob is from its true value at most

Examples:

  gpt choose --choices ' yes, no, maybe' "Was Lily happy? The answer is"
  gpt choose --choice ' cat' --choice ' cat and a dog' --end "Lily had a"
  gpt choose --json --suffix . --choices ' sad, happy' "Tom was very"`,
	}
}

func (c *chooseCommand) Run(a *app, f *cli.Flags) error {
	choices, err := c.Strings()
	given := f.Given()
	switch {
	case err != nil:
		return err
	case len(choices) == 0:
		return usagef("no choices: want --choice or --choices")
	case c.Budget < 1:
		return usagef("--budget %d: want 1 or more", c.Budget)
	case c.End && given["suffix"]:
		return usagef("--end and --suffix: want one of them")
	case !(c.Precision >= 1e-12 && c.Precision <= 1):
		return usagef("--precision %v: want a number from 1e-12 to 1", c.Precision)
	}
	p, tok, err := c.Source.encoded(a)
	if err != nil {
		return err
	}
	m, err := a.openModel()
	if err != nil {
		return err
	}
	defer m.Close()
	if c.Heal {
		healing, err := a.heal(m, p.ids)
		if err != nil {
			return err
		}
		p.ids, c.Before = healing.Prompt, healing.Bytes
	}
	found, err := c.choose(a, m, p.ids, tok, choices)
	if err != nil {
		return err
	}
	if found.Unseen > c.Precision {
		a.Notef("--budget %d: %.3g is unseen, more than --precision %v", c.Budget, found.Unseen,
			c.Precision)
	}
	slices.SortStableFunc(found.Choices, func(a, b search.Choice) int {
		return cmp.Compare(b.Prob, a.Prob)
	})
	if c.JSON {
		return strictjson.Print(a.stdout, found)
	}
	_, err = a.stdout.WriteString(chosenTable(found))
	return err
}

func (c *chooseCommand) choose(
	a *app, m *model.Model, ids []int, tok search.Speller, choices []string,
) (search.Choices, error) {
	var rows atomic.Int64
	c.Progress = func(n int, _ float64) { rows.Store(int64(n)) }
	defer a.ShowProgress(func() string { return fmt.Sprintf("%d tokens evaluated", rows.Load()) })()
	s := m.NewSession()
	defer s.Release()
	found, err := search.Choose(context.Background(), s, ids, tok, choices, c.ChooseOptions) // Ctrl-C ends it
	var prefix *search.PrefixError
	var wrong *sample.OptionError
	switch {
	case errors.As(err, &prefix):
		return found, fault.Hint(fault.Usage{Err: err},
			"--end compares whole texts, --suffix . those before a full stop")
	case errors.As(err, &wrong):
		return found, fault.Usage{Err: err}
	}
	return found, err
}

// chosenTable is the choices with bars, and the bound.
func chosenTable(found search.Choices) string {
	const columns = 30
	width := 0
	var names []string
	for _, k := range found.Choices {
		names = append(names, quote.Short(k.Text, 40))
		width = max(width, len([]rune(names[len(names)-1])))
	}
	var b strings.Builder
	for i, k := range found.Choices {
		pad := strings.Repeat(" ", width-len([]rune(names[i])))
		bar := strings.Repeat("█", int(k.Prob*columns+0.5))
		b.WriteString(strings.TrimRight(fmt.Sprintf("%8s  %s%s  %s", show.Percent(k.Prob, 2),
			names[i], pad, bar), " ") + "\n")
	}
	fmt.Fprintf(&b, "\neach within %s, for no more is unseen\n", show.Percent(found.Unseen, 2))
	return b.String()
}
