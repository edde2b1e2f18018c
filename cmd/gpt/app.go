package main

// The process: its streams, the global flags, and what signals do.

import (
	"os"
	"time"

	"picogpt/checkpoint"
	"picogpt/internal/amount"
	"picogpt/internal/checkpoints"
	"picogpt/internal/infile"
	"picogpt/internal/outfile"
	"picogpt/internal/process"
	"picogpt/internal/terminal"
	"picogpt/kernels"
)

// globals are the flags of every command.
type globals struct {
	Model   *string `short:"m" placeholder:"DIR|FILE|NAME"`
	GELU    string  `name:"gelu" placeholder:"FORM" enum:",tanh,erf" default:""`
	Threads int     `placeholder:"N" default:"0"`
	Dtype   string  `placeholder:"TYPE" default:"auto" enum:"auto,f32,f16,bf16,q8,q4"`

	CacheDtype string       `placeholder:"TYPE" default:"f32" enum:"f32,f16"`
	CacheBytes amount.Bytes `placeholder:"SIZE" default:"0"`

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
	terminal.Console
	process.Signals
	files  infile.Files // that are read
	finder checkpoints.Finder

	opened *checkpoint.Checkpoint // nil until open
	chosen chosenDevice
	stdout *process.Output
	start  time.Time
	temps  outfile.Temps // of the files being written, removed when the process ends

	optionFiles optionFiles // that options name

	bareWord string // the prompt, where the name of a command may stand too; "" for others

}

func newApp() *app {
	a := &app{stdout: process.NewOutput(os.Stdout), start: time.Now()}
	a.Stderr, a.Program = os.Stderr, "gpt"
	a.files = infile.Files{Stdin: os.Stdin, Note: a.Notef}
	a.finder = checkpoints.Finder{
		Inputs: &a.files.Inputs, Notef: a.Notef, Logf: a.logf,
		UserAgent: "picogpt/" + versionName(),
	}
	return a
}

// atSignal is called before a signal ends the process.
func (a *app) atSignal() {
	a.EndProgress()
	a.temps.RemoveAll()
}

// logf writes a line to stderr if -v is given.
func (a *app) logf(format string, args ...any) {
	if a.Verbose {
		a.Notef(format, args...)
	}
}
