package main

// gpt compress: a text in a file of few bytes.

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"unicode/utf8"

	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/outfile"
	"picogpt/internal/quote"
	"picogpt/x/textzip"
)

type compressCommand struct {
	In      *string
	Out     *string
	Force   bool
	Streams int
	Window  int
}

func newCompress(a *app) *cli.Command {
	c := &compressCommand{}
	return &cli.Command{
		Name: "compress", Group: "pack",
		Short: "write a text in fewer bytes, by the model's probabilities",
		Args: []cli.Arg{
			cli.OptionalWord(&c.In, "file",
				"any file; - is stdin; default: what comes through a pipe"),
		},
		Flags: func(f *cli.Flags) {
			f.Add(&c.Out, "-o, --out FILE",
				"write FILE; - is stdout; default: FILE.gptz, or stdout for stdin")
			f.Add(&c.Force, "--force", "write over FILE, if it is there")
			f.Add(&c.Streams, "--streams N",
				`how many parts of a text of N × 64 KiB are read side by side, 1 to 64: more make
				reading faster, which takes as many caches of a window; default: 8`)
			f.Add(&c.Window, "--window N",
				"tokens of context at most; default: the model's n_positions")
			a.flags(f, evaluates)
		},
		Run: func(*cli.Flags) error { return c.Run(a) },
	}
}

func (c *compressCommand) Run(a *app) error {
	err := cmp.Or(fault.NotNegative("--streams", c.Streams), fault.NotNegative("--window", c.Window))
	if err != nil {
		return err
	}
	in, err := a.openPacked(c.In, c.Out, "compress")
	if err != nil {
		return err
	}
	defer in.close()
	if in.out == "" {
		in.out = in.name + ".gptz"
	}
	var read, written int64
	rules := a.writing(c.Force, outfile.Packed)
	err = a.packTo(in.out, rules, in.size, func(ctx context.Context, w io.Writer,
		progress func(int64)) error {
		m, err := a.openModel()
		if err != nil {
			return err
		}
		defer m.Close()
		to := &counter{Writer: w}
		z, err := textzip.NewWriter(ctx, to, a.opened, m, textzip.Options{
			Window: c.Window, Streams: c.Streams, Name: a.shortName(), Progress: progress,
		})
		if err != nil {
			return err
		}
		if read, err = io.Copy(z, in); err == nil {
			err = z.Close()
		}
		written = to.n
		return err
	})
	if name := in.out; err == nil && a.Terminal() != nil && (name != "-" || !a.stdout.Terminal) {
		if name == "-" {
			name = "stdout"
		}
		a.Notef("%s: %s", name, sizes(read, written))
	}
	return err
}

// sizes says how far a text was compressed.
func sizes(text, file int64) string {
	share := ""
	if text > 0 {
		share = fmt.Sprintf(", %.1f%%", 100*float64(file)/float64(text))
	}
	return fmt.Sprintf("%s from %s%s", quote.Size(file), quote.Size(text), share)
}

// A counter counts the bytes that it passes on.
type counter struct {
	io.Writer
	n int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.Writer.Write(b)
	c.n += int64(n)
	return n, err
}

// shortName names the checkpoint in files that go to others: without folders.
func (a *app) shortName() string {
	if a.Model == nil {
		return "demo"
	}
	name := filepath.Base(*a.Model)
	for _, adapter := range a.Adapters {
		name += "+" + filepath.Base(adapter)
	}
	for len(name) > 64 || !utf8.ValidString(name) {
		name = name[:len(name)-1]
	}
	return name
}
