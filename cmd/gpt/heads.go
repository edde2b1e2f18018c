package main

// gpt attention and gpt circuit: heads, by where they look and by their weights.

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"picogpt/cmd/gpt/internal/pages"
	"picogpt/cmd/gpt/internal/show"
	"picogpt/cmd/gpt/internal/terminal"
	"picogpt/inside"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/model"
)

// gpt attention: where each head of attention looks.

type attentionCommand struct {
	Prompt promptSource
	Head   *string
	Repeat *int
	Seed   uint64
	Detect detectFlags
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
			c.Prompt.addBOS(f)
			f.Add(&c.Repeat, "--repeat N",
				"in place of a text, take N random tokens twice, which only induction can continue")
			f.Add(&c.Seed, "--seed S [0]", "the seed of --repeat")
			f.Add(&c.Head, "--head LAYER.HEAD", `show the weights of one head, token by token: 3.1
				is head 1 of layer 3, both from 0`)
			c.Detect.flags(f)
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
	o := inside.HeadsOptions{}
	if c.Repeat != nil {
		if p.ids, err = inside.Repeated(m, *c.Repeat, c.Seed); err != nil {
			return usagef("--%w", err)
		}
		o.From = *c.Repeat + 1
	}
	o.Detect, err = c.Detect.detector(a, p.ids)
	if err = fault.First(err, a.Edits.within(len(p.ids))); err != nil {
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
	layer, head := 0, 0
	if c.Head != nil {
		e, _ := parseAblate(*c.Head, mostLayers) // check has seen that it is a head
		if wrong := inModel(m.Config(), e); wrong != "" {
			return usagef("--head %s: %s", *c.Head, wrong)
		}
		layer, head = e.At.Layer, e.Head
	}
	weights := make([][]float32, len(ids)) // of the head
	o.Pattern = func(at, position int, pattern []float32) {
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
		at := layer*m.Config().Head + head
		shown.Heads, shown.Pattern = table.Heads[at:at+1], weights
	}
	f := &focus{names: names, ids: ids, at: len(ids) - 1}
	return c.Out.show(a, shown, f.page(a, m, func(p *pages.Picture) error {
		p.Layer, p.Head = layer, head
		return nil
	}), func() error {
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

// detectFlags are the pattern that heads of gpt attention are compared with.
type detectFlags struct {
	Pattern                    *string
	Measure                    string
	ExcludeBOS, ExcludeCurrent bool
}

func (d *detectFlags) flags(f *cli.Flags) {
	f.Add(&d.Pattern, "--pattern WHAT", `compare what heads look at with a pattern: previous,
		duplicate, induction, or a file: a JSON array with a row of numbers for each token`)
	f.Add(&d.Measure, "--measure HOW [mul]", `with --pattern: mul, the share of all weights that it
		has; abs, 1 less the mean absolute difference of a token`).OneOf("mul", "abs")
	f.Add(&d.ExcludeBOS, "--exclude-bos", "with --pattern: without the first token's column")
	f.Add(&d.ExcludeCurrent, "--exclude-current", "with --pattern: without each token's own weight")
}

// detector returns what the flags say, for a text; nil where there is no pattern.
func (d *detectFlags) detector(a *app, ids []int) (*inside.Detector, error) {
	if d.Pattern == nil {
		if d.Measure != "mul" || d.ExcludeBOS || d.ExcludeCurrent {
			return nil, usagef("--measure and --exclude-...: want --pattern with them")
		}
		return nil, nil
	}
	by := &inside.Detector{Measure: d.Measure, ExcludeBOS: d.ExcludeBOS,
		ExcludeCurrent: d.ExcludeCurrent, Pattern: inside.NamedPattern(*d.Pattern, ids)}
	if by.Pattern != nil {
		return by, nil
	}
	text, err := a.files.Limited(*d.Pattern, "--pattern", 64<<20)
	if err == nil && json.Unmarshal([]byte(text), &by.Pattern) != nil {
		err = fmt.Errorf("%s: want a JSON array of arrays of numbers", *d.Pattern)
	}
	if err != nil {
		err = fault.Hint(err, "--pattern is previous, duplicate, induction or a file")
	}
	return by, err
}

// gpt circuit: what a head reads and writes.

type circuitCommand struct {
	Head    string
	Options inside.CircuitOptions
	JSON    bool
}

func newCircuit(a *app) *cli.Command {
	c := &circuitCommand{}
	return &cli.Command{
		Name: "circuit", Group: "look",
		Short: "show what a head reads and writes, from its weights alone",
		Args: []cli.Arg{cli.Word(&c.Head, "head",
			"LAYER.HEAD, both from 0: 3.1 is head 1 of layer 3")},
		Flags: func(f *cli.Flags) {
			f.Add(&c.Options.Pairs, "--pairs K [10]",
				"the K greatest pairs of tokens, which take the most work; 0 is none")
			f.Add(&c.Options.Vectors, "--vectors K [3]", "the vectors of the K greatest singular values")
			f.Add(&c.Options.Top, "--top K [5]", "the K tokens that each vector is most like")
			f.Add(&c.JSON, "--json", "print one JSON object")
			a.flags(f, evaluates|cjkSpaces)
		},
		Run: func(*cli.Flags) error { return c.Run(a) },
	}
}

// numbered reads LAYER.NUMBER, and what can be refused before a file is opened.
func (a *app) numbered(what, value string, counts ...int) (layer, at int, err error) {
	m := headName().FindStringSubmatch(value)
	if m == nil {
		return 0, 0, usagef("%s: want LAYER.NUMBER such as 3.1, both from 0", quoteShort(value))
	}
	if slices.Min(counts) < 0 {
		return 0, 0, usagef("%d: want 0 or more", slices.Min(counts))
	}
	return number(m[1]), number(m[2]), a.onProcessor("gpt " + what)
}

func (c *circuitCommand) Run(a *app) error {
	o := &c.Options
	layer, head, err := a.numbered("circuit", c.Head, o.Pairs, o.Vectors, o.Top)
	if err != nil {
		return err
	}
	a.files.LeaveStdin()
	names, err := a.nameTokens(false, &prompt{ids: []int{0}})
	if err != nil {
		return err
	}
	m, err := a.openModel()
	if err != nil {
		return err
	}
	if format := m.Format(); format == "q8" || format == "q4" {
		a.Notef("%s: the weights are the values that it stands for", format)
	}
	end := a.ShowProgress(func() string { return "multiplying" })
	found, err := inside.ReadCircuit(context.Background(), m, layer, head, *o) // until Ctrl-C
	end()
	if err != nil {
		return err
	}
	return a.print(c.JSON, found, show.Circuit(found, names.name))
}
