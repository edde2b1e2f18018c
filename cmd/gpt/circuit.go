package main

// gpt circuit and gpt neuron: what a head's weights say, and where a neuron is strong. Patterns of
// one's own for gpt attention.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"picogpt/checkpoint"
	"picogpt/cmd/gpt/internal/show"
	"picogpt/inside"
	"picogpt/internal/cli"
	"picogpt/internal/lines"
	"picogpt/model"
)

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
	layer, head, err := a.numbered("circuit", c.Head, c.Options.Pairs, c.Options.Vectors, c.Options.Top)
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
	found, err := inside.ReadCircuit(context.Background(), m, layer, head, c.Options) // until Ctrl-C
	end()
	if err != nil {
		return err
	}
	return a.print(c.JSON, found, show.Circuit(found, names.name))
}

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
	return by, err
}
