package main

// The grammar of the command line, and parsing.

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/alecthomas/kong"
)

// commands is the whole grammar. A command is a struct with flags and a method Run(*app) error.
type commands struct {
	globals
	Version bool `help:"print the version"`

	Generate generateCommand `cmd:"" help:"write text that goes on from a prompt (the default)"`
	Logits   logitsCommand   `cmd:"" help:"print the logits after some tokens, as JSON"`
	Tokenize tokenizeCommand `cmd:"" help:"turn text into token ids, or back"`
	Inspect  inspectCommand  `cmd:"" help:"show what a checkpoint holds, and what it needs"`
	Quantize quantizeCommand `cmd:"" help:"write a checkpoint in another number format"`
	Bench    benchCommand    `cmd:"" help:"measure this machine, and the engine on it"`

	Perplexity perplexityCommand `cmd:"" help:"measure how well a model predicts a text, by a published protocol"`
	Score      scoreCommand      `cmd:"" help:"log-likelihoods of many texts, token by token"`
	Eval       evalCommand       `cmd:"" help:"benchmarks on log-likelihoods: LAMBADA, multiple choice"`
	Surprise   surpriseCommand   `cmd:"" help:"a picture of how surprising each token of a text is"`

	Help helpCommand `cmd:"" help:"explain a command, as gpt COMMAND --help does"`
}

// A command is what the command line asks for.
type command func(a *app) error

func (c command) Run(a *app) error { return c(a) }

// parse reads the command line into a command and a's global flags.
func parse(a *app, args []string) (command, error) {
	var c commands
	k, err := kong.New(&c, kong.Name("gpt"), kong.Writers(a.stdout, a.stderr), kong.Help(printHelp))
	if err != nil {
		return nil, err // a mistake in the grammar
	}
	k.Model.HelpFlag.Help = "print this"
	arranged, err := arrange(k.Model.Node, args)
	if err != nil {
		return nil, err
	}
	ctx, err := k.Parse(arranged)
	if c.Version {
		return printVersion, nil
	}
	if err == nil {
		a.globals = c.globals
		err = a.globals.validate()
	}
	if err != nil {
		return nil, grammarError(err)
	}
	return func(a *app) error { return ctx.Run(a) }, nil
}

func printVersion(a *app) error {
	version := "(devel)"
	info, ok := debug.ReadBuildInfo()
	if ok && info.Main.Version != "" {
		version = info.Main.Version
	}
	_, err := fmt.Fprintf(a.stdout, "gpt %s, %s %s/%s\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
