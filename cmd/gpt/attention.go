package main

// gpt attention: where each head of attention looks.

import (
	"context"
	"fmt"
	"slices"

	"picogpt/cmd/gpt/internal/pages"
	"picogpt/cmd/gpt/internal/show"
	"picogpt/cmd/gpt/internal/terminal"
	"picogpt/inside"
	"picogpt/internal/cli"
	"picogpt/model"
)

type attentionCommand struct {
	Prompt promptSource
	Head   *string
	Repeat *int
	Seed   uint64
	Out    insideOutput
}

func newAttention(a *app) *cli.Command {
	c := &attentionCommand{}
	return &cli.Command{
		Name: "attention", Group: "look",
		Short: "show where each head of attention looks",
		Args:  []cli.Arg{wordsArg(&c.Prompt.Text)},
		Flags: func(f *cli.Flags) {
			c.Prompt.flags(f)
			f.Add(&c.Repeat, "--repeat N",
				"in place of a text, take N random tokens twice, which only induction can continue")
			f.Add(&c.Seed, "--seed S [0]", "the seed of --repeat")
			f.Add(&c.Head, "--head LAYER.HEAD",
				`show the weights of one head, token by token: 3.1 is head 1 of layer 3, both from
				0`)
			c.Out.flags(f)
			a.flags(f, evaluates|edited|cjkSpaces)
		},
		Run: func(*cli.Flags) error { return c.Run(a) },
	}
}

func (c *attentionCommand) Run(a *app) error {
	if err := c.check(a); err != nil {
		return err
	}
	var p prompt
	var err error
	if c.Repeat == nil {
		if p, err = c.Prompt.given(a); err != nil {
			return err
		}
	} else {
		a.files.LeaveStdin()
		p.ids = []int{0} // until the model is known
	}
	names, err := a.nameTokens(c.Prompt.Special, &p)
	if err != nil {
		return err
	}
	m, err := a.openModel()
	if err != nil {
		return err
	}
	defer m.Close()
	o := inside.HeadsOptions{}
	if c.Repeat != nil {
		if p.ids, err = inside.Repeated(m, *c.Repeat, c.Seed); err != nil {
			return usagef("--%w", err)
		}
		o.From = *c.Repeat + 1
	}
	if err := a.Edits.within(len(p.ids)); err != nil {
		return err
	}
	return c.show(a, m, names, p.ids, o)
}

// check refuses what can be refused before a file is opened.
func (c *attentionCommand) check(a *app) error {
	if c.Repeat != nil {
		if c.Prompt.Tokens != nil || c.Prompt.Text.File != nil || len(c.Prompt.Text.Words) > 0 {
			return usagef("--repeat and a text: want one of them")
		}
		if *c.Repeat < 1 {
			return usagef("--repeat %d: want 1 or more", *c.Repeat)
		}
	}
	if c.Head != nil && headName().FindStringSubmatch(*c.Head) == nil {
		return usagef("--head %s: want LAYER.HEAD, such as 3.1", quoteShort(*c.Head))
	}
	return c.Out.checkInside(a, "gpt attention", &c.Prompt)
}

// show computes the scores and prints what is asked for.
func (c *attentionCommand) show(
	a *app, m *model.Model, names *tokenNames, ids []int, o inside.HeadsOptions,
) error {
	layer, head, err := c.head(m.Config())
	if err != nil {
		return err
	}
	page := names.picture(a, m, ids)
	page.Layer, page.Head = layer, head
	if c.Out.Page.HTML != nil { // Heads refuses a text that is longer than n_positions
		page.Attention = pages.NewAttention(page.Layers, page.Heads,
			min(len(ids), m.Config().Positions))
	}
	weights := make([][]float32, len(ids)) // of the head
	o.Pattern = func(at, position int, pattern []float32) {
		if page.Attention != nil {
			page.Attention.Take(at, position, pattern)
		}
		if n := position + 1; c.Head != nil && at == layer {
			weights[position] = slices.Clone(pattern[head*n : (head+1)*n])
		}
	}
	end := a.ShowProgress(func() string { return fmt.Sprintf("reading %d tokens", len(ids)) })
	table, err := inside.Heads(context.Background(), m, ids, o) // Ctrl-C ends the process
	end()
	if err != nil {
		return err
	}
	shown := &show.Attention{HeadTable: table}
	if c.Head != nil {
		at := layer*page.Heads + head
		shown.Heads, shown.Pattern = table.Heads[at:at+1], weights
	}
	return c.Out.show(a, shown, page.Page, func() error {
		text := shown.Table(a.columns())
		if c.Head != nil {
			var tokens []string
			for _, id := range shown.Tokens {
				tokens = append(tokens, quoteShort(names.name(id)))
			}
			text += "\n" + shown.Picture(tokens, terminal.Columns(a.stdout.File))
		}
		return a.printText(text)
	})
}

// head returns the layer and the head of --head, 0.0 without it.
func (c *attentionCommand) head(of model.Config) (layer, head int, err error) {
	if c.Head == nil {
		return 0, 0, nil
	}
	e, _ := parseAblate(*c.Head) // check has seen that it is a head
	if wrong := inModel(of, e); wrong != "" {
		return 0, 0, usagef("--head %s: %s", *c.Head, wrong)
	}
	return e.At.Layer, e.Head, nil
}
