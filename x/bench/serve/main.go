// Command serve measures gpt serve from its clients' side, and gpt bench in the same run. --help
// describes the measurements.
//
//	go build -o gpt ./cmd/gpt && cd x/bench/serve && go run . ../../../gpt
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"picogpt/checkpoint"
)

const help = `serve: measure gpt serve as its clients see it.

Usage:

  go run . [flags] PATH-OF-GPT

Starts "gpt serve" on a free port and prints one table: what a client reaches, what it is compared
with, their ratio, and what is wanted. What it is compared with is measured in the same round, since
shared machines drift; the table has medians over rounds. On a busy machine only ratios mean
something. Client and server share the processors.

  one client, 8 clients   tokens/s of streams, and those of "gpt bench" with 1 and 8 sessions
  first token             of a short prompt right behind a long one, and of a short one alone
  32 prompts              that begin alike: tokens that the server evaluated, from /metrics
  one-token scoring       two ids, max_tokens 0, echo, logprobs 1, on the embedded demo
  CPU of a streamed token the server's CPU time of streams less that of whole answers, on the demo
  1,000 clients           ten mixed requests each; every answer is compared with the one that the
                          request gets alone, and a full queue may answer 429

--soak prints a memory curve in place of the table: clients ask mixed requests, half of them new
ones, and go away in the middle of a third. It fails if memory grows after the first third of the
time, if an answer is wrong, or if a text, a goroutine or a file is left when the clients have gone.

llama.cpp's server is not beside it: npm has llama.cpp as a library (node-llama-cpp) without the
server's program. bench/peers compares with that library.

The exit status is 1 if an answer is wrong or something is left or grows; a missed speed is told in
the table only.

Examples:

  go run . ../../../gpt                        # GPT-2's 124M shape, random weights
  go run . -m ~/models/gpt2 ../../../gpt
  go run . --soak 10m -m demo ../../../gpt

Flags:

`

// A bench is one run.
type bench struct {
	gpt, dir   string // dir is "" for the demo
	threads    int
	rounds     int
	cacheBytes int64
	clients    int
	out, notes io.Writer
	rows       []row
	failed     bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "serve:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	b := &bench{out: os.Stdout, notes: os.Stderr}
	set := flag.NewFlagSet("serve", flag.ContinueOnError)
	model := set.String("m", "", "checkpoint, or demo for the embedded one; default: random weights")
	shape := set.String("random", "gpt2", "`shape` of the random weights, as gpt bench has them")
	set.IntVar(&b.threads, "threads", 2, "worker threads of the server and of gpt bench")
	set.IntVar(&b.rounds, "rounds", 3, "how often each speed is measured")
	set.Int64Var(&b.cacheBytes, "cache-bytes", 2<<30, "the server's memory for keys and values")
	set.IntVar(&b.clients, "clients", 1000, "clients that ask ten mixed requests each")
	soak := set.Duration("soak", 0, "print a memory curve over that `time` in place of the table")
	every := set.Duration("every", 10*time.Second, "`time` between two lines of the curve")
	set.Usage = func() { fmt.Fprint(set.Output(), help); set.PrintDefaults() }
	switch err := set.Parse(os.Args[1:]); {
	case errors.Is(err, flag.ErrHelp):
		return nil
	case err != nil:
		return err
	case set.NArg() != 1:
		return fmt.Errorf("%d arguments: want the path of gpt; --help tells more", set.NArg())
	case b.rounds < 1 || b.clients < 1 || b.threads < 1 || *every <= 0:
		return errors.New("--rounds, --clients, --threads, --every: want more than 0")
	}
	b.gpt = set.Arg(0)
	switch *model {
	case "demo":
	case "":
		dir, err := os.MkdirTemp("", "bench-serve-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		if b.dir, err = b.random(ctx, dir, *shape); err != nil {
			return err
		}
	default:
		b.dir = *model
	}
	if *soak > 0 {
		return b.with(ctx, b.dir, func(s *server) error { return b.soak(ctx, s, *soak, *every) })
	}
	return b.table(ctx)
}

// random writes a checkpoint of random weights into a folder of dir, named by its shape.
func (b *bench) random(ctx context.Context, dir, shape string) (string, error) {
	b.progress("writing random weights of %s", shape)
	c, err := checkpoint.RandomShape(shape)
	if err != nil {
		return "", err
	}
	dir = filepath.Join(dir, "random-"+shape)
	if err := os.Mkdir(dir, 0o777); err != nil {
		return "", err
	}
	return dir, checkpoint.WriteRandom(ctx, dir, c)
}

// with starts a server, calls do, and stops the server.
func (b *bench) with(ctx context.Context, dir string, do func(*server) error,
	flags ...string) error {
	flags = append([]string{"--threads", strconv.Itoa(b.threads), "--cache-bytes",
		strconv.FormatInt(b.cacheBytes, 10)}, flags...)
	s, err := start(ctx, b.gpt, dir, flags...)
	if err != nil {
		return err
	}
	return errors.Join(do(s), s.stop())
}

// table measures everything.
func (b *bench) table(ctx context.Context) error {
	err := b.with(ctx, b.dir, func(s *server) error {
		for _, measure := range []func(context.Context, *server) error{
			b.streams, b.firstToken, b.prefix,
		} {
			if err := measure(ctx, s); err != nil {
				return err
			}
		}
		return b.crowd(ctx, s, b.clients)
	})
	if err == nil {
		err = b.with(ctx, "", func(s *server) error { return b.scoring(ctx, s) })
	}
	if err == nil { // with one thread no worker waits for another, which would take CPU time too
		err = b.with(ctx, "", func(s *server) error { return b.tokenCPU(ctx, s) }, "--threads", "1")
	}
	b.printTable()
	if err == nil && b.failed {
		err = errors.New("an answer is wrong, or something is left: see the table")
	}
	return err
}

// The output: progress on stderr, the table on stdout.

// A row of the table.
type row struct{ what, got, against, want, met string }

// row adds a row that fails the run if it misses its goal: it does not depend on the load of the
// machine.
func (b *bench) row(what, got, against, want string, met bool) {
	b.speed(what, got, against, want, met)
	b.failed = b.failed || !met
}

// speed adds a row that only reports whether it meets its goal.
func (b *bench) speed(what, got, against, want string, met bool) {
	yes := "no"
	if met {
		yes = "yes"
	}
	b.rows = append(b.rows, row{what, got, against, want, yes})
	b.progress("%s: %s", strings.TrimSpace(what), got)
}

func (b *bench) progress(format string, args ...any) {
	fmt.Fprintf(b.notes, "serve: "+format+"\n", args...)
}

func (b *bench) print(format string, args ...any) { fmt.Fprintf(b.out, format, args...) }

func (b *bench) printTable() {
	if len(b.rows) == 0 {
		return
	}
	w := tabwriter.NewWriter(b.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "what\tmeasured\tagainst\twanted\tmet")
	for _, r := range b.rows {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", r.what, r.got, r.against, r.want, r.met)
	}
	w.Flush()
}
