package main

// What commands write beside text: colours of a terminal, and pages for a browser.

import (
	"bytes"
	"io"
	"os"

	"picogpt/cmd/gpt/internal/terminal"
	"picogpt/internal/cli"
	"picogpt/internal/outfile"
	"picogpt/internal/strictjson"
)

// What a terminal gets: colours, and control characters of texts.

// print prints what a command found: v as a line of JSON, or a text.
func (a *app) print(asJSON bool, v any, text string) error {
	if asJSON {
		return strictjson.Print(a.stdout, v)
	}
	return a.printText(text)
}

func (a *app) printText(text string) error {
	_, err := a.stdout.WriteString(text)
	return err
}

// addColor adds --color.
func addColor(f *cli.Flags, p *string) {
	f.Add(p, "--color WHEN [auto]",
		"when to use colours: auto (on a terminal, unless $NO_COLOR is set), always or never").
		OneOf("auto", "always", "never")
}

// addRawControls adds --raw-control-chars.
func (a *app) addRawControls(f *cli.Flags) {
	f.Add(&a.stdout.Raw, "--raw-control-chars", `on a terminal, write control characters of texts as
		they are, not as \x1b; pipes and files always get them so`)
}

// colored reports whether to use colours on stdout, as a value of --color has it.
func (a *app) colored(when string) bool {
	return when == "always" || when == "auto" && a.stdout.Terminal && os.Getenv("NO_COLOR") == ""
}

// columns returns how many columns stdout has; 0 means any number, of a pipe or a file.
func (a *app) columns() int {
	if a.stdout.Terminal {
		return terminal.Columns(a.stdout.File)
	}
	return 0
}

// --html: a page for a browser, as a file that needs no other.

// A pageFile is where a command writes its page.
type pageFile struct {
	HTML  *string // nil: nowhere
	Force bool
}

func (p *pageFile) flags(f *cli.Flags) {
	f.Add(&p.HTML, "--html FILE",
		"write a page for a browser to FILE, which needs no other files; - is stdout")
	f.Add(&p.Force, "--force", "write over the file that --html names, if it is there")
}

// check refuses a page that cannot be written, before anything is read: among others one in the
// place of a text that the command reads.
func (p *pageFile) check(a *app, texts ...*promptSource) error {
	if p.HTML == nil || *p.HTML == "-" {
		return nil
	}
	for _, s := range texts {
		s.declare(a)
	}
	return outfile.FlagError("--html", outfile.Check(*p.HTML, a.writing(p.Force, outfile.HTML)))
}

// write writes the page that a function draws.
func (p *pageFile) write(a *app, draw func(io.Writer) error) error {
	var page bytes.Buffer
	if err := draw(&page); err != nil {
		return err
	}
	if *p.HTML == "-" {
		_, err := a.stdout.Write(page.Bytes())
		return err
	}
	ctx, release := a.Graceful()
	defer release()
	err := outfile.WriteFile(ctx, *p.HTML, a.writing(p.Force, outfile.HTML),
		func(w io.Writer) error {
			_, err := w.Write(page.Bytes())
			return err
		})
	return outfile.FlagError("--html", err)
}

// --json, which every command has that prints what a program may read.

// jsonAlready adds --json to a command that prints JSON in any case.
func jsonAlready(f *cli.Flags) { f.Add(new(bool), "--json", "no effect: what is printed is JSON") }
