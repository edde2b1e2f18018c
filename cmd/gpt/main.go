// Command gpt writes text with GPT-2 models.
//
//	gpt "Once upon a time"                 a story from the embedded demo model
//	gpt -m DIR "In a shocking finding,"    a checkpoint as Hugging Face stores it
//	gpt --help
//
// Each command is a struct with a method Run in a file of its name; commands in cli.go lists them.
// Results go to stdout, everything else to stderr. The exit status is 0, 1 for a failure, 2 for
// usage, 130 for Ctrl-C and 143 for SIGTERM; where a reader closes stdout early, as head does, gpt
// ends quietly with 0.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"picogpt/internal/quote"
)

func main() {
	a := newApp()
	os.Exit(a.report(run(a, os.Args[1:])))
}

// run does what the command line says.
func run(a *app, args []string) error {
	a.watchSignals()
	parsed, err := parse(a, args)
	if err != nil {
		return err
	}
	defer a.close()
	err = parsed.Run(a)
	if err == nil || errors.Is(err, context.Canceled) {
		a.noteBareWord()
	}
	if err == nil {
		a.noteStdinLeft()
	}
	return err
}

// errClosedPipe says that nobody reads stdout any more.
var errClosedPipe = errors.New("stdout is closed")

// A usageError is a mistake in the command line. It ends the process with status 2.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// usagef makes a usageError.
func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// notNegative returns a usageError for a flag whose value is below 0.
func notNegative(flag string, n int) error {
	if n < 0 {
		return usagef("%s %d: want 0 or more", flag, n)
	}
	return nil
}

// A hinted error carries a hint: what the user may want to do instead.
type hinted struct {
	error
	hint string
}

func (e hinted) Unwrap() error { return e.error }

// report prints an error in one line, and a hint in another, and returns the exit status.
func (a *app) report(err error) int {
	var usage usageError
	switch {
	case err == nil, errors.Is(err, errClosedPipe):
		return 0
	case errors.Is(err, context.Canceled):
		return a.signalStatus()
	}
	fmt.Fprintf(a.stderr, "gpt: %s\n", quote.OneLine(err))
	if hint := hintFor(err); hint != "" {
		fmt.Fprintf(a.stderr, "gpt: hint: %s\n", hint)
	}
	if errors.As(err, &usage) {
		return 2
	}
	return 1
}
