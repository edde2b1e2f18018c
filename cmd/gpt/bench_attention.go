package main

// gpt bench attention: the attention family, time against tokens.

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"picogpt/cmd/gpt/internal/bench"
	"picogpt/cmd/gpt/internal/terminal"
	"picogpt/internal/cli"
	"picogpt/internal/outfile"
	"picogpt/kernels"
)

type benchAttentionCommand struct {
	MaxTokens int
	Rounds    int
	JSON      bool
	Plot      string
	Force     bool
}

func newBenchAttention(a *app) *cli.Command {
	c := &benchAttentionCommand{}
	return &cli.Command{
		Name:  "attention",
		Short: "measure attention alone, softmax and linear",
		Flags: func(f *cli.Flags) {
			f.Add(&c.MaxTokens, "--max-tokens N [16384]",
				"tokens of the longest sequence; lengths double from 1024 on")
			f.Add(&c.Rounds, "--rounds N [3]",
				"how often everything is measured; the medians are printed")
			f.Add(&c.JSON, "--json", "print one JSON object")
			f.Add(&c.Plot, "--plot FILE.svg", "draw the times as a picture")
			f.Add(&c.Force, "--force", "write over the file that --plot names, if it is there")
			a.flags(f, threads)
		},
		Run:     func(*cli.Flags) error { return c.Run(a) },
		Instead: map[string]string{"device": "attention is measured on the processor"},
		Long: `
Measures attention on one sequence of growing length and of width 512: a single head,
several heads one by one and at once, and linear attention, each with its projections of queries,
keys and values; then three workloads of many sequences. All of it runs on the processor.

Ratios are of the speed of multiplying and adding, measured before and after. Keys that are hidden
and exponentials do not count as work. The exponent is fitted to the longest three lengths: 2 is
quadratic, 1 is linear.

Examples:

  gpt bench attention
  gpt bench attention --max-tokens 4096 --threads 2 --plot attention.svg
  gpt bench attention --json`,
	}
}

func (c *benchAttentionCommand) Run(a *app) error {
	if c.Rounds < 1 || c.MaxTokens < 64 || c.MaxTokens > 1<<18 {
		return usagef("--rounds %d --max-tokens %d: want at least 1 round, and 64 to %d tokens",
			c.Rounds, c.MaxTokens, 1<<18)
	}
	if c.Plot != "" {
		err := outfile.FlagError("--plot", outfile.Check(c.Plot, a.writing(c.Force, outfile.SVG)))
		if err != nil {
			return err
		}
	}
	kernel := os.Getenv("GPT_KERNEL")
	if kernel != "" && !slices.Contains(kernels.Variants(), kernel) {
		return fmt.Errorf("GPT_KERNEL: %q, want one that this machine has: %s", kernel,
			strings.Join(kernels.Variants(), ", "))
	}
	ctx, release := a.Graceful()
	defer release()
	bar := terminal.NewShareBar("measuring")
	end := a.ShowBar(bar)
	r, err := bench.MeasureAttention(ctx, bench.AttentionOptions{
		MaxTokens: c.MaxTokens, Rounds: c.Rounds, Threads: a.Threads, Kernel: kernel,
		Progress: bar.SetShare,
	})
	end()
	if err != nil {
		return err
	}
	if c.Plot != "" {
		if err := outfile.FlagError("--plot", outfile.WriteFile(ctx, c.Plot, a.writing(c.Force, outfile.SVG),
			r.SVG)); err != nil {
			return err
		}
	}
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
