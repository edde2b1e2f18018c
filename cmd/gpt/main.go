// Command gpt writes text with GPT-2 models.
//
//	gpt "Once upon a time"                 a story from the embedded demo model
//	gpt -m DIR "In a shocking finding,"    a checkpoint as Hugging Face stores it
//	gpt --help
//
// Each command is a struct with a method Run in a file of its name; commands.go lists them.
// Results go to stdout, everything else to stderr. The exit status is 0, 1 for a failure, 2 for
// usage, 130 for Ctrl-C and 143 for SIGTERM; where a reader closes stdout early, as head does, gpt
// ends quietly with 0.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"picogpt/cmd/gpt/internal/process"
	"picogpt/internal/fault"
	"picogpt/internal/quote"
)

func main() {
	a := newApp()
	os.Exit(a.report(run(a, os.Args[1:])))
}

// run does what the command line says.
func run(a *app, args []string) error {
	a.Watch(a.atSignal)
	run, err := parse(a, args)
	if err != nil {
		return err
	}
	defer a.close()
	err = fault.First(run(), a.stdout.Flush())
	if err == nil || errors.Is(err, context.Canceled) {
		a.noteBareWord()
	}
	if err == nil {
		a.files.NoteStdinLeft()
	}
	return err
}

// usagef is an error of usage, which ends the process with status 2.
func usagef(format string, args ...any) error { return fault.Usagef(format, args...) }

// report prints an error in one line, and a hint in another, and returns the exit status.
func (a *app) report(err error) int {
	var usage fault.Usage
	switch {
	case err == nil, errors.Is(err, process.ErrClosedPipe):
		return 0
	case errors.Is(err, context.Canceled):
		return a.Status()
	}
	fmt.Fprintf(a.Stderr, "gpt: %s\n", quote.OneLine(err))
	if hint := cmp.Or(hintFor(err), a.Edits.hint(err)); hint != "" {
		fmt.Fprintf(a.Stderr, "gpt: hint: %s\n", hint)
	}
	if errors.As(err, &usage) {
		return 2
	}
	return 1
}

// noteBareWord tells that a word that names no command was the prompt, once its text is written.
func (a *app) noteBareWord() {
	if a.bareWord != "" {
		a.Notef("%s is no command, so it was the prompt; gpt --help lists the commands",
			quoteShort(a.bareWord))
	}
}
