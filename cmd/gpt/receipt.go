package main

// gpt generate --receipt.

import (
	"context"
	"io"
	"unicode/utf8"

	"picogpt/decode"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/outfile"
	"picogpt/internal/receipt"
	"picogpt/model"
)

// A receiptFlag is where the receipt goes.
type receiptFlag struct {
	Receipt *string
}

func (r *receiptFlag) flags(f *cli.Flags) {
	f.Add(&r.Receipt, "--receipt FILE",
		`write to FILE what the text was made from and what came out: gpt verify FILE makes it
		again and compares`)
}

// check refuses receipts that cannot be written, before anything is loaded.
func (f *receiptFlag) check(a *app, c *generateCommand, options []string) error {
	switch {
	case f.Receipt == nil:
		return nil
	case *f.Receipt == "-":
		return usagef("--receipt -: want a file, because stdout has the text")
	case c.Many.Prompts != nil:
		return usagef("--receipt and --prompts: want one of them")
	case c.Samples > 1:
		return fault.Hint(usagef("--receipt and --samples %d: want one text", c.Samples),
			"--seed S+i gives text i alone")

	case c.Search.Return > 1:
		return usagef("--receipt and --return %d: want one text", c.Search.Return)
	}
	for _, option := range options {
		if !utf8.ValidString(option) {
			return usagef("--receipt and %s: want UTF-8", quoteShort(option))
		}
	}
	return f.failed(outfile.Check(*f.Receipt, a.writing(c.Many.Target.Force)))
}

func (f *receiptFlag) failed(err error) error { return outfile.FlagError("--receipt", err) }

// write completes a receipt and writes it. start is what the tokens follow.
func (f *receiptFlag) write(
	a *app, c *generateCommand, r *receipt.Receipt, m *model.Model, start []int, tokens []decode.Token,
) (err error) {
	r.Files = a.optionFiles.texts
	if err := fillReceipt(a, r, m, start, tokens); err != nil {
		return err
	}
	line, err := r.Line()
	if err != nil {
		return err
	}
	return f.failed(outfile.WriteFile(context.Background(), *f.Receipt,
		a.writing(c.Many.Target.Force), func(w io.Writer) error {
			_, err := w.Write(line)
			return err
		}))
}

// fillReceipt completes a receipt, with the model's digest.
func fillReceipt(
	a *app, r *receipt.Receipt, m *model.Model, start []int, tokens []decode.Token,
) error {
	ck, err := a.open()
	if err != nil {
		return err
	}
	defer a.ShowProgress(func() string { return "reading the logits again" })()
	if r.Model, err = ck.Digest(); err != nil {
		return err
	}
	return r.Fill(m, start, tokens)
}
