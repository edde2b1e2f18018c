package main

// gpt lens: what each layer would predict.

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"picogpt/cmd/gpt/internal/pages"
	"picogpt/cmd/gpt/internal/show"
	"picogpt/inside"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/strictjson"
	"picogpt/model"
)

type lensCommand struct {
	Text   promptSource
	Target *string
	At     *int
	Tuned  *string
	Top    int
	Color  string
	Out    insideOutput
}

func newLens(a *app) *cli.Command {
	c := &lensCommand{}
	return &cli.Command{
		Name: "lens", Group: "look",
		Short: "show what each layer would predict",
		Args:  []cli.Arg{wordsArg(&c.Text.Text)},
		Flags: func(f *cli.Flags) {
			c.Text.flags(f)
			f.Add(&c.Target, "--target TOKEN",
				`show the rank and the probability of TOKEN, such as " Paris"; an id if the prompt is given
				with --tokens`)
			f.Add(&c.At, "--at N",
				"show what would follow the token at position N alone, from 0; -1 is the last")
			f.Add(&c.Tuned, "--tuned DIR",
				"translate each layer with a tuned lens: a folder with config.json and params.pt")
			f.Add(&c.Top, "--top K [5]", "the K likeliest tokens of each layer")
			c.Out.flags(f)
			addColor(f, &c.Color)
			a.flags(f, evaluates|edited|cjkSpaces)
		},
		Run: func(*cli.Flags) error { return c.Run(a) },
	}
}

func (c *lensCommand) Run(a *app) error {
	if c.Tuned != nil {
		for _, name := range []string{"config.json", "params.pt"} {
			a.files.WillRead(filepath.Join(*c.Tuned, name), "--tuned")
		}
	}
	err := fault.First(fault.NotNegative("--top", c.Top), c.Out.check(a, "gpt lens", &c.Text))
	if err != nil {
		return err
	}
	f, err := a.focus(&c.Text, c.At, c.Target)
	if err != nil {
		return err
	}
	o := inside.LensOptions{Top: c.Top, Target: f.target}
	m, err := a.openModel()
	if err != nil {
		return err
	}
	defer m.Close()
	if c.Tuned != nil {
		if o.Tuned, err = inside.OpenTuned(*c.Tuned, m); err != nil {
			return fault.Hint(fmt.Errorf("--tuned: %w", err),
				"a tuned lens is a folder with config.json and params.pt, made for this model")
		}
		defer o.Tuned.Close()
	}
	return c.show(a, m, f.names, f.ids, f.at, o)
}

// show computes what is asked for, and prints it.
func (c *lensCommand) show(
	a *app, m *model.Model, names *tokenNames, ids []int, at int, o inside.LensOptions,
) error {
	page, table := c.Out.Page.HTML != nil, !c.Out.JSON && c.Out.Page.HTML == nil
	one := !page && (c.At != nil || table && c.Target != nil)
	switch columns := a.columns(); {
	case one:
		ids, o.From = ids[:at+1], at
	case table && columns > 0:
		o.From = max(0, len(ids)-show.MostColumns(columns))
	}
	lens, err := c.compute(a, m, ids, o)
	switch {
	case err != nil:
		return err
	case page:
		p := names.picture(a, m, ids)
		p.At, p.View, p.Lens = at, "lens", names.lens(lens)
		if err := addAttention(p, m, ids); err != nil {
			return err
		}
		return c.Out.Page.write(a, p.Page)
	case c.Out.JSON:
		return strictjson.Print(a.stdout, lens)
	}
	t := show.Lens{LensTable: lens, Name: names.name}
	if one {
		_, err = a.stdout.WriteString(t.Column(a.columns()))
		return err
	}
	_, err = io.WriteString(a.stdout.Painted(), t.Grid(a.columns(), a.colored(c.Color)))
	return err
}

func (c *lensCommand) compute(
	a *app, m *model.Model, ids []int, o inside.LensOptions,
) (*inside.LensTable, error) {
	defer a.ShowProgress(func() string { return "reading" })()
	return inside.Lens(context.Background(), m, ids, o) // Ctrl-C ends the process
}

// lens returns a table as a page has it.
func (n *tokenNames) lens(t *inside.LensTable) *pages.Lens {
	l := &pages.Lens{First: t.From}
	if t.Target != nil {
		l.Target = n.name(*t.Target)
	}
	for _, row := range t.Layers {
		cells := make([]pages.Cell, len(row))
		for i, c := range row {
			cells[i] = pages.Cell{Entropy: c.Entropy, KL: c.KL, Rank: c.Rank}
			for j, id := range c.Top {
				cells[i].Top = append(cells[i].Top, pages.Choice{Token: n.name(id), P: c.P[j]})
			}
		}
		l.Layers = append(l.Layers, cells)
	}
	return l
}
