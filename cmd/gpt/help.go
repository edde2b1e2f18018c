package main

// gpt help: the overview, the page of a command, that of a topic.

import (
	"picogpt/internal/cli"
	"picogpt/internal/terminal"
)

const overview = `
gpt writes text with GPT-2 models. A seed gives the same text on every machine.

gpt "Once upon a time"	a story by the embedded demo model
gpt -m gpt2 -n 50 "The end"	another model, at most 50 new tokens
gpt COMMAND ... [flags]	one of these commands:
`

const moreHelp = `
gpt COMMAND --help explains a command and its flags; gpt help sampling, forms, search, prompts or
output has more about gpt generate. Flags may stand before the command and after it, and in their
names _ is the same as -.
`

// helpCommand is gpt help, which prints what --help does.
type helpCommand struct{ Of []string }

func newHelp(a *app, root *cli.Command) *cli.Command {
	c := &helpCommand{}
	return &cli.Command{
		Name: "help", Group: "about",
		Short: "explain a command, as gpt COMMAND --help does, or a topic",
		Args: []cli.Arg{cli.Words(&c.Of, "command",
			"the command or the topic to explain; default: an overview of all")},
		Run: func(*cli.Flags) error { return c.Run(a, root) },
	}
}

func (c *helpCommand) Run(a *app, root *cli.Command) error {
	help, err := root.Find(c.Of)
	if err != nil {
		return err
	}
	return a.printPage(help)
}

// printPage prints a page of help as wide as the terminal.
func (a *app) printPage(page func(width int) string) error {
	_, err := a.stdout.WriteString(page(terminal.Columns(a.stdout.File)))
	return err
}
