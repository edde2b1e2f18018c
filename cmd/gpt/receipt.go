package main

// --receipt of gpt generate and gpt next, and the options that receipts and saved chats have.

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"picogpt/cmd/gpt/internal/receipt"
	"picogpt/decode"
	"picogpt/internal/cli"
	"picogpt/internal/option"
	"picogpt/internal/outfile"
	"picogpt/model"
)

// A receiptFlag is where the receipt goes.
type receiptFlag struct {
	Receipt *string
}

func (r *receiptFlag) flags(f *cli.Flags) {
	f.Add(&r.Receipt, "--receipt FILE",
		`write to FILE what the texts were made from and what came out: gpt verify FILE makes them
		again and compares`)
}

// check refuses receipts that cannot be written, before anything is loaded. stdout is what stdout
// has.
func (f *receiptFlag) check(a *app, force bool, options []string, stdout string) error {
	switch {
	case f.Receipt == nil:
		return nil
	case *f.Receipt == "-":
		return usagef("--receipt -: want a file, because stdout has %s", stdout)
	}
	for _, option := range options {
		if !utf8.ValidString(option) {
			return usagef("--receipt and %s: want UTF-8", quoteShort(option))
		}
	}
	return f.failed(outfile.Check(*f.Receipt, a.writing(force, outfile.JSON)))
}

func (f *receiptFlag) failed(err error) error { return outfile.FlagError("--receipt", err) }

// write writes what a function writes; after an error there is no file.
func (f *receiptFlag) write(a *app, force bool, write func(io.Writer) error) error {
	return f.failed(outfile.WriteFile(context.Background(), *f.Receipt, a.writing(force, outfile.JSON), write))
}

// writeOne writes a receipt.
func (f *receiptFlag) writeOne(a *app, force bool, r *receipt.Receipt) error {
	line, err := r.Line()
	if err != nil {
		return err
	}
	return f.write(a, force, func(w io.Writer) error {
		_, err := w.Write(line)
		return err
	})
}

// newReceipt begins a receipt of the open checkpoint.
func (a *app) newReceipt(prompt []int, options []string, seed uint64) (*receipt.Receipt, error) {
	r := &receipt.Receipt{Rules: a.rules, PromptIDs: append([]int{}, prompt...), Options: options, Seed: seed,
		Files: a.optionFiles.texts}
	ck, err := a.open()
	if err == nil {
		r.Model, err = ck.Digest()
	}
	return r, err
}

// fillReceipt completes a receipt. start is what the tokens follow.
func fillReceipt(
	a *app, r *receipt.Receipt, m *model.Model, start []int, tokens []decode.Token,
) error {
	defer a.ShowProgress(func() string { return "reading the logits again" })()
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
	"output", "json", "no-display-prompt", "receipt", "force", "prompts", "input-format",
	"text-field", "out", "resume",
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
	return c, f, setOptions(f, options, keep)
}

// setOptions sets flags by options, each of which is a flag to keep.
func setOptions(f *cli.Flags, options []string, keep func(*cli.Flag) bool) error {
	for _, option := range options {
		name, _, hasValue := strings.Cut(option, "=")
		name, hyphens := strings.CutPrefix(name, "--")
		flag := f.Find(name)
		if flag == nil || !hyphens || !keep(flag) || !hasValue && !flag.Bool {
			return usagef("%s: want an option for choosing tokens, such as --temp=0.9",
				quoteShort(option))
		}
	}
	for _, option := range options {
		if err := f.SetOption(option); err != nil {
			return err
		}
	}
	return nil
}
