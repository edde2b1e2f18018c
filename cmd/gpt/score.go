package main

// gpt score: log-likelihoods of many texts, JSON objects out.

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"picogpt/cmd/gpt/internal/process"
	"picogpt/cmd/gpt/internal/records"

	"picogpt/eval"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/lines"
)

type scoreCommand struct {
	From    textSource
	Fields  []string
	Keep    bool
	Summary bool

	BOS     bool
	Top     int
	Offsets string
	Batch   int
	Special bool

	Target records.Target
}

func newScore(a *app) *cli.Command {
	c := &scoreCommand{From: textSource{verb: "score"}}
	return &cli.Command{
		Name: "score", Group: "measure",
		Short: "print the log-likelihood of each token of many texts",
		Args:  []cli.Arg{c.From.arg()},
		Flags: func(f *cli.Flags) {
			c.From.flags(f)
			f.Add(cli.Commas(&c.Fields), "--fields LIST",
				"write only these fields, for example id,mean_logprob; default: all")
			f.Add(&c.Keep, "--keep", "write the fields of the input too")
			f.Add(&c.Summary, "--summary",
				"print one object for all of the input, in place of an object for each line")
			f.Add(&c.BOS, "--bos",
				"put <|endoftext|> before a text, so that its first token is scored too")
			f.Add(&c.Top, "--top K",
				"print the K likeliest tokens in place of each token too; default: none")
			f.Add(&c.Offsets, "--offsets UNIT [chars]",
				`what offsets count: chars (code points, as in Python), utf16 (as in JavaScript) or
				bytes (of UTF-8)`).OneOf("chars", "utf16", "bytes")
			f.Add(&c.Batch, "--batch N",
				"how many texts run together, which changes no digit; default: chosen for speed")
			addSpecial(f, &c.Special)
			targetFlags(f, &c.Target)
			jsonAlready(f)
			a.flags(f, evaluates|edited|cjkSpaces)
		},
		Run: func(*cli.Flags) error { return c.Run(a) },
	}
}

func (c *scoreCommand) Run(a *app) error {
	err := cmp.Or(fault.NotNegative("--top", c.Top), fault.NotNegative("--batch", c.Batch))
	if err != nil {
		return err
	}
	if err := c.checkFields(); err != nil {
		return err
	}
	in, err := c.From.open(a)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := a.checkTarget(&c.Target); err != nil {
		return err
	}
	t, err := a.idTokenizer(in, c.Special)
	if err != nil {
		return err
	}
	m, err := a.openModel()
	if err != nil {
		return err
	}
	defer m.Close()
	out, err := a.openRecords(&c.Target, m, "gpt score", c.settings(in), nil)
	if err != nil {
		return err
	}
	run := records.Scores{
		Texts:   in.texts(a, c.Target.Out != nil || c.Summary),
		Options: eval.ScoreOptions{BOS: c.BOS, Top: c.Top, Batch: c.Batch},
		Lines:   lines.Output{Fields: c.Fields, Keep: c.Keep, Offsets: eval.Unit(c.Offsets)},
		Out:     out,
		Silent:  c.Summary && c.Target.Out == nil,
	}
	err = out.Close(run.Run(m, t))
	if c.Summary && !errors.Is(err, process.ErrClosedPipe) {
		err = fault.First(c.summary(a, &run, err != nil), err)
	}
	if err == nil && run.Total.Errors > 0 {
		err = fmt.Errorf("%d of %d lines could not be scored", run.Total.Errors, run.Total.Lines)
	}
	return err
}

// summary prints what all rows came to, those of an earlier run included.
func (c *scoreCommand) summary(a *app, run *records.Scores, partial bool) error {
	line, err := run.Summary(a.digits(), partial)
	if err == nil {
		_, err = a.stdout.Write(line)
	}
	return err
}

// checkFields refuses names that no record has.
func (c *scoreCommand) checkFields() error {
	if c.Fields == nil {
		return nil
	}
	if len(c.Fields) == 0 {
		return usagef("--fields: want names, found nothing")
	}
	names, err := lines.ParseFields(c.Fields, lines.Fields())
	if err != nil {
		return fault.Hint(usagef("--fields: %w", err),
			"the fields are "+strings.Join(lines.Fields(), ", "))
	}
	if c.Fields = names; c.Top == 0 && slices.Contains(names, "top") {
		return usagef("--fields: top wants --top K")
	}
	return nil
}

// settings are the options that the output depends on.
func (c *scoreCommand) settings(in *textInput) []records.Setting {
	return append(in.settings(), []records.Setting{
		{Name: "--bos", Value: strconv.FormatBool(c.BOS)},
		{Name: "--top", Value: strconv.Itoa(c.Top)},
		{Name: "--offsets", Value: c.Offsets},
		{Name: "--special", Value: strconv.FormatBool(c.Special)},
		{Name: "--fields", Value: strconv.Quote(strings.Join(c.Fields, ","))},
		{Name: "--keep", Value: strconv.FormatBool(c.Keep)},
	}...)
}
