package main

// The grammar of the command line: our flags by kong, those of Beam by package flag, which it
// registers them with.

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"
)

// commands are what the first word may be.
type commands struct {
	Version kong.VersionFlag `help:"print the version"`

	Score      scoreCommand      `cmd:"" help:"write the log-likelihood of each token of many texts"`
	Filter     filterCommand     `cmd:"" help:"keep the texts whose perplexity is in a range"`
	Perplexity perplexityCommand `cmd:"" help:"measure how well a model predicts a corpus"`
	Generate   generateCommand   `cmd:"" help:"write texts that continue many prompts"`
	Pool       poolCommand       `cmd:"" help:"start workers on this machine, for a runner elsewhere"`
}

// A command is what the command line asks for.
type command interface{ Run(*app) error }

// parse reads the command line. It returns nil where help was all that was wanted.
func parse(args []string, stdout, stderr io.Writer) (command, error) {
	var c commands
	helped := false
	k, err := kong.New(&c, kong.Name("corpus"), kong.Writers(stdout, stderr),
		kong.Vars{"version": "corpus " + cmp.Or(version, "of a source tree")},
		kong.Description(description), kong.Exit(func(int) { helped = true }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}))
	if err != nil {
		return nil, err // a mistake in the grammar
	}
	c.Generate.given = map[string]bool{}
	for _, n := range k.Model.Children {
		if n.Name == "generate" {
			addOptions(n, c.Generate.Options.Table(), c.Generate.given)
		}
		tellDefaults(n)
	}
	ours, beams := split(k.Model, args)
	if len(ours) == 0 {
		ours = []string{"--help"}
	}
	ctx, err := k.Parse(ours)
	if helped {
		return nil, nil
	}
	if err != nil && len(ours) > 1 && strings.HasPrefix(err.Error(), "unexpected argument") {
		err = fmt.Errorf("%w: wildcards of --input want quotes, so that no shell expands them", err)
	}
	if err != nil {
		return nil, usageError{err}
	}
	flag.CommandLine.SetOutput(io.Discard)
	flag.CommandLine.Init("corpus", flag.ContinueOnError)
	if err := flag.CommandLine.Parse(beams); err != nil {
		return nil, usageError{err}
	}
	return ctx.Selected().Target.Addr().Interface().(command), nil
}

const description = `Scores, filters, measures and continues many texts with GPT-2 models, on any
runner of Apache Beam: in this process by default, and unchanged on Flink, Spark and Dataflow. A
text has the same bits everywhere. Flags of Beam, such as --runner, --endpoint and
--environment_type, may stand among the others.`

// split separates the flags that only Beam knows, with their values, from the other arguments.
func split(app *kong.Application, args []string) (ours, beams []string) {
	known := map[string]bool{}
	names(app.Node, known)
	for i := 0; i < len(args); i++ {
		name, _, given := strings.Cut(strings.TrimLeft(args[i], "-"), "=")
		f := flag.Lookup(name)
		if args[i] == "--" {
			return append(ours, args[i:]...), beams
		}
		if !strings.HasPrefix(args[i], "-") || known[name] || f == nil {
			ours = append(ours, args[i])
			continue
		}
		beams = append(beams, args[i])
		if b, ok := f.Value.(interface{ IsBoolFlag() bool }); given || ok && b.IsBoolFlag() {
			continue
		}
		if i+1 < len(args) {
			i++
			beams = append(beams, args[i])
		}
	}
	return ours, beams
}

// tellDefaults adds the defaults to the help of a command's flags.
func tellDefaults(n *kong.Node) {
	for _, f := range n.Flags {
		if f.HasDefault && f.Default != "" {
			f.Help += "; default: " + f.Default
		}
	}
}

// names collects the flags of a command and of those under it.
func names(n *kong.Node, to map[string]bool) {
	for _, f := range n.Flags {
		to[f.Name] = true
	}
	for _, child := range n.Children {
		names(child, to)
	}
}

// bytesOf is a number of bytes, such as 64MiB.
type bytesOf int64

func (b *bytesOf) UnmarshalText(text []byte) error {
	s := strings.TrimSuffix(strings.ToLower(string(text)), "b")
	var n float64
	var unit string
	if _, err := fmt.Sscanf(s, "%g%s", &n, &unit); err != nil && unit != "" || n < 0 {
		return fmt.Errorf("%s: want a number of bytes, such as 64MiB", text)
	}
	sizes := map[string]float64{"": 1, "k": 1e3, "m": 1e6, "g": 1e9,
		"ki": 1 << 10, "mi": 1 << 20, "gi": 1 << 30, "t": 1e12, "ti": 1 << 40}
	size, ok := sizes[unit]
	if !ok || n*size < 1 {
		return fmt.Errorf("%s: want a number of bytes, such as 64MiB", text)
	}
	*b = bytesOf(n * size)
	return nil
}
