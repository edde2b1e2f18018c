// Command corpus scores, filters, measures and continues more text than one machine holds, with
// GPT-2 models, on any runner of Apache Beam.
//
//	corpus score --input 'texts/*.jsonl*' --output out     in this process, on all cores
//	corpus filter --input … --output out --keep 0.1..0.7
//	corpus score … --runner flink --endpoint HOST:8099     the same pipeline elsewhere
//	corpus --help
//
// Each command is a struct with a method Run in a file of its name. The exit status is 0, 1 for a
// failure or more errors than --max-errors, 2 for usage, and 130 for Ctrl-C.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"picogpt/internal/fault"
	"picogpt/internal/quote"
	"picogpt/x/corpus/internal/worker"
)

func main() {
	if worked, status := worker.Main(version, os.Args[1:], os.Stderr); worked {
		os.Exit(status)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	interrupted := ctx.Err() != nil
	stop()
	os.Exit(report(quote.NewShown(os.Stderr), err, interrupted))
}

// run does what the command line says.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	command, err := parse(args, stdout)
	if err != nil || command == nil {
		return err
	}
	return command.Run(&app{ctx: ctx, stdout: stdout, stderr: stderr})
}

// An app is what every command has.
type app struct {
	ctx            context.Context
	stdout, stderr io.Writer
}

// usagef is an error of usage, which ends the process with status 2.
func usagef(format string, args ...any) error { return fault.Usagef(format, args...) }

// report prints an error in one line, and returns the exit status.
func report(stderr io.Writer, err error, interrupted bool) int {
	var usage fault.Usage
	switch {
	case err == nil:
		return 0
	case interrupted:
		fmt.Fprintln(stderr, "corpus: interrupted; --resume continues")
		return 130
	}
	hint := fault.HintOf(err)
	if hint != "" {
		hint = "; " + hint
	}
	fmt.Fprintf(stderr, "corpus: %s%s\n", strings.TrimSpace(err.Error()), hint)
	if errors.As(err, &usage) {
		return 2
	}
	return 1
}
