package main

// gpt choose and gpt tree: how likely texts are, those given and the likeliest.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"

	"picogpt/cmd/gpt/internal/pages"
	"picogpt/cmd/gpt/internal/show"
	"picogpt/decode"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/quote"
	"picogpt/kernels"
	"picogpt/model"
	"picogpt/sample"
	"picogpt/search"
	"picogpt/tokenizer"
)

// gpt choose: how likely each of some texts is, if one of them follows.

type chooseCommand struct {
	Source optionalPrompt
	textForm
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

// encoded returns the prompt, with ids, and the tokenizer.
func (s *optionalPrompt) encoded(a *app) (p prompt, t *tokenizer.Tokenizer, err error) {
	switch {
	case s.Prompt == nil:
	case len(s.Text.Words) > 0:
		return p, nil, errPromptAndText()
	case s.Text.File != nil || s.Tokens != nil:
		return p, nil, usagef("--prompt and another prompt: want one of them")
	default:
		s.Text.Words = []string{*s.Prompt}
	}
	if p, err = s.given(a); err != nil {
		return p, nil, err
	}
	tok, err := a.openTokenizer()
	if err == nil && p.asText {
		p.ids, err = encode(tok.ForPrompts(), p.text, s.Special)
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
	choices, err := c.choices()
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
	return a.print(c.JSON, found, chosenTable(found))
}

func (c *chooseCommand) choose(
	a *app, m *model.Model, ids []int, tok search.Speller, choices []string,
) (search.Choices, error) {
	var rows atomic.Int64
	c.Progress = func(n int, _ float64) { rows.Store(int64(n)) }
	defer a.ShowProgress(func() string { return fmt.Sprintf("%d tokens evaluated", rows.Load()) })()
	s := m.NewSession()
	defer s.Release()
	ctx := context.Background() // Ctrl-C ends the process
	found, err := search.Choose(ctx, s, ids, tok, choices, c.ChooseOptions)
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

// gpt tree: the likeliest texts, proven.

type treeCommand struct {
	Source optionalPrompt
	Form   textForm
	search.TreeOptions
	Heal bool
	Out  insideOutput
}

func newTree(a *app) *cli.Command {
	c := &treeCommand{}
	return &cli.Command{
		Name: "tree", Group: "look",
		Short: "find the likeliest texts, and prove that they are",
		Args:  []cli.Arg{wordsArg(&c.Source.Text)},
		Flags: func(f *cli.Flags) {
			c.Source.flags(f)
			f.Add(&c.MinProb, "--min-prob P [0]", "all texts whose probability is at least P")
			f.Add(&c.Top, "--top N", `the N likeliest texts; 0 is any number; default: 20, or any
				number with --min-prob`)
			f.Add(&c.MaxTokens, "-n, --max-tokens N [8]",
				"a text is complete with N tokens; 0, and -1, is at the end of the context")
			f.Add(&c.Budget, "--budget N [10000]",
				"evaluate at most N tokens beside the prompt; 0 is no bound, and needs --min-prob")
			f.Add(&c.Heal, "--heal", "take back the end of the prompt where it may be in a word")
			c.Out.flags(f)
			formFlags(f, &c.Form)
			a.flags(f, evaluates|edited|cjkSpaces)
		},
		Run: func(f *cli.Flags) error { return c.Run(a, f) },
	}
}

// A treeText is a text in JSON.
type treeText struct {
	Text    string  `json:"text"`
	IDs     []int   `json:"ids"`
	Prob    float64 `json:"prob"`
	LogProb float64 `json:"logprob"`
	Finish  string  `json:"finish"`

	tokens []decode.Token
}

// A treeFound is what is printed.
type treeFound struct {
	Texts  []treeText `json:"texts"`
	Total  float64    `json:"total"`
	Rest   float64    `json:"rest"`
	Unseen float64    `json:"unseen"`
	Rows   int        `json:"rows"`
}

func (c *treeCommand) Run(a *app, f *cli.Flags) error {
	given := f.Given()
	if !given["top"] && c.MinProb == 0 {
		c.Top = 20
	}
	err := fault.First(c.Out.checkOne(), c.check(), c.Form.check(),
		c.Out.check(a, &c.Source.promptSource))
	if err != nil {
		return err
	}
	if flag := c.Form.ofStdin(); flag != "" {
		a.files.StdinTaken = true
		if c.Source.Prompt == nil && len(c.Source.Text.Words) == 0 && c.Source.Tokens == nil &&
			(c.Source.Text.File == nil || *c.Source.Text.File == "-") {
			return usagef("%s -: want a file, because stdin has the prompt", flag)
		}
	}
	p, tok, err := c.Source.encoded(a)
	if err != nil {
		return err
	}
	return c.find(a, tok, &p)
}

// check refuses options by the names of their flags.
func (c *treeCommand) check() error {
	if c.MaxTokens == -1 { // as gpt generate has it
		c.MaxTokens = 0
	}
	var wrong *sample.OptionError
	if err := c.Check(); errors.As(err, &wrong) {
		text := err.Error()
		for _, name := range [][2]string{
			{"least probability", "--min-prob"}, {"budget", "--budget"},
			{"top", "--top"}, {"tokens", "--max-tokens"}} {
			text = strings.Replace(text, name[0]+" ", name[1]+" ", 1)
		}
		return fault.Usage{Err: errors.New(text)}
	}
	return nil
}

// find finds the texts, and prints them.
func (c *treeCommand) find(a *app, tok *tokenizer.Tokenizer, p *prompt) error {
	a.chooses = true
	m, err := a.openModel()
	if err != nil {
		return err
	}
	var o decode.Options
	if err := a.openForm(&c.Form, m, tok, &o); err != nil {
		return err
	}
	c.Constraint, c.Vocabulary = o.Constraint, tok
	if c.Heal {
		healing, err := a.heal(m, p.ids)
		if err != nil {
			return err
		}
		p.ids, c.Constraint = healing.Prompt, healing.Matcher(c.Constraint)
	}
	ctx, release := a.Graceful()
	defer release()
	var rows atomic.Int64
	c.Progress = func(n int) { rows.Store(int64(n)) }
	end := a.ShowProgress(func() string { return fmt.Sprintf("%d tokens evaluated", rows.Load()) })
	s := m.NewSession()
	defer s.Release()
	tree, err := search.NewTree(ctx, s, p.ids, c.TreeOptions)
	if err != nil {
		end()
		return err
	}
	defer tree.Close()
	found, err := collectTree(ctx, tree)
	end()
	if err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return fault.First(c.print(a, p, found), err)
}

// collectTree returns the texts of a tree, with an error those before it.
func collectTree(ctx context.Context, tree *search.Tree) (*treeFound, error) {
	found := &treeFound{Texts: []treeText{}}
	var failed error
	for text, err := range tree.Texts(ctx) {
		if failed = err; err != nil {
			break
		}
		t := treeText{IDs: []int{}, LogProb: text.LogProb, Prob: kernels.Exp64(text.LogProb),
			tokens: text.Tokens}
		for _, token := range text.Tokens {
			t.IDs, t.Text, t.Finish = append(t.IDs, token.ID), t.Text+token.Text, token.Finish
		}
		found.Texts = append(found.Texts, t)
		found.Total += t.Prob
	}
	found.Rest, found.Unseen, found.Rows = tree.Rest(), tree.Unseen(), tree.Rows()
	return found, failed
}

func (c *treeCommand) print(a *app, p *prompt, found *treeFound) error {
	page := func(w io.Writer) error { return found.page(a.modelName(), p.text, w) }
	var b strings.Builder
	for _, t := range found.Texts {
		fmt.Fprintf(&b, "%8s  %s\n", show.Percent(t.Prob, 2), quote.Short(t.Text, 10000))
	}
	if len(found.Texts) > 0 {
		b.WriteString("\n")
	}
	b.WriteString(found.summary() + "\n")
	return c.Out.show(a, found, page, func() error { return a.printText(b.String()) })
}

// summary says what the texts have together, and what another one can have.
func (t *treeFound) summary() string {
	text := fmt.Sprintf("%s, %s together; no other above %s", quote.Count(len(t.Texts), "text"),
		show.Percent(t.Total, 2), show.Percent(t.Rest, 2))
	if n := len(t.Texts); n > 0 && t.Rest > t.Texts[n-1].Prob*(1+0x1p-40) {
		text += ": the budget is spent, and more of them may be likelier"
	}
	return text
}

// page draws the tree.
func (t *treeFound) page(model, prompt string, w io.Writer) error {
	page := pages.Tree{Model: model, Prompt: prompt, Summary: t.summary()}
	for _, text := range t.Texts {
		drawn, log := pages.TreeText{Prob: text.Prob}, 0.0
		for _, token := range text.tokens {
			log += token.LogProb
			drawn.Tokens = append(drawn.Tokens, pages.TreeToken{ID: token.ID, Text: token.Text,
				Prob: kernels.Exp64(log), End: token.Finish == decode.FinishEndOfText})
		}
		page.Texts = append(page.Texts, drawn)
	}
	return page.Write(w)
}
