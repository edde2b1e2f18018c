package main

// gpt steer: a control vector, made from prompts of two kinds.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"picogpt/checkpoint"
	"picogpt/cmd/gpt/internal/terminal"
	"picogpt/inside/steer"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/lines"
	"picogpt/internal/outfile"
	"picogpt/internal/rows"
)

type steerCommand struct {
	Positive, Negative *string
	Form               promptForm
	Special            bool
	Method             string
	Batch              int
	Out                *string
	Force              bool
	JSON               bool
}

func newSteer(a *app) *cli.Command {
	c := &steerCommand{}
	return &cli.Command{
		Name: "steer", Group: "look",
		Short: "make a control vector from prompts of two kinds",
		Flags: func(f *cli.Flags) {
			f.Add(&c.Positive, "--positive FILE", "prompts of what the model should write more of")
			f.Add(&c.Negative, "--negative FILE", "prompts of the opposite")
			c.Form.flags(f, "--input, --input-format")
			addSpecial(f, &c.Special)
			f.Add(&c.Method, "--method HOW [mean]",
				`mean: the difference of the means; pca: the first principal component of the
				differences of pairs`).OneOf("mean", "pca")
			f.Add(&c.Batch, "--batch N",
				"how many prompts run together, which changes no bit; default: chosen for speed")
			f.Add(&c.Out, "-o, --out FILE", "the control vector: GGUF, as llama.cpp reads it")
			f.Add(&c.Force, "--force", "write over FILE, if it is there")
			f.Add(&c.JSON, "--json", "print the table as one JSON object")
			a.flags(f, evaluates|cjkSpaces)
		},
		Run: func(*cli.Flags) error { return c.Run(a) },
	}
}

func (c *steerCommand) Run(a *app) error {
	if err := c.check(a); err != nil {
		return err
	}
	positive, err := c.open(a, "--positive", *c.Positive)
	if err != nil {
		return err
	}
	defer positive.Close()
	negative, err := c.open(a, "--negative", *c.Negative)
	if err != nil {
		return err
	}
	defer negative.Close()
	if err := outfile.FlagError("--out",
		outfile.Check(*c.Out, a.writing(c.Force, outfile.GGUF))); err != nil {
		return err
	}
	t, err := a.openTokenizer()
	if err != nil && !errors.Is(err, checkpoint.ErrNoTokenizer) {
		return err
	}
	for _, l := range []*promptList{positive, negative} {
		l.in.Tokenizer, l.in.Missing, l.in.Special = t, err, c.Special
	}
	if err := fault.First(positive.read(), negative.read()); err != nil {
		return err
	}
	a.headless = true
	m, err := a.openModel()
	if err != nil {
		return err
	}
	ctx, release := a.Graceful()
	defer release()
	bar := terminal.NewBar("prompts")
	end := a.ShowBar(bar)
	made, err := steer.Make(ctx, m, positive.ids, negative.ids, steer.Options{
		Method: steer.Method(c.Method), Batch: c.Batch,
		Progress: func(done, total int) { bar.Set(done, total, "") }})
	end()
	if bad, ok := errors.AsType[*steer.PromptError](err); ok {
		of := positive
		if bad.Negative {
			of = negative
		}
		return fmt.Errorf("%s: line %d: %w", of.Name, of.lines[bad.Index], bad.Err)
	} else if err != nil {
		return err
	}
	return c.write(ctx, a, made)
}

// check refuses what can be refused before a file is opened.
func (c *steerCommand) check(a *app) error {
	switch {
	case c.Positive == nil || c.Negative == nil:
		return fault.Hint(usagef("want --positive FILE and --negative FILE"),
			"gpt steer --help says how")
	case *c.Positive == "-" && *c.Negative == "-":
		return usagef("--positive - and --negative -: want stdin for one of them")
	case c.Out == nil:
		return usagef("want --out FILE, the control vector")
	case *c.Out == "-":
		return usagef("--out -: want a file: what is printed is a table")
	}
	return fault.First(a.onProcessor("gpt steer"), fault.NotNegative("--batch", c.Batch))
}

// A promptList is the prompts of a file.
type promptList struct {
	*rows.Reader
	in    lines.PromptReader
	ids   [][]int
	lines []int // on which they begin
}

// open opens a file of prompts.
func (c *steerCommand) open(a *app, flag, name string) (l *promptList, err error) {
	l = &promptList{}
	l.Reader, l.in, err = c.Form.open(a, flag, name)
	return l, err
}

// read reads all prompts. The first that is none is an error: pairs would not be pairs without it.
func (l *promptList) read() error {
	for {
		row, err := l.Next()
		switch {
		case err == io.EOF && len(l.ids) == 0:
			return fmt.Errorf("%s: no prompts", l.Name)
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
		p, is, err := l.in.Row(l.Form, row)
		if err != nil {
			return fmt.Errorf("%s: line %d: %w", l.Name, row.First, err)
		}
		if is {
			l.ids, l.lines = append(l.ids, p.IDs), append(l.lines, row.First)
		}
	}
}

// write writes the vector, and prints the table.
func (c *steerCommand) write(ctx context.Context, a *app, made steer.Made) error {
	err := outfile.WriteFile(ctx, *c.Out, a.writing(c.Force, outfile.GGUF),
		func(w io.Writer) error {
			return made.Vector.Write(w, "gpt2")
		})
	if err != nil || outfile.IsStream(*c.Out) {
		return outfile.FlagError("--out", err)
	}
	type layer struct {
		Layer  int     `json:"layer"`
		Length float64 `json:"length"`
		Stream float64 `json:"stream"`
	}
	all := struct {
		Layers []layer `json:"layers"`
	}{[]layer{}}
	var table bytes.Buffer
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "layer\tlength\tof a stream of\t\n")
	for _, n := range made.Vector.Layers() {
		length, stream := made.Vector.Length(n), made.Stream[n]
		all.Layers = append(all.Layers, layer{n, float64(length), float64(stream)})
		fmt.Fprintf(w, "%d\t%.4g\t%.4g\t\n", n, length, stream)
	}
	w.Flush()
	return a.print(c.JSON, all, table.String())
}
