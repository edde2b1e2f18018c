package main

// gpt tree: the likeliest texts, proven.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"

	"picogpt/cmd/gpt/internal/form"
	"picogpt/cmd/gpt/internal/pages"
	"picogpt/cmd/gpt/internal/show"
	"picogpt/decode"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/quote"
	"picogpt/internal/strictjson"
	"picogpt/kernels"
	"picogpt/sample"
	"picogpt/search"
	"picogpt/tokenizer"
)

type treeCommand struct {
	Source optionalPrompt
	Form   form.Form
	search.TreeOptions
	Heal bool
	JSON bool
	Page pageFile
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
			f.Add(&c.Top, "--top N",
				"the N likeliest texts; 0 is any number; default: 20, or any number with --min-prob")
			f.Add(&c.MaxTokens, "-n, --max-tokens N [8]",
				"a text is complete with N tokens; 0, and -1, is at the end of the context")
			f.Add(&c.Budget, "--budget N [10000]",
				"evaluate at most N tokens beside the prompt; 0 is no bound, and needs --min-prob")
			f.Add(&c.Heal, "--heal", "take back the end of the prompt where it may be in a word")
			f.Add(&c.JSON, "--json", "print one JSON object")
			c.Page.flags(f)
			formFlags(f, &c.Form)
			a.flags(f, evaluates|edited|cjkSpaces)
		},
		Run: func(f *cli.Flags) error { return c.Run(a, f) },
		Long: `
Finds the likeliest texts that may follow the prompt, each with its probability. A text is a
sequence of tokens that has ended, or has -n tokens, at temperature 1 and without filters; the same
characters in other tokens are another text. Under a form only texts of the form count, with the
probability that the model gives them without it. With --heal each text begins with the characters
that were taken back from the prompt.

The likeliest beginnings are extended first, so that a text is printed when no other can be
likelier. The last line says what the texts have together, and how likely another one can be at
most. If --budget is spent before, the order is not proven, and that line says how far.

--json prints one object:

texts	the likeliest first, as objects
text	its characters
ids	its tokens
prob	its probability
logprob	the natural logarithm of that
finish	end_of_text, length or stop, as in gpt generate
total	the probability of these texts together
rest	no other text is likelier
unseen	what all other texts have together at most
rows	how many tokens were evaluated beside the prompt

Ctrl-C prints what has been found.

Examples:

  gpt tree --min-prob 0.01 -n 8 "The cat"
  gpt tree --top 5 --regex ' [A-Z][a-z]+' "Her name was"
  gpt tree --html tree.html -n 4 "Once upon a"`,
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
	if c.JSON && c.Page.HTML != nil {
		return usagef("--json and --html: want one of them")
	}
	err := fault.First(c.check(), c.Form.Check(), c.Page.check(a, &c.Source.promptSource))
	if err != nil {
		return err
	}
	if flag := c.Form.OfStdin(); flag != "" {
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
		for _, name := range [][2]string{{"least probability", "--min-prob"}, {"budget", "--budget"},
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
	defer m.Close()
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
	switch {
	case c.JSON:
		return strictjson.Print(a.stdout, found)
	case c.Page.HTML != nil:
		return c.Page.write(a, func(w io.Writer) error { return found.page(a.modelName(), p.text, w) })
	}
	var b strings.Builder
	for _, t := range found.Texts {
		fmt.Fprintf(&b, "%8s  %s\n", show.Percent(t.Prob, 2), quote.Short(t.Text, 10000))
	}
	if len(found.Texts) > 0 {
		b.WriteString("\n")
	}
	b.WriteString(found.summary() + "\n")
	_, err := a.stdout.WriteString(b.String())
	return err
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
