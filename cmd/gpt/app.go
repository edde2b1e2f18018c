package main

// The process: its streams, the global flags, and what signals do.

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/term"

	"picogpt/checkpoint"
	"picogpt/internal/outfile"
	"picogpt/kernels"
)

// globals are the flags of every command.
type globals struct {
	Model   *string `short:"m" placeholder:"DIR|FILE|NAME"`
	GELU    string  `name:"gelu" placeholder:"FORM" enum:",tanh,erf" default:""`
	Threads int     `placeholder:"N" default:"0"`
	Dtype   string  `placeholder:"TYPE" default:"auto" enum:"auto,f32,f16,bf16,q8,q4"`

	CacheDtype string   `placeholder:"TYPE" default:"f32" enum:"f32,f16"`
	CacheBytes byteSize `placeholder:"SIZE" default:"0"`

	Device *string `placeholder:"NAME"`

	CJKSpaces *bool `name:"cjk-spaces"`

	Verbose bool `short:"v" help:"report on stderr what is used and how long it takes"`
}

// validate settles what the flags and the environment leave open.
func (g *globals) validate() error {
	if g.Model != nil && *g.Model == "" {
		return usagef("--model: want a directory or a file, found nothing")
	}
	if path := os.Getenv("GPT_MODEL"); g.Model == nil && path != "" {
		g.Model = &path
	}
	if g.Threads < 0 || g.Threads > kernels.MaxThreads {
		return usagef("--threads %d: want 0 to %d", g.Threads, kernels.MaxThreads)
	}
	_, _, err := g.deviceName()
	return err
}

// An app is what every command has.
type app struct {
	globals
	opened *checkpoint.Checkpoint // nil until open
	found  string                 // the snapshot that -v told of last
	chosen chosenDevice
	stdin  *os.File
	stdout *output
	stderr io.Writer
	start  time.Time
	inputs outfile.Inputs
	temps  outfile.Temps // of the files being written, removed when the process ends

	optionFiles optionFiles // that options name

	bareWord string // the prompt, where the name of a command may stand too; "" for others

	stdinTaken bool // an option has stdin for its file
	stdinLeft  bool // the text comes from elsewhere, and nothing was said yet of bytes on stdin

	mu       sync.Mutex
	cancel   context.CancelFunc // what Ctrl-C calls, if not nil
	ended    os.Signal          // the last one of those that end the process
	progress *progress          // on the terminal, if not nil
}

func newApp() *app {
	return &app{stdin: os.Stdin, stdout: newOutput(os.Stdout), stderr: os.Stderr, start: time.Now()}
}

// logf writes a line to stderr if -v is given.
func (a *app) logf(format string, args ...any) {
	if a.Verbose {
		fmt.Fprintf(a.stderr, "gpt: "+format+"\n", args...)
	}
}

// notef writes a line to stderr that users need to see.
func (a *app) notef(format string, args ...any) {
	fmt.Fprintf(a.stderr, "gpt: "+format+"\n", args...)
}

// watchSignals makes Ctrl-C, SIGTERM and a terminal that is closed end the process with 128 and the
// signal's number: at once, unless graceful has said otherwise, and at once if a second one comes.
// Temporary files are removed in any case. A closed pipe and a file that grows too large become
// errors of Write.
func (a *app) watchSignals() {
	signal.Ignore(errorsInstead()...)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, endings()...)
	go func() {
		for s := range signals {
			a.mu.Lock()
			cancel := a.cancel
			a.cancel = nil
			a.ended = s
			a.mu.Unlock()
			if cancel == nil {
				a.endProgress()
				a.temps.RemoveAll()
				os.Exit(a.signalStatus())
			}
			cancel()
		}
	}()
}

// signalStatus is the exit status after a signal: 130 for Ctrl-C, 143 for SIGTERM.
func (a *app) signalStatus() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	if number, ok := a.ended.(syscall.Signal); ok {
		return 128 + int(number)
	}
	return 130
}

// graceful returns a context that Ctrl-C and its like cancel, so that what is there can be printed.
// Call release when the work is done.
func (a *app) graceful() (ctx context.Context, release func()) {
	ctx, cancel := context.WithCancel(context.Background())
	a.setCancel(cancel)
	return ctx, func() {
		a.setCancel(nil)
		cancel()
	}
}

// setCancel sets what Ctrl-C does: it calls cancel, or ends the process if that is nil.
func (a *app) setCancel(cancel context.CancelFunc) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.cancel = cancel
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// columns is the width of a terminal, 80 where f is none or does not say.
func columns(f *os.File) int {
	if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
		return width
	}
	return 80
}
