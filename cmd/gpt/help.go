package main

// --help: an overview of the commands with the flags of generate, or the page of one command.

import (
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"picogpt/internal/terminal"
)

const overview = `
gpt writes text with GPT-2 models, on the processor or on a GPU (--device). The same seed gives the
same text on every machine.

Usage:

  gpt [generate] [TEXT]... [flags]
  gpt COMMAND ... [flags]

Examples:

gpt "Once upon a time"	a story by the embedded demo model
gpt	any story: the model begins from nothing
gpt -m ~/models/gpt2 -n 50 "The end"	another model, at most 50 new tokens
gpt --seed 1 --samples 3 "Lily said"	three texts, the same ones on every machine
gpt -f notes.txt --no-display-prompt	only what follows the text of a file
cat notes.txt | gpt -f - "In short:"	a prompt from stdin, and a text after it
gpt --tokens 7454,2402 --output json	token ids in, JSON out
`

// helpCommand is gpt help, which prints what --help does.
type helpCommand struct {
	Of []string `arg:"" name:"command" optional:""`
}

func (c *helpCommand) Run(a *app, ctx *kong.Context) error {
	node := ctx.Model.Node
	for _, name := range c.Of {
		next := child(node, name)
		if next == nil {
			return notACommand(node, name, nearestCommand(node, name), "")
		}
		node = next
	}
	return a.printHelp(ctx, node)
}

// printHelp prints the page of one command, or the overview for the root, as wide as the terminal.
func (a *app) printHelp(ctx *kong.Context, node *kong.Node) error {
	p := &page{width: terminal.Columns(a.stdout.File)}
	if node == nil || node == ctx.Model.Node {
		p.overview(ctx.Model.Node)
	} else {
		p.command(node)
	}
	_, err := a.stdout.WriteString(p.String())
	return err
}

func (p *page) overview(root *kong.Node) {
	p.prose(overview)
	p.commands(root)
	p.flags("Flags of generate:", commonFlags(child(root, "generate").Flags))
	p.flags("Flags of every command:", root.Flags)
	p.WriteString("\n")
	p.prose("gpt COMMAND --help explains a command. gpt generate --help has more flags: filters, " +
		"repetition, single tokens. " +
		"In the names of flags _ is the same as -.")
}

// commonFlags leaves out the groups of flags that few need, so that an overview stays one.
func commonFlags(flags []*kong.Flag) []*kong.Flag {
	return slices.DeleteFunc(slices.Clone(flags), func(f *kong.Flag) bool {
		return f.Group != nil && slices.Contains([]string{
			"More filters:", "Against repetition:", "Wanted and unwanted tokens:",
		}, f.Group.Title)
	})
}

// command writes the page of one command. One that has commands and a default among them has the
// text and the flags of the default.
func (p *page) command(node *kong.Node) {
	p.prose("gpt " + node.Path() + ": " + node.Help + ".\n\nUsage:\n\n  " + usage(node))
	main := node
	if node.DefaultCmd != nil {
		main = node.DefaultCmd
	}
	if main.Detail != "" {
		p.WriteString("\n")
		p.prose(main.Detail)
	}
	if len(node.Children) > 0 {
		p.commands(node)
	}
	p.arguments(main)
	p.flags("Flags:", main.Flags)
	p.flags("Flags of every command:", rootOf(node).Flags)
}

func (p *page) commands(node *kong.Node) {
	p.WriteString("\nCommands:\n\n")
	var rows [][2]string
	for _, c := range node.Children {
		if !c.Hidden {
			rows = append(rows, [2]string{c.Name, c.Help})
		}
	}
	p.rows(rows)
}

func (p *page) arguments(node *kong.Node) {
	if len(node.Positional) == 0 {
		return
	}
	p.WriteString("\nArguments:\n\n")
	var rows [][2]string
	for _, a := range node.Positional {
		if !a.Tag.Hidden {
			rows = append(rows, [2]string{strings.ToUpper(a.Name), a.Help})
		}
	}
	p.rows(rows)
}

// flags writes flags by their groups in order of appearance, those without one under title.
func (p *page) flags(title string, flags []*kong.Flag) {
	var titles []string
	groups := map[string][][2]string{}
	for _, f := range flags {
		if f.Hidden {
			continue
		}
		of := title
		if f.Group != nil {
			of = f.Group.Title
		}
		if _, ok := groups[of]; !ok {
			titles = append(titles, of)
		}
		groups[of] = append(groups[of], [2]string{flagName(f), flagHelp(f)})
	}
	for _, title := range titles {
		p.WriteString("\n" + title + "\n\n")
		p.rows(groups[title])
	}
}

// usage is a command with the names of its arguments.
func usage(node *kong.Node) string {
	line := "gpt " + node.Path()
	switch {
	case node.DefaultCmd != nil:
		line += " [COMMAND]"
	case len(node.Children) > 0:
		line += " COMMAND"
	}
	for _, p := range node.Positional {
		if p.Tag.Hidden {
			continue
		}
		name := strings.ToUpper(p.Name)
		if p.IsCumulative() {
			name += "..."
		}
		if !p.Required {
			name = "[" + name + "]"
		}
		line += " " + name
	}
	return line + " [flags]"
}

func flagName(f *kong.Flag) string {
	name := "    --" + f.Name
	if f.Short != 0 {
		name = "-" + string(f.Short) + ", --" + f.Name
	}
	if takesYesNo(f) {
		return name + "=BOOL"
	}
	if f.IsBool() {
		return name
	}
	return name + " " + f.PlaceHolder
}

func flagHelp(f *kong.Flag) string {
	if f.HasDefault && f.Default != "" && !f.IsBool() && !strings.Contains(f.Help, "default:") {
		return f.Help + " (default " + f.Default + ")"
	}
	return f.Help
}
