package main

// gpt bench table: several shapes in several number formats, one after the other.

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"picogpt/checkpoint/random"
	"picogpt/cmd/gpt/internal/bench"
	"picogpt/internal/cli"
	"picogpt/model"
)

type benchTableCommand struct {
	Shapes       []string
	Dtypes       []string
	Sessions     []int
	PromptTokens int
	GenTokens    int
	Rounds       int
	JSON         bool
}

func newBenchTable(a *app) *cli.Command {
	c := &benchTableCommand{}
	return &cli.Command{
		Name:  "table",
		Short: "measure several shapes in several number formats",
		Flags: func(f *cli.Flags) {
			f.Add(cli.Commas(&c.Shapes), "--shapes A,B [gpt2,gpt2-xl]",
				`shapes of random weights, with commas between them: gpt2, gpt2-medium, gpt2-large,
				gpt2-xl`)
			f.Add(cli.Commas(&c.Dtypes), "--dtypes A,B [f32,f16,q8]",
				"number formats of the weights, with commas between them")
			f.Add(cli.Commas(&c.Sessions), "--sessions N,M [1,8,64]", "texts side by side")
			f.Add(&c.PromptTokens, "--prompt-tokens N [512]",
				"tokens of the prompt, as far as the context holds them")
			f.Add(&c.GenTokens, "--gen-tokens N [64]",
				"tokens of each text, as far as the context holds them")
			f.Add(&c.Rounds, "--rounds N [3]",
				"how often everything is measured; the medians are printed")
			f.Add(&c.JSON, "--json", "print one JSON object for each row")
			a.flags(f, evaluates&^dtype)
		},
		Run:     func(*cli.Flags) error { return c.Run(a) },
		Instead: map[string]string{"dtype": "--dtypes takes several formats"},
	}
}

func (c *benchTableCommand) Run(a *app) error {
	if err := c.check(); err != nil {
		return err
	}
	ctx, release := a.Graceful()
	defer release()
	shapes := c.Shapes
	if a.Model != nil {
		shapes = []string{""}
	}
	for _, shape := range shapes {
		if err := c.shape(ctx, a, shape); err != nil {
			return err
		}
	}
	return nil
}

func (c *benchTableCommand) check() error {
	for _, n := range slices.Concat(c.Sessions, []int{c.PromptTokens, c.GenTokens, c.Rounds}) {
		if n < 1 {
			return usagef("--sessions, --prompt-tokens, --gen-tokens and --rounds: found %d, "+
				"want at least 1", n)
		}
	}
	for _, shape := range c.Shapes {
		if _, err := random.Shape(shape); err != nil {
			return usagef("--shapes: %q, want %s", shape, strings.Join(random.Shapes(), ", "))
		}
	}
	for _, dtype := range c.Dtypes {
		if all := model.Formats(); !slices.Contains(all, dtype) {
			return usagef("--dtypes: %q, want %s", dtype, strings.Join(all, ", "))
		}
	}
	return nil
}

// shape measures the rows of one shape, or of the model that the flags name.
func (c *benchTableCommand) shape(ctx context.Context, a *app, shape string) error {
	name := a.modelName()
	if shape != "" {
		a.globals.Dtype = "f32"
		dir, err := a.randomModel(ctx, shape)
		if dir != "" {
			defer func() {
				a.close() // some systems do not remove a file that is mapped
				a.temps.Remove(dir)
				a.globals.Model = nil
			}()
		}
		if err != nil {
			return err
		}
		a.globals.Model, name = &dir, "random "+shape
	}
	t := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	if !c.JSON {
		fmt.Fprintf(a.stdout, "%s\n", name)
		fmt.Fprintf(t, "  format\tmemory\ttexts\ttokens/s\tshare\tprompt of %d\n", c.PromptTokens)
	}
	for _, dtype := range c.Dtypes {
		a.globals.Dtype = dtype
		if err := c.format(ctx, a, t, name); err != nil {
			return err
		}
	}
	return t.Flush()
}

// format measures a model in one format, and prints a row for each number of texts.
func (c *benchTableCommand) format(
	ctx context.Context, a *app, t *tabwriter.Writer, name string,
) error {
	m, err := a.openModel()
	if err != nil {
		return err
	}
	defer m.Close()
	end := a.ShowProgress(func() string { return "measuring " + name + ", " + a.Dtype })
	r, err := bench.MeasureRow(ctx, m, bench.TableOptions{Sessions: c.Sessions,
		PromptTokens: c.PromptTokens, GenTokens: c.GenTokens, Rounds: c.Rounds})
	end()
	if err != nil {
		return err
	}
	r.Model = name
	if c.JSON {
		b, err := json.Marshal(r)
		if err != nil {
			return err
		}
		_, err = a.stdout.Write(append(b, '\n'))
		return err
	}
	r.Print(t)
	return nil
}
