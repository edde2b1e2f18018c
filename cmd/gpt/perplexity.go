package main

// gpt perplexity: how well a model predicts a text, by one of the published protocols.

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"time"

	"picogpt/cmd/gpt/internal/terminal"
	"picogpt/cmd/gpt/internal/textio"
	"picogpt/eval"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/quote"
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
			f.Add(&c.Tolerance, "--tolerance X", `how far it may be from the NUMBER of --expect;
				default: half a unit of its last digit`)
			a.flags(f, evaluates|edited|engineFlag)
		},
		Run: func(f *cli.Flags) error { return c.Run(a, f) },
	}
}

func (c *perplexityCommand) Run(a *app, f *cli.Flags) error {
	if err := a.checkEngine("perplexity", f.Given()); err != nil {
		return err
	}
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
	r, err := a.backend().measure(c, files, o)
	if err != nil && r.Scored == 0 {
		return err
	}
	r.Model = a.modelName()
	err = fault.First(a.print(c.JSON, r, r.Digits(a.digits())), err)
	if c.Expect != nil && err == nil {
		err = expected.Check(r.Perplexity)
	}
	return err
}

// measure measures the files.
func (a fastEngine) measure(
	c *perplexityCommand, files []string, o eval.Options,
) (eval.Result, error) {
	text, err := c.text(a.app, files)
	if err != nil {
		return eval.Result{}, err
	}
	m, err := a.openModel()
	if err != nil {
		return eval.Result{}, err
	}
	return a.run(m, text, o)
}

// digits is how many digits of a perplexity are printed: 6 for people, −1, which is all, for
// programs.
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

// run runs the protocol with a progress bar. Ctrl-C ends it early.
func (a fastEngine) run(m *model.Model, text eval.Text, o eval.Options) (eval.Result, error) {
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

// The text of gpt perplexity and gpt compare, and the protocol that cuts it into windows.

// A protocolText is what the flags say of a text that a protocol measures.
type protocolText struct {
	Files    []string
	Protocol string
	Window   int
	Stride   int
	WikiText bool
	Tokens   *string
	Special  bool
}

func (c *protocolText) arg() cli.Arg {
	return cli.Words(&c.Files, "file", "text files; - is stdin; default: what comes through a pipe")
}

func (c *protocolText) flags(f *cli.Flags) {
	f.Add(&c.Protocol, "--protocol NAME [hf]", `how the text is cut and what is counted: hf, lm-eval
		or llama.cpp, which gpt perplexity --help explains`).
		OneOf("hf", "lm-eval", "llama.cpp")
	f.Add(&c.Window, "--window N", "tokens of a window; default: the model's n_positions")
	f.Add(&c.Stride, "--stride N", "for hf, how many tokens windows advance; default: the window")
	f.Add(&c.WikiText, "--wikitext",
		"read the files as raw WikiText, as the protocol's publisher does")
	f.Add(&c.Tokens, "--tokens IDS", `token ids in place of files: 1,2,3 or [1,2,3], or the name of
		a file with such ids; - is stdin`)
	addSpecial(f, &c.Special)
}

// options are those of the protocol.
func (c *protocolText) options() (eval.Options, error) {
	return eval.Options{Protocol: eval.Protocol(c.Protocol), Window: c.Window, Stride: c.Stride},
		cmp.Or(fault.NotNegative("--window", c.Window), fault.NotNegative("--stride", c.Stride))
}

// read returns the contents of the files, or of what --tokens names. command is what reads them.
func (c *protocolText) read(a *app, command string) ([]string, error) {
	names := c.Files
	if c.Tokens != nil {
		switch {
		case len(names) > 0:
			return nil, usagef("--tokens and files: want one of them")
		case c.WikiText:
			return nil, usagef("--tokens and --wikitext: want one of them")
		}
		if _, err := os.Stat(*c.Tokens); err != nil && *c.Tokens != "-" {
			return []string{*c.Tokens}, nil
		}
		names = []string{*c.Tokens}
	}
	if len(names) == 0 {
		if !textio.Readable(a.files.Stdin) {
			return nil, fault.Hint(usagef("no text"), "give files, or a text through a pipe")
		}
		names = []string{"-"}
	}
	files := make([]string, len(names))
	for i, name := range names {
		text, err := a.files.Text(name, "")
		if errors.Is(err, fs.ErrNotExist) {
			err = fault.Hint(err, "to measure a text itself: printf %s TEXT | "+command)
		}
		if err != nil {
			return nil, err
		}
		files[i] = text
	}
	return files, nil
}

// text encodes the files, or reads them as ids.
func (c *protocolText) text(a *app, files []string) (eval.Text, error) {
	defer a.ShowProgress(func() string { return "tokenizing" })()
	if c.Tokens != nil {
		ids, err := c.ids(files)
		if err != nil {
			return eval.Text{}, err
		}
		if t, err := a.openTokenizer(); err == nil {
			return eval.NewTokens(ids, t), nil
		}
		return eval.NewTokens(ids, nil), nil // no tokenizer: words and bytes remain unknown
	}
	t, err := a.openTokenizer()
	if err != nil {
		return eval.Text{}, err
	}
	if c.Special {
		t = t.WithSpecial()
	}
	start := time.Now()
	text, err := c.encode(t, files)
	a.logf("tokenizing: %s", quote.Duration(time.Since(start)))
	return text, err
}

// ids are those that --tokens gives, as read returns them.
func (c *protocolText) ids(files []string) ([]int, error) {
	ids, err := textio.ParseIDs(files[0])
	if err != nil {
		return nil, usagef("--tokens: %w", err)
	}
	return ids, nil
}

// encode encodes the files for the protocol.
func (c *protocolText) encode(e eval.Encoder, files []string) (eval.Text, error) {
	if c.WikiText {
		return eval.NewWikiText(eval.Protocol(c.Protocol), e, files...)
	}
	return eval.NewText(eval.Protocol(c.Protocol), e, files...)
}
