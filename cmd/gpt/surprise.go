package main

// gpt surprise: how surprising each token of a text is, as a picture.

import (
	"cmp"
	"context"

	"picogpt/cmd/gpt/internal/pages"
	"picogpt/eval"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/lines"
	"picogpt/internal/webparts"
)

type surpriseCommand struct {
	Text  promptSource
	By    string
	Out   insideOutput
	BOS   bool
	Top   int
	Color string
}

func newSurprise(a *app) *cli.Command {
	c := &surpriseCommand{}
	return &cli.Command{
		Name: "surprise", Group: "look",
		Short: "show how surprising each token of a text is",
		Args:  []cli.Arg{wordsArg(&c.Text.Text)},
		Flags: func(f *cli.Flags) {
			c.Text.flags(f)
			f.Add(&c.By, "--by SCALE [rank]",
				`what the colours show: rank (how many tokens the model thought likelier) or
				surprisal (in bits)`).OneOf("rank", "surprisal")
			c.Out.Page.flags(f)
			f.Add(&c.Out.JSON, "--json", "print one JSON object, which is that of gpt score --text")
			f.Add(&c.BOS, "--bos",
				"put <|endoftext|> before the text, so that its first token has a colour too")
			f.Add(&c.Top, "--top K",
				"how many alternatives the page shows for each token; default: 8")
			addColor(f, &c.Color)
			a.flags(f, evaluates|cjkSpaces)
		},
		Run: func(*cli.Flags) error { return c.Run(a) },
	}
}

func (c *surpriseCommand) Run(a *app) error {
	err := fault.First(fault.NotNegative("--top", c.Top), c.Out.check(a, &c.Text))
	if err != nil {
		return err
	}
	p, err := c.Text.given(a)
	if err != nil {
		return err
	}
	t, err := p.shownBy(a, c.Text.Special, lines.IDs{Before: " "})
	if err != nil {
		return err
	}
	picture := pages.Surprise{Model: a.modelName(), By: webparts.Scale(c.By)}
	picture.Score, err = c.score(a, eval.Request{Tokens: p.ids}, t)
	if err != nil {
		return err
	}
	record := picture.Score.Record()
	record.Line = 1
	return c.Out.show(a, record, picture.Page, func() error {
		if a.colored(c.Color) {
			return picture.Terminal(a.stdout.Painted())
		}
		return picture.Table(a.stdout)
	})
}

// score is the text's score.
func (c *surpriseCommand) score(a *app, r eval.Request, t eval.Tokenizer) (eval.Scored, error) {
	m, err := a.openModel()
	if err != nil {
		return eval.Scored{}, err
	}
	o := eval.ScoreOptions{BOS: c.BOS}
	switch {
	case c.Out.JSON:
		o.Top = c.Top
	case c.Out.Page.HTML != nil:
		o.Top = cmp.Or(c.Top, 8)
	}
	defer a.ShowProgress(func() string { return "reading" })()
	return eval.ScoreOne(context.Background(), m, t, r, o)
}
