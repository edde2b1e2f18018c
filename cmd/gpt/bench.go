package main

// gpt bench: the machine's limits, and the engine beside them.

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"picogpt/checkpoint"
	"picogpt/cmd/gpt/internal/bench"
	"picogpt/cmd/gpt/internal/checkpoints"
	"picogpt/cmd/gpt/internal/terminal"
	"picogpt/internal/cli"
	"picogpt/internal/folder"
	"picogpt/model"
)

// benchCommand is gpt bench and its own commands.
func newBench(a *app) *cli.Command {
	engine := newBenchEngine(a)
	return &cli.Command{
		Name: "bench", Group: "measure",
		Short:    "measure this machine and the speed of the models on it",
		Commands: []*cli.Command{engine, newBenchTable(a)},
		Default:  engine,
	}
}

type benchEngineCommand struct {
	Random       string
	PromptTokens int
	GenTokens    int
	Batch        []int
	Rounds       int
	JSON         bool
}

func newBenchEngine(a *app) *cli.Command {
	c := &benchEngineCommand{}
	return &cli.Command{
		Name:  "engine",
		Short: "measure a model (the default)",
		Flags: func(f *cli.Flags) {
			f.Add(&c.Random, "--random SHAPE",
				`measure random weights of a shape in place of --model: gpt2, gpt2-medium,
				gpt2-large or gpt2-xl; they are written to a temporary file`).
				OneOf("gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl")
			f.Add(&c.PromptTokens, "--prompt-tokens N [512]",
				"tokens of the prompt, as far as the context holds them")
			f.Add(&c.GenTokens, "--gen-tokens N [64]",
				"tokens to decode, as far as the context holds them")
			f.Add(cli.Commas(&c.Batch), "--batch N,M [8,32]", "sessions to decode together")
			f.Add(&c.Rounds, "--rounds N [5]",
				"how often everything is measured; the medians are printed")
			f.Add(&c.JSON, "--json", "print one JSON object")
			a.flags(f, evaluates)
		},
		Run: func(*cli.Flags) error { return c.Run(a) },
	}
}

func (c *benchEngineCommand) Run(a *app) error {
	if err := c.check(); err != nil {
		return err
	}
	ctx, release := a.Graceful()
	defer release()
	name := a.modelName()
	if c.Random != "" && len(a.Adapters) > 0 {
		return usagef("--random and --adapter: want one of them")
	}
	if c.Random != "" {
		remove, err := a.useRandom(ctx, c.Random)
		defer remove()
		if err != nil {
			return err
		}
		a.Dtype = "auto"
		name = "random " + c.Random
	}
	m, err := a.openModel()
	if err != nil {
		return err
	}
	if name == demoName {
		a.Notef("measuring %s; -m NAME and --random gpt2 measure other models", name)
	}
	bar := terminal.NewShareBar("measuring")
	defer a.ShowBar(bar)()
	r, err := bench.Measure(ctx, m, bench.Options{
		PromptTokens: c.PromptTokens, GenTokens: c.GenTokens, Batch: c.Batch, Rounds: c.Rounds,
		Progress: bar.SetShare,
	})
	if err != nil {
		return err
	}
	r.Model = name
	bar.SetShare("starting up", 1)
	if err := a.benchStart(ctx, m.Config(), r); err != nil {
		return err
	}
	a.EndProgress()
	if c.JSON {
		return a.printResult(r)
	}
	return r.Print(a.stdout)
}

// printResult prints what was measured as a line of JSON.
func (a *app) printResult(r any) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = a.stdout.Write(append(b, '\n'))
	return err
}

func (c *benchEngineCommand) check() error {
	for _, f := range []struct {
		flag   string
		values []int
	}{
		{"--prompt-tokens", []int{c.PromptTokens}}, {"--gen-tokens", []int{c.GenTokens}},
		{"--batch", c.Batch}, {"--rounds", []int{c.Rounds}},
	} {
		if len(f.values) == 0 {
			return usagef("%s: an empty list, want a number", f.flag)
		}
		if least := slices.Min(f.values); least < 1 {
			return usagef("%s %d: want at least 1", f.flag, least)
		}
	}
	return nil
}

