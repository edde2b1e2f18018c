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
		b.WriteString(strings.TrimRight(fmt.Sprintf("%8s  %s%s  %s", percent(k.Prob), names[i], pad,
			bar), " ") + "\n")
	}
	fmt.Fprintf(&b, "\neach within %s, for no more is unseen\n", percent(found.Unseen))
	return b.String()
}

// percent is a probability as choices and trees show it.
func percent(p float64) string { return show.Percent(p, 2) }
