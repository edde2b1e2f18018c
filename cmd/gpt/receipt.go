package main

// gpt generate --receipt, and the options that receipts and saved chats have.

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"picogpt/decode"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/option"
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
	a *app, c *generateCommand, r *receipt.Receipt, m *model.Model, start []int,
	tokens []decode.Token,
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

// optionFiles are the files that options name. Each is read once.
type optionFiles struct {
	texts map[string]string
	all   bool // there are no others: they are those of a receipt
}

// optionFile returns the text of a file that a flag names.
func (a *app) optionFile(name, flag string) (string, error) {
	files := &a.optionFiles
	if text, ok := files.texts[name]; ok {
		return text, nil
	}
	if files.all {
		return "", fmt.Errorf("files: %s is not there, but in options", quoteShort(name))
	}
	text, err := a.files.Text(name, flag)
	if err == nil && files.texts == nil {
		files.texts = map[string]string{}
	}
	if err == nil {
		files.texts[name] = text
	}
	return text, err
}

// unrecorded are the flags of gpt generate, beside its options, that do not change which tokens
// follow a prompt's ids, or that a receipt has in another form.
var unrecorded = [...]string{
	"prompt", "file", "tokens", "special", // prompt_ids
	"output", "no-display-prompt", "receipt", "force", "prompts", "out", "resume",
	"draft", // guesses change nothing
	"session", "session-read-only",
}

// recordable reports whether the options of a receipt have a flag of gpt generate.
func recordable(f *cli.Flag) bool {
	if f.Option != nil {
		return f.Option.In&option.Receipts != 0
	}
	switch f.Group {
	case "", modelGroup, editGroup, cli.General: // which gpt generate has not of its own
		return false
	}
	return !slices.Contains(unrecorded[:], f.Name)
}

// parseOptions is what gpt generate with options comes to, each of which is a flag to keep.
func parseOptions(
	options []string, keep func(*cli.Flag) bool,
) (*generateCommand, *cli.Flags, error) {
	c := new(generateCommand)
	f := generateFlags(c)
	for _, option := range options {
		name, _, hasValue := strings.Cut(option, "=")
		name, hyphens := strings.CutPrefix(name, "--")
		flag := f.Find(name)
		if flag == nil || !hyphens || !keep(flag) || !hasValue && !flag.Bool {
			return nil, nil, usagef("%s: want an option for choosing tokens, such as --temp=0.9",
				quoteShort(option))
		}
	}
	for _, option := range options {
		if err := f.SetOption(option); err != nil {
			return nil, nil, err
		}
	}
	return c, f, nil
}
