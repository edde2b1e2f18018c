package main

// gpt perplexity: how well a model predicts a text, by one of the published protocols.

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"picogpt/cmd/gpt/internal/terminal"
	"picogpt/eval"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/quote"
	"picogpt/internal/strictjson"
	"picogpt/model"
)

type perplexityCommand struct {
	protocolText
	Batch int
	JSON  bool

	Expect    *string
	Tolerance *float64
}

func newPerplexity(a *app) *cli.Command {
	c := &perplexityCommand{}
	return &cli.Command{
		Name: "perplexity", Group: "measure",
		Short: "measure how well a model predicts a text",
		Args:  []cli.Arg{c.arg()},
		Flags: func(f *cli.Flags) {
			c.flags(f)
			f.Add(&c.Batch, "--batch N",
				"how many windows run together, which changes no digit; default: chosen for speed")
			f.Add(&c.JSON, "--json", "print one JSON object")
			f.Add(&c.Expect, "--expect NUMBER",
				"exit with status 1 unless the perplexity per token is NUMBER, for tests")
			f.Add(&c.Tolerance, "--tolerance X",
				`how far it may be from the NUMBER of --expect; default: half a unit of its last
				digit`)
			a.flags(f, evaluates|edited|engineFlag)
		},
		Run: func(f *cli.Flags) error {
			if a.asReference() {
				err := onlyReference(f.Given(), "protocol", "window", "stride", "wikitext", "tokens",
					"special", "json", "expect", "tolerance", "model", "adapter", "gelu", "verbose")
				if err != nil {
					return err
				}
			}
			return c.Run(a)
		},
		Long: `
Prints the perplexity of the files: e to the power of the mean negative log-likelihood of
their tokens. Several files are measured as one text; with --protocol lm-eval each is a document of
its own. Data of gzip and zstd are decompressed. Every byte counts, a newline at the end too, but
for a byte order mark. The number depends on the checkpoint, its number format, the text and the
protocol, and on nothing else. On a terminal numbers have 6 digits, in a pipe and in JSON all. Ctrl-C
prints the result so far, marked as partial.

hf	Hugging Face's strided windows: windows advance by --stride, and each token is counted once, but
	for the first, which nothing precedes. The published numbers are of --stride 1024 and 512, with
	--wikitext on the raw test file of WikiText-2.
lm-eval	lm-evaluation-harness's rolling windows: <|endoftext|> stands before each document, and
	every token is counted. With --wikitext pages are cut apart and detokenized; the published number
	is the perplexity per word.
llama.cpp	llama.cpp's chunks, which do not overlap: the second half of each is counted, and there
	is a standard error. Its own default is --window 512.

Examples:

  gpt perplexity book.txt
  gpt perplexity --wikitext --stride 512 -m ~/models/gpt2 wiki.test.raw
  gpt perplexity --protocol lm-eval --json book.txt
  gpt perplexity book.txt --expect 20.0222    (from 20.02215 to 20.02225)`,
	}
}

func (c *perplexityCommand) Run(a *app) error {
	expected, err := c.expected()
	if err != nil {
		return err
	}
	files, err := c.read(a, "gpt perplexity")
	if err != nil {
		return err
	}
	o, err := c.options()
	o.Batch = c.Batch
	if err = cmp.Or(err, fault.NotNegative("--batch", o.Batch)); err != nil {
		return err
	}
	var r eval.Result
	if a.asReference() {
		r, err = c.measureReference(a, files, o)
	} else {
		r, err = c.measure(a, files, o)
	}
	if err != nil && r.Scored == 0 {
		return err
	}
	r.Model = a.modelName()
	if c.JSON {
		err = fault.First(strictjson.Print(a.stdout, r), err)
	} else {
		_, e := a.stdout.WriteString(r.Digits(a.digits()))
		err = fault.First(e, err)
	}
	if c.Expect != nil && err == nil {
		err = expected.Check(r.Perplexity)
	}
	return err
}

// measure measures the files.
func (c *perplexityCommand) measure(
	a *app, files []string, o eval.Options,
) (eval.Result, error) {
	text, err := c.text(a, files)
	if err != nil {
		return eval.Result{}, err
	}
	m, err := a.openModel()
	if err != nil {
		return eval.Result{}, err
	}
	defer m.Close()
	return a.measure(m, text, o)
}

// digits is how many digits of a perplexity are printed: 6 for people, −1, which is all, for programs.
func (a *app) digits() int {
	if a.stdout.Terminal {
		return 6
	}
	return -1
}

// expected is what --expect and --tolerance say.
func (c *perplexityCommand) expected() (e eval.Expectation, err error) {
	if c.Expect == nil {
		if c.Tolerance != nil {
			return e, usagef("--tolerance: want --expect NUMBER too")
		}
		return e, nil
	}
	if e, err = eval.ParseExpectation(*c.Expect); err != nil {
		return e, usagef("--expect %w", err)
	}
	if c.Tolerance != nil {
		if e.Tolerance = *c.Tolerance; !(e.Tolerance >= 0) || math.IsInf(e.Tolerance, 0) {
			return e, usagef("--tolerance %v: want 0 or more", e.Tolerance)
		}
	}
	return e, nil
}

// measure runs the protocol with a progress bar. Ctrl-C ends it early.
func (a *app) measure(m *model.Model, text eval.Text, o eval.Options) (eval.Result, error) {
	ctx, release := a.Graceful()
	defer release()
	bar := terminal.NewBar("tokens")
	o.Progress = func(p eval.Progress) {
		bar.Set(p.Done, p.Total, fmt.Sprintf("perplexity %.4f", p.Perplexity))
	}
	end := a.ShowBar(bar)
	start := time.Now()
	r, err := eval.Measure(ctx, m, text, o)
	end()
	if took := time.Since(start); r.Scored > 0 {
		a.logf("%d tokens in %s, %.0f tokens/s", bar.Done(), quote.Duration(took),
			float64(bar.Done())/took.Seconds())
	}
	return r, err
}
