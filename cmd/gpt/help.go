package main

// --help: an overview of the commands with the flags of generate, or the page of one command.

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/kong"
)

const overview = `gpt writes text with GPT-2 models: on the processor, with the same bits everywhere.

Usage:
  gpt [generate] [PROMPT]... [flags]
  gpt COMMAND ... [flags]

Examples:
  gpt "Once upon a time"                     a story from the embedded demo model
  gpt                                        any story: nothing but <|endoftext|> to start from
  gpt -m ~/models/gpt2 -n 50 "The meaning"   a checkpoint as Hugging Face stores it
  gpt --seed 1 --samples 3 "Lily said"       three texts, which seeds 1, 2 and 3 give anywhere
  gpt -f notes.txt --no-display-prompt       only what follows a file
  gpt --tokens 7454,2402 --output json       ids in, ids out
`

// helpCommand is gpt help, which prints what --help does.
type helpCommand struct {
	Of []string `arg:"" name:"command" optional:"" help:"the command to explain; none: all of them in short"`
}

func (c *helpCommand) Run(a *app, ctx *kong.Context) error {
	node := ctx.Model.Node
	for _, name := range c.Of {
		next := child(node, name)
		if next == nil {
			return notACommand(node, name, "")
		}
		node = next
	}
	return writeHelp(ctx, node)
}

// printHelp is kong's HelpPrinter.
func printHelp(_ kong.HelpOptions, ctx *kong.Context) error {
	if node := ctx.Selected(); node != nil {
		return writeHelp(ctx, node)
	}
	return writeHelp(ctx, ctx.Model.Node)
}

// writeHelp writes the page of one command, or the overview of all for the root.
func writeHelp(ctx *kong.Context, node *kong.Node) error {
	var b strings.Builder
	if node == ctx.Model.Node {
		b.WriteString(overview)
		b.WriteString("\nCommands:\n")
		writeCommands(&b, node)
		writeFlags(&b, "Prompt:", child(node, "generate").Flags)
		writeFlags(&b, "Everywhere:", node.Flags)
		b.WriteString("\nUnderscores in flags are hyphens. gpt COMMAND --help says more, gpt generate --help too.\n")
	} else {
		fmt.Fprintf(&b, "gpt %s: %s\n\nUsage:\n  %s\n", node.Path(), node.Help, usage(node))
		if node.Detail != "" {
			fmt.Fprintf(&b, "\n%s\n", node.Detail)
		}
		if len(node.Children) > 0 {
			b.WriteString("\nCommands:\n")
			writeCommands(&b, node)
		}
		writeFlags(&b, "Flags:", node.Flags)
		writeFlags(&b, "Everywhere:", ctx.Model.Flags)
	}
	_, err := ctx.Stdout.Write([]byte(b.String()))
	return err
}

func writeCommands(b *strings.Builder, node *kong.Node) {
	var rows [][2]string
	for _, c := range node.Children {
		if !c.Hidden {
			rows = append(rows, [2]string{c.Name, c.Help})
		}
	}
	writeRows(b, rows)
}

// usage is a command with the names of its arguments.
func usage(node *kong.Node) string {
	line := "gpt " + node.Path()
	if len(node.Children) > 0 {
		line += " COMMAND"
	}
	for _, p := range node.Positional {
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

// writeFlags writes flags by their groups in order of appearance, those without one under title.
func writeFlags(b *strings.Builder, title string, flags []*kong.Flag) {
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
		b.WriteString("\n" + title + "\n")
		writeRows(b, groups[title])
	}
}

func flagName(f *kong.Flag) string {
	name := "    --" + f.Name
	if f.Short != 0 {
		name = "-" + string(f.Short) + ", --" + f.Name
	}
	if f.IsBool() {
		return name
	}
	return name + " " + f.PlaceHolder
}

func flagHelp(f *kong.Flag) string {
	if f.HasDefault && !f.IsBool() {
		return f.Help + " (default " + f.Default + ")"
	}
	return f.Help
}

// writeRows writes two columns, the second wrapped.
func writeRows(b *strings.Builder, rows [][2]string) {
	const width = 110
	left := 0
	for _, r := range rows {
		left = max(left, utf8.RuneCountInString(r[0]))
	}
	for _, r := range rows {
		line := fmt.Sprintf("  %-*s ", left, r[0])
		for _, word := range strings.Fields(r[1]) {
			if utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
				b.WriteString(line + "\n")
				line = strings.Repeat(" ", left+3)
			}
			line += " " + word
		}
		b.WriteString(line + "\n")
	}
}
