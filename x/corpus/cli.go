package main

// The command line: our flags by package cli, as gpt has them, those of Beam by package flag, which
// it registers them with.

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	// The certificates of gs:// and s3://, where a machine has none: an image from scratch.
	_ "golang.org/x/crypto/x509roots/fallback"
	"golang.org/x/term"

	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/x/corpus/internal/worker"
)

// A command is what the command line asks for.
type command interface {
	Run(*app) error
	line() *cli.Command // without Run
}

// commandLine returns the grammar. Its commands set *asked to what they are.
func commandLine(asked *command) *cli.Command {
	root := &cli.Command{Name: "corpus", Overview: overview,
		More: "corpus COMMAND --help explains a command."}
	for _, c := range []command{&scoreCommand{}, &filterCommand{}, &perplexityCommand{},
		&generateCommand{}, &poolCommand{}} {
		line := c.line()
		var stray []string
		line.Args = []cli.Arg{cli.Words(&stray, "word", "")}
		line.Args[0].Hidden = true
		line.Run = func(*cli.Flags) error {
			*asked = c
			if stray != nil {
				return fault.Hint(fault.Usagef("unexpected argument %s", stray[0]),
					"wildcards of --input want quotes, so that no shell expands them")
			}
			return nil
		}
		root.Commands = append(root.Commands, line)
	}
	return cli.New(root)
}

// parse reads the command line. It returns nil where help was all that was wanted.
func parse(args []string, stdout io.Writer) (asked command, err error) {
	root := commandLine(&asked)
	ours, beams := split(root, args)
	if len(ours) == 0 {
		ours = []string{"--help"}
	}
	line, err := cli.Parse(root, ours)
	switch {
	case err != nil:
		return nil, err
	case line.Help:
		_, err = io.WriteString(stdout, line.Command.Help(columns(stdout)))
		return nil, err
	case line.Version:
		_, err = fmt.Fprintln(stdout, "corpus", cmp.Or(version, "of a source tree"))
		return nil, err
	}
	flag.CommandLine.SetOutput(io.Discard)
	flag.CommandLine.Init("corpus", flag.ContinueOnError)
	if err := flag.CommandLine.Parse(beams); err != nil {
		return nil, fault.Usage{Err: err}
	}
	err = line.Run(line.Flags)
	return asked, err
}

const overview = `Usage: corpus COMMAND [flags]

Scores, filters, measures and continues many texts with GPT-2 models, on any runner of Apache Beam:
in this process by default, and unchanged on Flink, Spark and Dataflow. A text has the same bits
everywhere. Flags of Beam, such as --runner, --endpoint and --environment_type, may stand among the
others.`

// columns is how wide help may be.
func columns(stdout io.Writer) int {
	if file, ok := stdout.(*os.File); ok {
		if width, _, err := term.GetSize(int(file.Fd())); err == nil && width > 0 {
			return min(width, 100)
		}
	}
	return 80
}

// split separates the flags that only Beam knows, with their values, from the other arguments.
func split(root *cli.Command, args []string) (ours, beams []string) {
	known := names(root)
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

// names are the flags of all commands.
func names(root *cli.Command) map[string]bool {
	all := map[string]bool{}
	root.All(func(c *cli.Command) {
		for _, f := range c.Own().All {
			all[f.Name] = true
		}
	})
	return all
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

// What starts workers for a runner: corpus pool.

// version is set by the linker: make corpus-image.
var version string

type poolCommand struct{ Address string }

func (c *poolCommand) line() *cli.Command {
	return &cli.Command{Name: "pool", Short: "start workers on this machine, for a runner elsewhere",
		Flags: func(f *cli.Flags) {
			f.Add(&c.Address, "--address HOST:PORT [localhost:50000]",
				"where a runner asks for workers")
		}}
}

func (c *poolCommand) Run(a *app) error { return worker.Pool(a.ctx, c.Address, a.stderr) }
