package main

// gpt help and gpt completion: pages of help, manual pages, and what the shell offers.

import (
	"cmp"
	"context"
	"embed"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"picogpt/checkpoint/hub"
	"picogpt/cmd/gpt/internal/terminal"
	"picogpt/internal/cli"
	"picogpt/internal/option"
	"picogpt/internal/outfile"
)

// gpt help: the overview, the page of a command, that of a topic, and the manual pages.

// helpTexts are the texts of help/: of each command, by its name with hyphens
// (help/models-list.txt), of each topic, of the sections that the manual page has and help has not,
// and of the overview.
//
//go:embed help
var helpTexts embed.FS

// helpText is a text of help/, "" where there is none. The paragraphs are those of cli.Page.
func helpText(name string) string {
	text, err := helpTexts.ReadFile("help/" + strings.ReplaceAll(name, " ", "-") + ".txt")
	if err != nil {
		return ""
	}
	return string(text)
}

// explain gives the program its texts.
func explain(root *cli.Command) {
	root.Overview, root.More = helpText("overview"), helpText("more")
	root.All(func(c *cli.Command) { c.Long = cmp.Or(c.Long, helpText(c.Path())) })
	// The topics are the pages of gpt help that have more of the flags of gpt generate.
	root.Topics = []cli.Topic{
		topic("sampling", "more filters, repetition, single tokens",
			option.Filters, option.Repetition, option.Wanted),
		topic("forms", "texts that fit a choice, a regex, a JSON Schema, a grammar",
			"A form for the text:"),
		topic("search", "beams, contrastive search; guesses that make texts faster",
			option.Searches, option.Guessing),
		topic("prompts", "where prompts come from; many prompts", otherPrompts),
		topic("output", "JSON, ids, tokens as they come; receipts", option.Output),
		topic("inside", "heads switched off, tokens hidden, control vectors", editGroup),
	}
	root.Manual = []cli.Topic{topic("environment", ""), topic("exit status", "")}
}

func topic(name, short string, groups ...string) cli.Topic {
	return cli.Topic{Name: name, Short: short, Long: helpText(name), Groups: groups}
}

// helpCommand is gpt help, which prints what --help does.
type helpCommand struct {
	Of    []string
	Man   *string
	Force bool
}

func newHelp(a *app, root *cli.Command) *cli.Command {
	c := &helpCommand{}
	return &cli.Command{
		Name: "help", Group: "about",
		Short: "explain a command, as gpt COMMAND --help does, or a topic",
		Args: []cli.Arg{cli.Words(&c.Of, "command",
			"the command or the topic to explain; default: an overview of all")},
		Flags: func(f *cli.Flags) {
			f.Add(&c.Man, "--man DIR",
				"write the manual pages into DIR: gpt.1, and one for each command")
			f.Add(&c.Force, "--force", "write over manual pages that are there")
		},
		Run: func(*cli.Flags) error { return c.Run(a, root) },
	}
}

func (c *helpCommand) Run(a *app, root *cli.Command) error {
	if c.Man != nil {
		ctx, release := a.Graceful()
		defer release()
		return c.writeManual(ctx, a, root)
	}
	help, err := root.Find(c.Of)
	if err != nil {
		return err
	}
	return a.printPage(help)
}

// writeManual writes the manual pages, all or none.
func (c *helpCommand) writeManual(ctx context.Context, a *app, root *cli.Command) error {
	if len(c.Of) > 0 {
		return usagef("--man: writes all pages, want no name of one, found %s", quoteShort(c.Of[0]))
	}
	pages := manualPages(root)
	names := slices.Sorted(maps.Keys(pages))
	f, err := outfile.NewFolder(*c.Man, names, a.writing(c.Force, outfile.Directory))
	if err != nil {
		return outfile.FlagError("--man", err)
	}
	defer f.Close()
	for _, name := range names {
		err := f.Write(ctx, name, func(w io.Writer) error {
			_, err := io.WriteString(w, pages[name])
			return err
		})
		if err != nil {
			return err
		}
	}
	return f.Commit(ctx)
}

// manualPages are the manual pages, dated by the build's commit: the same build gives the same
// pages.
func manualPages(root *cli.Command) map[string]string {
	b := thisBuild()
	day, err := time.Parse(time.DateOnly, cmp.Or(b.Date, "2026-01-01"))
	if err != nil {
		day = time.Time{} // only a linker flag can be so wrong
	}
	return cli.ManualPages(root, b.Version, day.Format("January 2, 2006"))
}

// printPage prints a page of help as wide as the terminal.
func (a *app) printPage(page func(width int) string) error {
	return a.printText(page(terminal.Columns(a.stdout.File)))
}

// gpt completion: what the shell offers for the word under the cursor.

type completionCommand struct {
	Shell string
	Words []string
}

func newCompletion(a *app, root *cli.Command) *cli.Command {
	c := &completionCommand{}
	shell := cli.Word(&c.Shell, "shell", "bash, zsh or fish")
	shell.Values = cli.Shells()
	words := cli.Words(&c.Words, "words", "")
	words.Hidden = true
	return &cli.Command{
		Name: "completion", Group: "about",
		Short: "print a script that completes command lines",
		Args:  []cli.Arg{shell, words},
		Run:   func(*cli.Flags) error { return c.Run(a, root) },
	}
}

func (c *completionCommand) Run(a *app, root *cli.Command) error {
	if len(c.Words) == 0 {
		script, err := cli.Script(c.Shell)
		if err != nil {
			return err
		}
		return a.printText(string(script))
	}
	done := cli.Complete(root, c.Shell, c.Words)
	if done.Models {
		all, _ := hub.List(a.finder.CacheOptions())
		for _, s := range all {
			done.Add(done.Before, s.Name.String(), "in the Hugging Face cache")
		}
	}
	var b strings.Builder
	for _, w := range done.Words {
		b.WriteString(w.Word + "\t" + w.Help + "\n")
	}
	if done.Files {
		b.WriteString(":files\n")
	}
	return a.printText(b.String())
}
