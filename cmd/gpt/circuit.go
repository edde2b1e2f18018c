package main

// gpt circuit and gpt neuron: what weights of a head and of a neuron say. Patterns of one's own for
// gpt attention.

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
	"picogpt/internal/fault"
	"picogpt/internal/lines"
	"picogpt/model"
)

type circuitCommand struct {
	Head    string
	Among   *string
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
			f.Add(&c.Among, "--among FILE", "pairs of the tokens that occur in FILE alone")
			f.Add(&c.Options.Vectors, "--vectors K [3]", "the vectors of the K greatest singular values")
			f.Add(&c.Options.Top, "--top K [5]", "the K tokens that each vector is most like")
			f.Add(&c.JSON, "--json", "print one JSON object")
			a.flags(f, evaluates|cjkSpaces)
		},
		Run: func(*cli.Flags) error { return c.Run(a) },
	}
}

// numbered reads LAYER.NUMBER.
func numbered(what, value string) (layer, at int, err error) {
	m := headName().FindStringSubmatch(value)
	if m == nil {
		return 0, 0, usagef("%s: want a %s such as 3.1, LAYER.%[2]s", quoteShort(value), what)
	}
	return number(m[1]), number(m[2]), nil
}

func (c *circuitCommand) Run(a *app) error {
	layer, head, err := numbered("head", c.Head)
	if err = fault.First(err, fault.NotNegative("--pairs", c.Options.Pairs),
		fault.NotNegative("--vectors", c.Options.Vectors), fault.NotNegative("--top", c.Options.Top),
		a.onProcessor("gpt circuit")); err != nil {
		return err
	}
	p := prompt{ids: []int{0}}
	if c.Among != nil {
		p.asText = true
		if p.text, err = a.files.Limited(*c.Among, "--among", 16<<20); err != nil {
			return err
		}
	} else {
		a.files.LeaveStdin()
	}
	names, err := a.nameTokens(false, &p)
	if err != nil {
		return err
	}
	if c.Among != nil {
		c.Options.Among = slices.Compact(slices.Sorted(slices.Values(p.ids)))
	}
	found, err := look(a, "rows", false, func(ctx context.Context, m *model.Model,
		progress func(done, rows int)) (*inside.Circuit, error) {
		a.noteValues(m)
		c.Options.Progress = progress
		return inside.ReadCircuit(ctx, m, layer, head, c.Options)
	})
	if err != nil {
		return err
	}
	return a.print(c.JSON, found, show.Circuit(found, names.name))
}

// noteValues tells what the weights of a quantized model are.
func (a *app) noteValues(m *model.Model) {
	if format := m.Format(); format == "q8" || format == "q4" {
		a.Notef("%s: the weights are the values that it stands for", format)
	}
}

type neuronCommand struct {
	Neuron  string
	Files   []string
	Form    promptForm
	Special bool
	Top     int
	Texts   int
	JSON    bool

	tokenizer lines.PromptReader
	read      int // texts
}

func newNeuron(a *app) *cli.Command {
	c := &neuronCommand{}
	return &cli.Command{
		Name: "neuron", Group: "look",
		Short: "show what a neuron reads, writes, and where it is strong",
		Args: []cli.Arg{cli.Word(&c.Neuron, "neuron",
			"LAYER.NEURON, both from 0: 3.17 is number 17 of the MLP of layer 3"),
			cli.Words(&c.Files, "file", "texts in which it may be strong")},
		Flags: func(f *cli.Flags) {
			c.Form.flags(f, "--input, --input-format")
			addSpecial(f, &c.Special)
			f.Add(&c.Top, "--top K [8]", "the K tokens that it reads, raises and lowers most")
			f.Add(&c.Texts, "--strongest K [10]", "the K texts of the files where it is strongest")
			f.Add(&c.JSON, "--json", "print one JSON object")
			a.flags(f, evaluates|edited|cjkSpaces)
		},
		Run: func(*cli.Flags) error { return c.Run(a) },
	}
}

func (c *neuronCommand) Run(a *app) error {
	layer, at, err := numbered("neuron", c.Neuron)
	if err = fault.First(err, fault.NotNegative("--top", c.Top),
		fault.NotNegative("--strongest", c.Texts), a.onProcessor("gpt neuron")); err != nil {
		return err
	}
	for _, name := range c.Files {
		a.files.WillRead(name, "")
	}
	names, err := a.nameTokens(false, &prompt{ids: []int{0}})
	if err != nil {
		return err
	}
	t, err := a.openTokenizer()
	if err != nil && !errors.Is(err, checkpoint.ErrNoTokenizer) {
		return err
	}
	c.tokenizer = lines.PromptReader{Tokenizer: t, Missing: err, Special: c.Special}
	found, err := look(a, "texts", false, func(ctx context.Context, m *model.Model,
		progress func(done, texts int)) (*show.Neuron, error) {
		a.noteValues(m)
		n, err := inside.ReadNeuron(ctx, m, layer, at, c.Top)
		if err != nil {
			return nil, err
		}
		strongest, err := inside.Strongest(ctx, m, func(yield func([]int, error) bool) {
			for _, name := range c.Files {
				more := c.texts(a, name, m.Config().Positions, func(ids []int, err error) bool {
					c.read++
					progress(c.read, 0)
					return yield(ids, err)
				})
				if !more {
					return
				}
			}
		}, model.Point{Kind: model.MLPPost, Layer: layer}, at, c.Texts)
		return &show.Neuron{Neuron: n, Texts: c.read, Strongest: strongest}, err
	})
	if err != nil {
		return err
	}
	return a.print(c.JSON, found, found.Text(names.name))
}

// texts hands out the texts of a file, those longer than most in parts, up to the first error.
func (c *neuronCommand) texts(
	a *app, name string, most int, yield func([]int, error) bool,
) (more bool) {
	source, in, err := c.Form.open(a, "", name)
	if err != nil {
		return yield(nil, err)
	}
	defer source.Close()
	in.Tokenizer, in.Missing, in.Special = c.tokenizer.Tokenizer, c.tokenizer.Missing, c.Special
	for {
		row, err := source.Next()
		if err == io.EOF {
			return true
		}
		p := lines.Prompt{}
		if err == nil {
			if p, _, err = in.Row(source.Form, row); err != nil {
				err = fmt.Errorf("%s: line %d: %w", name, row.First, err)
			}
		}
		if err != nil {
			return yield(nil, err)
		}
		for part := range slices.Chunk(p.IDs, most) {
			if !yield(part, nil) {
				return false
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
		ExcludeCurrent: d.ExcludeCurrent}
	var err error
	if by.Pattern, err = inside.NamedPattern(*d.Pattern, ids); err == nil {
		return by, nil
	}
	text, err := a.files.Limited(*d.Pattern, "--pattern", 64<<20)
	if err == nil {
		if err = json.Unmarshal([]byte(text), &by.Pattern); err != nil {
			err = fmt.Errorf("%s: %w", *d.Pattern, err)
		}
	}
	return by, err
}
