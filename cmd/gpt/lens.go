package main

// gpt lens, gpt attribute and gpt neuron: what layers, and parts of them, make of a text.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"picogpt/checkpoint"
	"picogpt/cmd/gpt/internal/pages"
	"picogpt/cmd/gpt/internal/show"
	"picogpt/inside"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/lines"
	"picogpt/internal/quote"
	"picogpt/kernels"
	"picogpt/model"
)

// gpt lens: what each layer would predict.

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
			c.Text.addBOS(f)
			f.Add(&c.Target, "--target TOKEN", `show the rank and the probability of TOKEN, such as
				" Paris"; an id if the prompt is given with --tokens`)
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
	err := fault.First(fault.NotNegative("--top", c.Top), c.Out.checkInside(a, "gpt lens", &c.Text))
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
	if c.Tuned != nil {
		if o.Tuned, err = inside.OpenTuned(*c.Tuned, m); err != nil {
			return fault.Hint(fmt.Errorf("--tuned: %w", err),
				"a tuned lens is a folder with config.json and params.pt, made for this model")
		}
		defer o.Tuned.Close()
	}
	return c.show(a, m, &f, o)
}

// show computes what is asked for, and prints it.
func (c *lensCommand) show(a *app, m *model.Model, f *focus, o inside.LensOptions) error {
	page, table, ids := c.Out.Page.HTML != nil, !c.Out.JSON && c.Out.Page.HTML == nil, f.ids
	one := !page && (c.At != nil || table && c.Target != nil)
	switch columns := a.columns(); {
	case one:
		ids, o.From = ids[:f.at+1], f.at
	case table && columns > 0:
		o.From = max(0, len(ids)-show.MostColumns(columns))
	}
	end := a.ShowProgress(func() string { return "reading" })
	lens, err := inside.Lens(context.Background(), m, ids, o) // Ctrl-C ends the process
	end()
	if err != nil {
		return err
	}
	return c.Out.show(a, lens, f.page(a, m, func(p *pages.Picture) error {
		p.View, p.Lens = "lens", f.names.lens(lens)
		return nil
	}), func() error {
		t := show.Lens{LensTable: lens, Name: f.names.name}
		if one {
			return a.printText(t.Column(a.columns()))
		}
		_, err = io.WriteString(a.stdout.Painted(), t.Grid(a.columns(), a.colored(c.Color)))
		return err
	})
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

// gpt attribute: what each part of the model adds to a logit.

type attributeCommand struct {
	Text            promptSource
	Target, Against *string
	At              int
	Top, Neurons    int
	Pairs           pairsFlags
	Out             insideOutput
}

func newAttribute(a *app) *cli.Command {
	c := &attributeCommand{}
	return &cli.Command{
		Name: "attribute", Group: "look",
		Short: "show what each part of the model adds to a logit",
		Args:  []cli.Arg{wordsArg(&c.Text.Text)},
		Flags: func(f *cli.Flags) {
			c.Text.flags(f)
			c.Text.addBOS(f)
			f.Add(&c.Target, "--target TOKEN", `the token whose logit is explained, such as "
				Paris"; an id if the prompt is given with --tokens; default: the likeliest`)
			f.Add(&c.Against, "--against TOKEN",
				"explain its logit less that of this token; default: less the mean of all logits")
			f.Add(&c.At, "--at N [-1]",
				"explain what follows the token at position N, from 0; -1 is the last")
			c.Pairs.flags(f)
			f.Add(&c.Top, "--top K [20]", "show the K largest parts, and the rest as one; 0 is all")
			f.Add(&c.Neurons, "--neurons K [0]", "show the K largest neurons too, of all MLPs")
			c.Out.flags(f)
			a.flags(f, evaluates|edited|cjkSpaces)
		},
		Run: func(*cli.Flags) error { return c.Run(a) },
	}
}

func (c *attributeCommand) Run(a *app) error {
	err := fault.First(fault.NotNegative("--top", c.Top), fault.NotNegative("--neurons", c.Neurons),
		c.Out.checkInside(a, "gpt attribute", &c.Text))
	if err != nil {
		return err
	}
	if c.Pairs.File != nil {
		if c.Target != nil || c.Text.Tokens != nil || c.At != -1 || len(c.Text.Text.Words) > 0 ||
			c.Text.Text.File != nil {
			return usagef("--pairs: want no text, --tokens, --target or --at with it")
		}
		return c.attributeAll(a)
	}
	f, err := a.focus(&c.Text, &c.At, c.Target)
	if err != nil {
		return err
	}
	q := inside.Metric{Target: -1}
	if f.target != nil {
		q.Target = *f.target
	}
	if q.Against, err = f.names.findGiven("--against", c.Against); err != nil {
		return err
	}
	m, err := a.openModel()
	if err != nil {
		return err
	}
	made, err := c.compute(a, m, f.ids[:f.at+1], q)
	if err != nil {
		return err
	}
	shown := &show.Attribution{Tokens: f.ids[:f.at+1], Attribution: made, Name: f.names.name}
	return c.Out.show(a, shown, f.page(a, m, func(p *pages.Picture) error {
		p.View, p.Parts = "attribution", f.names.parts(made, f.at)
		return f.explain(m, made.Metric, p)
	}), func() error { return a.printText(shown.Bars(c.Top, a.columns())) })
}

// compute finds the target, if the flags name none, and what adds to its logit.
func (c *attributeCommand) compute(
	a *app, m *model.Model, ids []int, q inside.Metric,
) (*inside.Attribution, error) {
	if most := m.Config().Positions; len(ids) > most {
		return nil, fmt.Errorf("prompt of %d tokens: want at most %d (n_positions)", len(ids), most)
	}
	defer a.ShowProgress(func() string { return "reading" })()
	ctx := context.Background() // Ctrl-C ends the process
	if c.Target == nil {
		s := m.NewSession()
		defer s.Release()
		if err := m.Eval(ctx, model.Input{Session: s, Tokens: ids}); err != nil {
			return nil, err
		}
		q.Target = kernels.Argmax(s.Logits())
	}
	return inside.Attribute(ctx, m, ids, q,
		inside.AttributeOptions{View: inside.View(a.Edits.As), Neurons: c.Neurons})
}

// parts returns what adds to a logit as a page has it.
func (n *tokenNames) parts(made *inside.Attribution, at int) *pages.Parts {
	p := &pages.Parts{Target: n.name(made.Target), At: at, Difference: made.Difference}
	if made.Against != nil {
		p.Against = n.name(*made.Against)
	}
	for _, part := range made.Parts {
		p.Parts = append(p.Parts, pages.Part(part))
	}
	return p
}

// attributeAll is gpt attribute --pairs.
func (c *attributeCommand) attributeAll(a *app) error {
	names, pairs, err := c.Pairs.orPair(a, &pairSource{Special: c.Text.Special, BOS: c.Text.BOS},
		func() error { return c.Out.checkInside(a, "gpt attribute") })
	if err != nil {
		return err
	}
	var m *model.Model
	set, err := look(a, "pairs", false, func(ctx context.Context, of *model.Model,
		progress func(done, pairs int)) (*inside.PartSet, error) {
		m = of
		return inside.AttributeAll(ctx, m, pairs,
			inside.AttributeOptions{View: inside.View(a.Edits.As), Neurons: c.Neurons}, progress)
	})
	if err != nil {
		return err
	}
	metric := names.said(set.Texts[0].Metric, quoteShort)
	f := &focus{names: names, ids: pairs[0].Clean, at: len(pairs[0].Clean) - 1}
	return c.Out.show(a, set, f.page(a, m, func(p *pages.Picture) error {
		p.View, p.Parts = "attribution", &pages.Parts{About: fmt.Sprintf("Means over %s: the answer's "+
			"logit is %.3f ± %.3f, the sum of what each part adds, the largest first. Text and "+
			"attention are the first pair's.", quote.Count(len(pairs), "pair"), set.Difference.Mean,
			set.Difference.Spread)}
		for _, part := range set.Parts {
			p.Parts.Parts = append(p.Parts.Parts, pages.Part{Name: part.Name, Value: part.Mean})
		}
		return nil
	}), func() error { return a.printText(show.Parts(metric, set, c.Top, 0)) })
}

// gpt neuron: where a neuron is strongest.

type neuronCommand struct {
	Neuron  string
	Files   []string
	Form    promptForm
	Special bool
	Top     int
	JSON    bool

	in   lines.PromptReader
	read int // texts
}

func newNeuron(a *app) *cli.Command {
	c := &neuronCommand{}
	return &cli.Command{
		Name: "neuron", Group: "look",
		Short: "find the texts in which a neuron is strongest",
		Args: []cli.Arg{cli.Word(&c.Neuron, "neuron",
			"LAYER.NEURON, both from 0: 3.17 is number 17 of the MLP of layer 3"),
			cli.Words(&c.Files, "file", "files of texts")},
		Flags: func(f *cli.Flags) {
			c.Form.flags(f, "--input, --input-format")
			addSpecial(f, &c.Special)
			f.Add(&c.Top, "--top K [10]", "the K texts where it is strongest")
			f.Add(&c.JSON, "--json", "print one JSON object")
			a.flags(f, evaluates|edited|cjkSpaces)
		},
		Run: func(*cli.Flags) error { return c.Run(a) },
	}
}

func (c *neuronCommand) Run(a *app) error {
	layer, at, err := a.numbered("neuron", c.Neuron, c.Top)
	if err == nil && len(c.Files) == 0 {
		err = usagef("want files of texts")
	}
	if err != nil {
		return err
	}
	names, err := a.nameTokens(false, &prompt{ids: []int{0}})
	if err != nil {
		return err
	}
	t, err := a.openTokenizer()
	if err != nil && !errors.Is(err, checkpoint.ErrNoTokenizer) {
		return err
	}
	c.in = lines.PromptReader{Tokenizer: t, Missing: err, Special: c.Special}
	found, err := look(a, "texts", false, func(ctx context.Context, m *model.Model,
		progress func(done, texts int)) ([]inside.Strong, error) {
		return inside.Strongest(ctx, m, func(yield func([]int, error) bool) {
			more := true
			for i := 0; i < len(c.Files) && more; i++ {
				err := c.texts(a, c.Files[i], m.Config().Positions, func(ids []int) bool {
					c.read++
					progress(c.read, 0)
					more = yield(ids, nil)
					return more
				})
				if err != nil {
					yield(nil, err)
					return
				}
			}
		}, model.Point{Kind: model.MLPPost, Layer: layer}, at, c.Top)
	})
	if err != nil {
		return err
	}
	return a.print(c.JSON, struct {
		Texts     int             `json:"texts"`
		Strongest []inside.Strong `json:"strongest"`
	}{c.read, found}, show.Strongest(c.read, found, names.name))
}

// texts hands out the texts of a file, those longer than most in parts.
func (c *neuronCommand) texts(a *app, name string, most int, yield func([]int) bool) error {
	source, in, err := c.Form.open(a, "", name)
	if err != nil {
		return err
	}
	defer source.Close()
	c.in.TextField, c.in.Table = in.TextField, in.Table
	for {
		row, err := source.Next()
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		p, _, err := c.in.Row(source.Form, row)
		if err != nil {
			return fmt.Errorf("%s: line %d: %w", name, row.First, err)
		}
		for part := range slices.Chunk(p.IDs, most) {
			if !yield(part) {
				return nil
			}
		}
	}
}
