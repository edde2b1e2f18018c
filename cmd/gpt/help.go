package main

// gpt help: the overview, the page of a command, that of a topic, and the manual pages.

import (
	"cmp"
	"context"
	"io"
	"maps"
	"slices"
	"time"

	"picogpt/cmd/gpt/internal/terminal"
	"picogpt/internal/cli"
	"picogpt/internal/outfile"
)

const overview = `
gpt writes text with GPT-2 models. A seed gives the same text on every machine.

gpt "Once upon a time"	a story by the embedded demo model
gpt -m gpt2 -n 50 "The end"	another model, at most 50 new tokens
gpt COMMAND ... [flags]	one of these commands:
`

const moreHelp = `
gpt COMMAND --help explains a command; gpt help sampling, forms, search, prompts, output or inside
has more of gpt generate. Flags may stand anywhere.
`

// manual is what the manual page has and help has not.
var manual = []cli.Topic{
	{Name: "environment", Long: `
GPT_MODEL	the checkpoint, where -m names none
GPT_DEVICE	what computes, where --device says nothing
GPT_KERNEL	the kernels of the processor: go, avx2, avx2vnni, avx512 or neon; default: the fastest
GPT_API_KEY	the key that clients of gpt serve need
HF_TOKEN, HF_TOKEN_PATH	a token of the Hugging Face hub, or the file that has one
HF_HOME, HF_HUB_CACHE	where the hub's cache is
HF_ENDPOINT	another hub
HF_HUB_OFFLINE, TRANSFORMERS_OFFLINE	with 1, nothing asks the hub`},
	{Name: "exit status", Long: `
0	the results are written, or their reader closed the pipe, as head does
1	something failed: a line on stderr names it, and the next may have a hint
2	the command line is wrong
130, 143	Ctrl-C or SIGTERM ended the process`},
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

// manualPages are the manual pages, dated by the build's commit: the same build gives the same pages.
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
	_, err := a.stdout.WriteString(page(terminal.Columns(a.stdout.File)))
	return err
}
