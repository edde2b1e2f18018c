package main

// The grammar of the command line, and parsing.

import (
	"fmt"
	"reflect"

	"github.com/alecthomas/kong"
)

// commands is the whole grammar. A command is a struct with flags and a method Run(*app) error.
type commands struct {
	globals
	PrintVersion bool `name:"version" help:"print the version"`

	Generate generateCommand `cmd:"" help:"write text that continues a prompt (the default command)"`
	Next     nextCommand     `cmd:"" help:"show which tokens may come next, and how likely each is"`
	Logits   logitsCommand   `cmd:"" help:"print the logits of the next token, as JSON"`
	Chat     chatCommand     `cmd:"" help:"talk with a model, line by line"`
	Serve    serveCommand    `cmd:"" help:"answer OpenAI's completions API, and show a page to try"`
	Verify   verifyCommand   `cmd:"" help:"make the text of a receipt again, and compare"`
	Tokenize tokenizeCommand `cmd:"" help:"turn a text into token ids, or ids into text"`
	Inspect  inspectCommand  `cmd:"" help:"show what a checkpoint holds and how much memory it needs"`
	Quantize quantizeCommand `cmd:"" help:"write a checkpoint in another number format"`
	Convert  convertCommand  `cmd:"" help:"write a checkpoint in the file format of other programs"`
	Pull     pullCommand     `cmd:"" help:"download a model from the Hugging Face hub"`
	Models   modelsCommand   `cmd:"" help:"list the models that were downloaded"`
	Bench    benchCommand    `cmd:"" help:"measure this machine and the speed of the models on it"`
	Devices  devicesCommand  `cmd:"" help:"show what can compute a model: the processor, and GPUs"`

	Perplexity perplexityCommand `cmd:"" help:"measure how well a model predicts a text"`
	Score      scoreCommand      `cmd:"" help:"print the log-likelihood of each token of many texts"`
	Eval       evalCommand       `cmd:"" help:"run a benchmark (LAMBADA or multiple choice)"`
	Surprise   surpriseCommand   `cmd:"" help:"show how surprising each token of a text is"`

	Help       helpCommand       `cmd:"" help:"explain a command, as gpt COMMAND --help does"`
	Version    versionCommand    `cmd:"" help:"print the version"`
	Completion completionCommand `cmd:"" help:"print a script that completes command lines"`
}

// A command is what the command line asks for.
type command func(a *app) error

func (c command) Run(a *app) error { return c(a) }

// newGrammar is the grammar whose flags and arguments are parsed into c.
func newGrammar(c *commands, options ...kong.Option) (*kong.Kong, error) {
	options = append(options, kong.Name("gpt"), kong.KindMapper(reflect.String, anyBytes))
	k, err := kong.New(c, options...)
	if err != nil {
		return nil, err // a mistake in the grammar
	}
	k.Model.HelpFlag.Help = "print this help"
	fillHelp(k.Model.Node, flagTexts())
	shareFlags(k.Model.Node)
	return k, nil
}

// anyBytes takes strings as they are typed. Kong's own mapper replaces bytes that are not UTF-8.
var anyBytes = kong.MapperFunc(func(ctx *kong.DecodeContext, target reflect.Value) error {
	token, err := ctx.Scan.PopValue("string")
	if err != nil {
		return err
	}
	target.SetString(fmt.Sprint(token.Value))
	return nil
})

// parse reads the command line into a command and a's global flags.
func parse(a *app, args []string) (command, error) {
	var c commands
	var unwritten error
	help := func(_ kong.HelpOptions, ctx *kong.Context) error {
		unwritten = a.printHelp(ctx, ctx.Selected())
		return unwritten
	}
	k, err := newGrammar(&c, kong.Writers(a.stdout, a.Stderr), kong.Help(help))
	if err != nil {
		return nil, err
	}
	arranged, err := arrange(k.Model.Node, args)
	if err != nil {
		return nil, err
	}
	if arranged.refused() {
		return nil, arranged.refusal(k, &c)
	}
	ctx, err := k.Parse(arranged.args())
	if unwritten != nil { // no mistake in the command line
		return nil, unwritten
	}
	if c.PrintVersion {
		return printVersion, nil
	}
	if err == nil {
		a.globals = c.globals
		err = a.globals.validate()
	}
	if err != nil {
		return nil, arranged.grammarError(err)
	}
	a.bareWord = arranged.bare
	return func(a *app) error { return ctx.Run(a) }, nil
}