// useRandom makes a random checkpoint the current one, until it is removed.
func (a *app) useRandom(ctx context.Context, shape string) (remove func(), err error) {
	dir, err := a.randomModel(ctx, shape)
	if dir == "" {
		return func() {}, err
	}
	a.Model = &dir
	return func() {
		a.close() // some systems do not remove a file that is mapped
		a.temps.Remove(dir)
		a.Model = nil
	}, err
}

// randomModel writes a random checkpoint in the format of --dtype to a temporary directory, which
// the caller removes.
func (a *app) randomModel(ctx context.Context, shape string) (dir string, err error) {
	config, err := checkpoint.RandomShape(shape)
	if err != nil {
		return "", err
	}
	if dir, err = a.temps.MkdirTemp(); err != nil {
		return "", err
	}
	defer a.ShowProgress(func() string { return "making random weights" })()
	if err := checkpoint.WriteRandom(ctx, dir, config); err != nil || a.Dtype == "auto" ||
		a.Dtype == "f32" {
		return dir, err
	}
	random, err := checkpoint.Open(dir, checkpoint.Options{})
	if err != nil {
		return dir, err
	}
	defer random.Close() // Save replaces the file, whose mapping stays valid until then
	m, err := model.New(context.Background(), random.Config, random.Tensors,
		model.Options{Threads: a.Threads, Format: a.Dtype})
	if err != nil {
		return dir, err
	}
	defer m.Close()
	return dir, m.Save(context.Background(), filepath.Join(dir, folder.Safetensors))
}

// benchStart measures processes of this program, with a prompt of ids and with one of text.
func (a *app) benchStart(ctx context.Context, c model.Config, r *bench.Result) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	args := []string{"generate", "--max-tokens=1", "--temp=0", "--output=ids",
		fmt.Sprint("--threads=", a.Threads), "--dtype=" + a.Dtype, "--cache-dtype=" + a.CacheDtype}
	switch {
	case a.Model != nil:
		args = append(args, "--model="+*a.Model)
	case a.isDemo: // whatever $GPT_MODEL says
		args = append(args, "--model="+checkpoints.DemoName)
	}
	for _, adapter := range a.Adapters {
		args = append(args, "--adapter="+adapter)
	}
	if a.Combine != "" {
		args = append(args, "--combine="+a.Combine)
	}
	if a.GELU != "" {
		args = append(args, "--gelu="+a.GELU)
	}
	if a.Heads != 0 {
		args = append(args, "--n-head="+strconv.Itoa(a.Heads))
	}
	if a.Device != nil {
		args = append(args, "--device="+*a.Device)
	}
	return r.MeasureStart(ctx, c, self, args, a.logf)
}

// gpt bench table: several shapes in several number formats, one after the other.

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
			f.Add(cli.Commas(&c.Shapes), "--shapes A,B [gpt2,gpt2-xl]", `shapes of random weights,
				with commas between them: gpt2, gpt2-medium, gpt2-large, gpt2-xl`)
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
	if min(len(c.Shapes), len(c.Dtypes), len(c.Sessions)) == 0 {
		return usagef("--shapes, --dtypes and --sessions: an empty list, want at least one of each")
	}
	for _, n := range slices.Concat(c.Sessions, []int{c.PromptTokens, c.GenTokens, c.Rounds}) {
		if n < 1 {
			return usagef("--sessions, --prompt-tokens, --gen-tokens and --rounds: found %d, "+
				"want at least 1", n)
		}
	}
	for _, shape := range c.Shapes {
		if _, err := checkpoint.RandomShape(shape); err != nil {
			return usagef("--shapes: %q, want %s", shape, strings.Join(checkpoint.RandomShapes(), ", "))
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
		a.Dtype, name = "f32", "random "+shape
		remove, err := a.useRandom(ctx, shape)
		defer remove()
		if err != nil {
			return err
		}
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
	defer a.closeModels()
	end := a.ShowProgress(func() string { return "measuring " + name + ", " + a.Dtype })
	r, err := bench.MeasureRow(ctx, m, bench.TableOptions{Sessions: c.Sessions,
		PromptTokens: c.PromptTokens, GenTokens: c.GenTokens, Rounds: c.Rounds})
	end()
	if err != nil {
		return err
	}
	r.Model = name
	if c.JSON {
		return a.printResult(r)
	}
	r.Print(t)
	return nil
}
