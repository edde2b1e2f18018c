package main

// The options of receipts and saved chats: flags of gpt generate, and the files that they name.

import (
	"fmt"
	"slices"
	"strings"

	"picogpt/internal/cli"
	"picogpt/internal/option"
)

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
}

// recordable reports whether the options of a receipt have a flag of gpt generate.
func recordable(f *cli.Flag) bool {
	if f.Option != nil {
		return f.Option.In&option.Receipts != 0
	}
	switch f.Group {
	case "", modelGroup, cli.General: // which gpt generate has not of its own
		return false
	}
	return !slices.Contains(unrecorded[:], f.Name)
}

// parseOptions is what gpt generate with options comes to, each of which is a flag to keep.
func parseOptions(options []string, keep func(*cli.Flag) bool) (*generateCommand, *cli.Flags, error) {
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
