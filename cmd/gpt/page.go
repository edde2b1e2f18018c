package main

// --html: a page for a browser, as a file that needs no other.

import (
	"bytes"
	"io"

	"picogpt/internal/cli"
	"picogpt/internal/outfile"
)

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
	err := outfile.WriteFile(ctx, *p.HTML, a.writing(p.Force, outfile.HTML), func(w io.Writer) error {
		_, err := w.Write(page.Bytes())
		return err
	})
	return outfile.FlagError("--html", err)
}
