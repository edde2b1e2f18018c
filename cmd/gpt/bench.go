package main

// gpt bench: the machine's limits, and the engine beside them.

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"picogpt/checkpoint"
	"picogpt/internal/bench"
	"picogpt/internal/cli"
	"picogpt/internal/process"
	"picogpt/internal/terminal"
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
arithmetic limits prompts. Decoding begins with an empty session; the line "decode at" compares a
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
	return printBench(a.stdout, r)
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
	config, err := bench.Shape(shape)
	if err != nil {
		return "", err
	}
	if dir, err = a.temps.MkdirTemp(); err != nil {
		return "", err
	}
	defer a.ShowProgress(func() string { return "making random weights" })()
	if err := bench.WriteRandom(ctx, dir, config, 1); err != nil || a.Dtype == "auto" ||
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
	if a.Model != nil {
		args = append(args, "--model="+*a.Model)
	}
	if a.GELU != "" {
		args = append(args, "--gelu="+a.GELU)
	}
	if a.Device != nil {
		args = append(args, "--device="+*a.Device)
	}
	ids := make([]string, min(5, c.Positions))
	for i := range ids {
		ids[i] = strconv.Itoa((i + 1) % c.VocabSize)
	}
	withIDs := append(slices.Clone(args), "--tokens="+strings.Join(ids, ","))
	if r.Start.IDsMS, err = bench.StartUp(ctx, self, withIDs...); err != nil {
		return err
	}
	withText := append(args, "--overflow=truncate", "Once upon a time")
	if r.Start.TextMS, err = bench.StartUp(ctx, self, withText...); err != nil {
		a.logf("no text start-up: %v", err) // a checkpoint without a tokenizer
		r.Start.TextMS = 0
	}
	return ctx.Err()
}

// printBench prints rows of three columns, of which the last is wrapped.
func printBench(w *process.Output, r *bench.Result) error {
	f, rows, left, middle := fmt.Sprintf, [][3]string{}, 0, 0
	row := func(what, figure, beside string) {
		rows = append(rows, [3]string{what, figure, beside})
		left = max(left, utf8.RuneCountInString(what))
		middle = max(middle, utf8.RuneCountInString(figure))
	}
	d, p, b, c := r.Decode, r.Prefill, r.Batch, r.Context
	row("memory read", f("%.1f GB/s", r.Limits.ReadGBps), "limit of decoding")
	row("multiply and add", f("%.0f GFLOP/s", r.Limits.FMAGFlops), "limit of prompts")
	row("decode", f("%.2f ms a token", d.MSPerToken),
		f("%.2f of the limit (%.3f GB a token), %.0f tokens/s", d.Ratio, d.GBPerToken,
			1e3/d.MSPerToken))
	row(f("prompt of %d", p.Tokens), f("%.0f ms", p.MS),
		f("%.2f of the limit (%.0f GFLOP/s), %.0f tokens/s", p.Ratio, p.GFlops,
			float64(p.Tokens)/p.MS*1e3))
	row(f("%d sessions", b.Sessions), f("%.0f tokens/s", b.TokensPerSec),
		f("%.1f × one session", b.Speedup))
	row(f("decode at %d, at %d", c.At[0], c.At[1]), f("%.2f ms, %.2f ms", c.MSAt50, c.MSAt900),
		f("%.2f ×", c.Ratio))
	at, times := r.Rows, ""
	for i, n := range at.Rows[1:] {
		times += f(", %d: %.2f ×", n, at.Ratio[i+1])
	}
	row("rows", f("%.2f ms for 1", at.MS[0]), f("at %d, with logits for each%s", at.At, times))
	row("choosing a token", f("%.3f ms greedy", r.Choosing.GreedyMS),
		f("%.3f ms top-k 40 and all filters, %.3f ms top-p", r.Choosing.TopKMS, r.Choosing.TopPMS))
	start := "no tokenizer for text"
	if r.Start.TextMS > 0 {
		start = f("%.0f ms with a prompt of text", r.Start.TextMS)
	}
	row("exec to first token", f("%.0f ms", r.Start.IDsMS), start)
	row("memory", f("%.0f MB", r.RSSMB), f("beyond %.0f MB of mapped file", r.MappedMB))
	row("allocations a token", f("%.0f", r.AllocsPerToken), "")

	out := &cli.Page{Width: benchColumns}
	out.Wrap("", 0, f("%s, %s, kernels %s, %d threads, medians of %d rounds",
		r.Model, formats(r.DType, r.Cache), r.Kernel, r.Threads, r.Rounds))
	out.WriteString("\n")
	number := regexp.MustCompile("([0-9]) ") // which stays beside its unit
	for _, row := range rows {
		first := f("%-*s  %-*s  ", left, row[0], middle, row[1])
		out.Wrap(first, left+middle+4, number.ReplaceAllString(row[2], "$1\x00"))
	}
	_, err := w.WriteString(strings.ReplaceAll(out.String(), "\x00", " "))
	return err
}

// benchColumns is how long the lines of gpt bench are at most.
const benchColumns = 80
