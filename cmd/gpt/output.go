package main

// What commands write beside text: colours of a terminal, pages for a browser, and what is found
// inside of a model.

import (
	"bytes"
	"context"
	"io"
	"os"

	"picogpt/cmd/gpt/internal/terminal"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/outfile"
	"picogpt/internal/strictjson"
	"picogpt/model"
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
	return outfile.FlagError("--html", outfile.WriteFile(ctx, *p.HTML,
		a.writing(p.Force, outfile.HTML), outfile.Bytes(page.Bytes())))
}

// --json, which every command has that prints what a program may read.

// jsonAlready adds --json to a command that prints JSON in any case.
func jsonAlready(f *cli.Flags) { f.Add(new(bool), "--json", "no effect: what is printed is JSON") }

// An insideOutput is how a command prints what it found: a table, JSON or a page.
type insideOutput struct {
	JSON bool
	Page pageFile
}

func (o *insideOutput) flags(f *cli.Flags) {
	f.Add(&o.JSON, "--json", "print one JSON object")
	o.Page.flags(f)
}

// checkOne refuses two forms.
func (o *insideOutput) checkOne() error {
	if o.JSON && o.Page.HTML != nil {
		return usagef("--json and --html: want one of them")
	}
	return nil
}

// check refuses two forms, and, before anything is read, a page that cannot be written. texts are
// what the command reads.
func (o *insideOutput) check(a *app, texts ...*promptSource) error {
	return fault.First(o.checkOne(), o.Page.check(a, texts...))
}

// checkInside is check of a command that looks inside of the model, such as "gpt lens".
func (o *insideOutput) checkInside(a *app, command string, texts ...*promptSource) error {
	return fault.First(o.checkOne(), a.onProcessor(command), o.Page.check(a, texts...))
}

// show prints what a command found: v as JSON, the page that page draws, or what text prints.
func (o *insideOutput) show(a *app, v any, page func(io.Writer) error, text func() error) error {
	switch {
	case o.JSON:
		return strictjson.Print(a.stdout, v)
	case o.Page.HTML != nil:
		return o.Page.write(a, page)
	}
	return text()
}

// onProcessor refuses a command that looks inside of the model, on a GPU.
func (a *app) onProcessor(command string) error {
	device, said, err := a.deviceName()
	if err == nil && device != "cpu" {
		err = usagef("%s and %s %s: a GPU shows nothing of its inside, want the processor "+
			"(--device cpu), whose numbers are the same", command, said, device)
	}
	return err
}

// look opens the model, and shows how far of comes, which looks into it until Ctrl-C ends that.
func look[T any](a *app, unit string, gradients bool, of func(ctx context.Context, m *model.Model,
	progress func(done, all int)) (T, error)) (found T, err error) {
	m, err := a.openModel()
	if err != nil {
		return found, err
	}
	if gradients {
		a.noteRounding(m)
	}
	ctx, release := a.Graceful()
	defer release()
	bar := terminal.NewBar(unit)
	defer a.ShowBar(bar)()
	return of(ctx, m, func(done, all int) { bar.Set(done, all, "") })
}

// noteRounding tells what the gradient of a quantized model is.
func (a *app) noteRounding(m *model.Model) {
	if format := m.Format(); format == "q8" || format == "q4" {
		a.Notef("%s: the gradient is that of the weights as they are, rounding is passed through",
			format)
	}
}
