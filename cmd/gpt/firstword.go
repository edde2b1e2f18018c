package main

// The first word: a command, the prompt, or a command's name misspelt.

import (
	"errors"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"picogpt/internal/fault"
)

// refused reports whether the first word is a mistake, and not the prompt: it is made as the names
// of commands are, and other words follow, or it is a command's name misspelt. So no misspelt
// command writes a text.
func (a *arrangement) refused() bool {
	switch {
	case a.bare == "" || a.unknown != "": // the value of that flag, perhaps
		return false
	case a.node.Parent != nil || len(a.words) > 1 || strings.Trim(a.bare, "-") == "":
		return true
	}
	return misspelt(a.node, a.bare) != ""
}

// refusal is the error of a first word that is refused, or of a flag that is wrong for whatever
// command was meant.
func (a *arrangement) refusal(k *kong.Kong, c *commands) error {
	near, more := nearestCommand(a.node, a.bare), ""
	if a.node.Parent == nil {
		more = " To use the word as a prompt: gpt generate " + a.bare
	}
	if err := a.wrongFlag(k, c, near); err != nil {
		return err
	}
	given := func(flag string) bool {
		return a.node.Parent == nil && len(a.words) > 1 &&
			slices.ContainsFunc(a.flags, func(f string) bool { return strings.HasPrefix(f, flag+"=") })
	}
	switch {
	case given("--prompt"):
		return errPromptAndText()
	case given("--tokens"):
		return errTokensAndText()
	}
	if strings.Trim(a.bare, "-") == "" && a.node.Parent == nil {
		return fault.Hint(usagef("%s is not a command", quoteShort(a.bare)),
			"gpt -f - reads the prompt from stdin")

	}
	return notACommand(a.node, a.bare, near, more)
}

// wrongFlag returns the mistake in the flags, nil if near takes them, or generate does.
func (a *arrangement) wrongFlag(k *kong.Kong, c *commands, near string) (wrong error) {
	flags := slices.DeleteFunc(slices.Clone(a.flags), func(flag string) bool {
		return flag == "--help" || flag == "--version"
	})
	var meant [][]string
	if command := strings.Fields(a.node.Path() + " " + near); len(command) > 0 {
		meant = append(meant, command)
	}
	if a.node.Parent == nil {
		meant = append(meant, []string{"generate"})
	}
	for _, command := range meant {
		ctx, err := k.Parse(append(command, flags...))
		var parse *kong.ParseError
		if errors.As(err, &parse) && !isAboutFlag(err) {
			err = nil // it wants other arguments
		}
		if err == nil && command[0] == "generate" {
			if err = checkNeeds(givenFlags(ctx)); err == nil {
				_, err = c.Generate.settle(ctx)
			}
		}
		if err == nil {
			err = c.globals.validate()
		}
		if err == nil {
			return nil
		}
		// that another command has the flag says less than what is wrong with its value
		if wrong == nil || strings.HasPrefix(wrong.Error(), "unknown flag ") &&
			!strings.HasPrefix(err.Error(), "unknown flag ") {
			wrong = a.grammarError(err)
		}
	}
	return wrong
}

// noteBareWord tells that a word that names no command was the prompt, once its text is written.
func (a *app) noteBareWord() {
	if a.bareWord != "" {
		a.Notef("%s is no command, so it was the prompt; gpt --help lists the commands",
			quoteShort(a.bareWord))
	}
}

// isAboutFlag reports whether an error of kong's Parse is about a flag.
func isAboutFlag(err error) bool {
	return strings.HasPrefix(err.Error(), "unknown flag ") || strings.HasPrefix(err.Error(), "--")
}

// misspelt returns the command that a word is a misspelling of, or "". What differs more is likelier
// a word: hello is not help, and text is not next.
func misspelt(root *kong.Node, word string) (name string) {
	for _, c := range root.Children {
		n, edits := len(c.Name), edits(word, c.Name)
		switch {
		case n < 5 && slices.Contains(exchanges(c.Name), word), n >= 5 && edits <= 1:
			return c.Name
		case n >= 8 && edits <= 2 && name == "":
			name = c.Name
		}
	}
	return name
}
