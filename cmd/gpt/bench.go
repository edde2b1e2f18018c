package main

// gpt bench: the machine's limits, and the engine beside them.

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"

	"picogpt/checkpoint"
	"picogpt/checkpoint/random"
	"picogpt/cmd/gpt/internal/bench"
	"picogpt/cmd/gpt/internal/checkpoints"
	"picogpt/cmd/gpt/internal/terminal"
	"picogpt/internal/cli"
	"picogpt/model"
)

// benchCommand is gpt bench and its own commands.
func newBench(a *app) *cli.Command {
	engine := newBenchEngine(a)
	return &cli.Command{
		Name: "bench", Group: "measure",
		Short:    "measure this machine and the speed of the models on it",
		Commands: []*cli.Command{engine, newBenchTable(a), newBenchAttention(a)},
		Default:  engine,
	}
}

type benchEngineCommand struct {
	Random       string
	PromptTokens int
	GenTokens    int
	Batch        int
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
			f.Add(&c.Batch, "--batch N [8]", "sessions to decode together")
			f.Add(&c.Rounds, "--rounds N [5]",
				"how often everything is measured; the medians are printed")
			f.Add(&c.JSON, "--json", "print one JSON object")
			a.flags(f, evaluates)
		},
		Run: func(*cli.Flags) error { return c.Run(a) },
		Long: `
Measures in turn what this machine can do (reading memory, multiplying and adding) and what
the model reaches, on the threads that --threads gives. Each ratio is what was reached, divided by
the limit that was measured beside it.

Decoding reads every weight for each token, so the speed of the memory limits it; the speed of
arithmetic limits prompts, of which the last layer is computed for the last token only: what is
saved so is not counted. Decoding begins with an empty session; the line "decode at" compares a
short past with a long one; the line "rows" compares one token with several in one evaluation, each
with its logits, as speculation needs them. Choosing a token runs on one thread, from logits that
are normally distributed with deviation 3. Starting up is measured in new processes, from exec to
the first token.

With --device the limits are the device's own: its memory, and its multipliers.

Examples:

  gpt bench
  gpt bench --random gpt2 --dtype q8 --threads 2
  gpt bench --random gpt2 --cache-dtype f16       # long texts
  gpt bench -m ~/models/gpt2 --json`,
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
		dir, err := a.randomModel(ctx, c.Random)
		if dir != "" {
			defer func() {
				a.close() // some systems do not remove a file that is mapped
				a.temps.Remove(dir)
			}()
		}
		if err != nil {
			return err
		}
		a.globals.Model, a.globals.Dtype = &dir, "auto"
		name = "random " + c.Random
	}
	m, err := a.openModel()
	if err != nil {
		return err
	}
	defer m.Close()
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
		b, err := json.Marshal(r)
		if err != nil {
			return err
		}
		_, err = a.stdout.Write(append(b, '\n'))
		return err
	}
	return r.Print(a.stdout)
}

func (c *benchEngineCommand) check() error {
	for _, f := range []struct {
		flag  string
		value int
	}{
		{"--prompt-tokens", c.PromptTokens}, {"--gen-tokens", c.GenTokens},
		{"--batch", c.Batch}, {"--rounds", c.Rounds},
	} {
		if f.value < 1 {
			return usagef("%s %d: want at least 1", f.flag, f.value)
		}
	}
	return nil
}

// randomModel writes a random checkpoint in the format of --dtype to a temporary directory, which
// the caller removes.
func (a *app) randomModel(ctx context.Context, shape string) (dir string, err error) {
	config, err := random.Shape(shape)
	if err != nil {
		return "", err
	}
	if dir, err = a.temps.MkdirTemp(); err != nil {
		return "", err
	}
	defer a.ShowProgress(func() string { return "making random weights" })()
	if err := random.Write(ctx, dir, config, 1); err != nil || a.Dtype == "auto" ||
		a.Dtype == "f32" {
		return dir, err
	}
	random, err := checkpoint.Open(dir)
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
	return dir, m.Save(context.Background(), filepath.Join(dir, "model.safetensors"))
}

// benchStart measures processes of this program, with a prompt of ids and with one of text.
func (a *app) benchStart(ctx context.Context, c model.Config, r *bench.Result) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	args := []string{"generate", "--max-tokens=1", "--temp=0", "--output=ids",
		"--threads=" + strconv.Itoa(a.Threads), "--dtype=" + a.Dtype,
		"--cache-dtype=" + a.CacheDtype}
	switch {
	case a.Model != nil:
		args = append(args, "--model="+*a.Model)
	case a.isDemo: // whatever $GPT_MODEL says
		args = append(args, "--model="+checkpoints.DemoName)
	}
	for _, adapter := range a.Adapters {
		args = append(args, "--adapter="+adapter)
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
