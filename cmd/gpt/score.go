package main

// gpt score: log-likelihoods of many texts, JSON objects out.

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"

	"picogpt/cmd/gpt/internal/process"
	"picogpt/cmd/gpt/internal/records"
	"picogpt/eval"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/lines"
)

type scoreCommand struct {
	textsCommand
	Summary bool
	Options eval.ScoreOptions
	Offsets string
}

func newScore(a *app) *cli.Command {
	c := &scoreCommand{
		textsCommand: textsCommand{From: textSource{verb: "score"}, known: lines.Fields()}}
	return &cli.Command{
		Name: "score", Group: "measure",
		Short: "print the log-likelihood of each token of many texts",
		Args:  []cli.Arg{c.From.arg()},
		Flags: func(f *cli.Flags) {
			c.From.flags(f)
			c.fields(f, "id,mean_logprob")
			f.Add(&c.Summary, "--summary",
				"print one object for all of the input, in place of an object for each line")
			f.Add(&c.Options.BOS, "--bos",
				"put <|endoftext|> before a text, so that its first token is scored too")
			f.Add(&c.Options.Top, "--top K",
				"print the K likeliest tokens in place of each token too; default: none")
			f.Add(&c.Offsets, "--offsets UNIT [chars]",
				`what offsets count: chars (code points, as in Python), utf16 (as in JavaScript) or
				bytes (of UTF-8)`).OneOf("chars", "utf16", "bytes")
			addBatch(f, &c.Options.Batch, "texts", "digit")
			addSpecial(f, &c.Special)
			targetFlags(f, &c.Target)
			jsonAlready(f)
			a.flags(f, evaluates|edited|cjkSpaces)
		},
		Run: func(*cli.Flags) error { return c.Run(a) },
	}
}

func (c *scoreCommand) Run(a *app) error {
	o := c.Options
	err := cmp.Or(fault.NotNegative("--top", o.Top), fault.NotNegative("--batch", o.Batch),
		c.checkFields())
	if err != nil {
		return err
	}
	r, err := c.open(a, func() error { return a.checkTarget(&c.Target) })
	if err != nil {
		return err
	}
	defer r.close()
	r.Bar = r.Bar || c.Summary
	var total eval.Summary // of all lines, those of an earlier run included
	l := &records.Lines{Output: lines.Output{Offsets: eval.Unit(c.Offsets)}, Total: &total,
		Silent: c.Summary && c.Target.Out == nil}
	settings := []records.Setting{setting("--bos", o.BOS), setting("--top", o.Top),
		setting("--offsets", c.Offsets)}
	score := func(ctx context.Context, q iter.Seq[eval.Request]) iter.Seq2[eval.Scored, error] {
		return eval.Score(ctx, r.model, r.tokenizer, q, o)
	}
	err = writeRecords(a, &c.textsCommand, r, l, settings, score,
		func(s *eval.Scored) (*lines.Row, any, int, error) {
			row := s.Tag.(*lines.Row)
			record := l.Output.Record(row, s)
			return row, record, s.Count, total.Add(&record.Record)
		})
	if l.Out != nil && c.Summary && !errors.Is(err, process.ErrClosedPipe) {
		line, failed := records.Summary(total, a.digits(), err != nil)
		if failed == nil {
			_, failed = a.stdout.Write(line)
		}
		err = fault.First(failed, err)
	}
	return fault.First(err, records.Counts{Lines: total.Lines, Errors: total.Errors}.Failed("scored"))
}

// checkFields refuses names that no record has, or not these.
func (c *scoreCommand) checkFields() error {
	if c.Fields != nil && len(c.Fields) == 0 {
		return usagef("--fields: want names, found nothing")
	}
	if err := c.textsCommand.checkFields(); err != nil {
		return err
	}
	if c.Options.Top == 0 && slices.Contains(c.Fields, "top") {
		return usagef("--fields: top wants --top K")
	}
	return nil
}
