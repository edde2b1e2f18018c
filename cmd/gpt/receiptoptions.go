package main

// The options of receipts and saved chats: flags of gpt generate, and the files that they name.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// optionTexts are the texts of the files that options name.
type optionTexts map[string]string

// optionFiles are the files that options name. Each is read once.
type optionFiles struct {
	texts optionTexts
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
		files.texts = optionTexts{}
	}
	if err == nil {
		files.texts[name] = text
	}
	return text, err
}

// unrecorded are the flags of gpt generate that do not change which tokens follow a prompt's ids,
// or that a receipt has in another form. All others are options of a receipt.
var unrecorded = [...]string{
	"prompt", "file", "tokens", "special", "seed", // prompt_ids and seed
	"samples", "return", // 1
	"output", "logprobs", "no-display-prompt", "receipt", "force", "prompts", "out", "resume",
	"lookup", "draft", // guesses change nothing
}

// recordable reports whether the options of a receipt have a flag of gpt generate.
func recordable(f *kong.Flag) bool { return !slices.Contains(unrecorded[:], f.Name) }

// flagsToKeep are flags of gpt generate, by all of their names.
func flagsToKeep(root *kong.Node, keep func(*kong.Flag) bool) map[string]*kong.Flag {
	names := map[string]*kong.Flag{}
	listFlags(child(root, "generate"), names)
	for name, f := range names {
		if !keep(f) {
			delete(names, name)
		}
	}
	return names
}

// givenOptions are the options on a command line: the flags to keep in their order, in the form
// --name=value.
func givenOptions(k *kong.Context, keep func(*kong.Flag) bool) (options []string) {
	options = []string{}
	flags := flagsToKeep(k.Model.Node, keep)
	for _, arg := range k.Args {
		if arg == "--" {
			break
		}
		name, value, hasValue := strings.Cut(arg, "=")
		f := flags[name]
		switch {
		case f == nil:
		case hasValue:
			options = append(options, "--"+f.Name+"="+value)
		default:
			options = append(options, "--"+f.Name)
		}
	}
	return options
}

// parseOptions is what gpt generate with options comes to, each of which is a flag to keep.
func parseOptions(
	options []string, keep func(*kong.Flag) bool,
) (*generateCommand, *kong.Context, error) {
	var c commands
	k, err := newGrammar(&c)
	if err != nil {
		return nil, nil, err
	}
	flags := flagsToKeep(k.Model.Node, keep)
	for _, option := range options {
		name, _, hasValue := strings.Cut(option, "=")
		if f := flags[name]; f == nil || !hasValue && !f.IsBool() || !strings.HasPrefix(name, "--") {
			return nil, nil, usagef("%s: want an option for choosing tokens, such as --temp=0.9",
				quoteShort(option))
		}
	}
	ctx, err := k.Parse(append(append([]string{"generate"}, options...), "--"))
	if err != nil {
		return nil, nil, new(arrangement).grammarError(err)
	}
	return &c.Generate, ctx, nil
}
