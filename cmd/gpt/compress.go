package main

// gpt compress and gpt decompress: a text in a file of few bytes, and back.

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
	"unicode/utf8"

	"picogpt/cmd/gpt/internal/process"
	"picogpt/cmd/gpt/internal/show"
	"picogpt/cmd/gpt/internal/terminal"
	"picogpt/cmd/gpt/internal/textio"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/outfile"
	"picogpt/internal/quote"
	"picogpt/x/textzip"
)

// gpt compress: a text in a file of few bytes.

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
	err := cmp.Or(fault.NotNegative("--streams", c.Streams),
		fault.NotNegative("--window", c.Window))
	if err != nil {
		return err
	}
	in, err := a.openPacked(c.In, c.Out, "compress")
	if err != nil {
		return err
	}
	defer in.close()
	in.out = cmp.Or(in.out, in.name+".gptz")
	var read, written int64
	rules := a.writing(c.Force, outfile.Packed)
	err = a.packTo(in.out, rules, in.size, func(ctx context.Context, w io.Writer,
		progress func(int64)) error {
		m, err := a.openModel()
		if err != nil {
			return err
		}
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

// gpt decompress: the text of a .gptz file.

type decompressCommand struct {
	In    *string
	Out   *string
	Force bool
	Limit quote.Bytes
}

func newDecompress(a *app) *cli.Command {
	c := &decompressCommand{}
	return &cli.Command{
		Name: "decompress", Group: "pack",
		Short: "write the text of a file that gpt compress has written",
		Args: []cli.Arg{
			cli.OptionalWord(&c.In, "file",
				"a .gptz file; - is stdin; default: what comes through a pipe"),
		},
		Flags: func(f *cli.Flags) {
			f.Add(&c.Out, "-o, --out FILE", "write FILE in place of stdout")
			f.Add(&c.Force, "--force", "write over FILE, if it is there")
			f.Add(&c.Limit, "--limit SIZE",
				"refuse a text of more than SIZE, such as 1MiB; default: no limit")
			a.addRawControls(f)
			a.flags(f, evaluates)
		},
		Run: func(*cli.Flags) error { return c.Run(a) },
	}
}

func (c *decompressCommand) Run(a *app) error {
	in, err := a.openPacked(c.In, c.Out, "decompress")
	if err != nil {
		return err
	}
	defer in.close()
	in.out = cmp.Or(in.out, "-")
	limit := int64(c.Limit)
	var head bytes.Buffer
	h, err := textzip.ReadHeader(io.TeeReader(in, &head))
	if err != nil {
		return c.failed(in, err)
	}
	whole := io.MultiReader(&head, in)
	total := int64(0)
	if in.size > 0 && in.name != "-" {
		if total, err = checkPacked(in, limit); err != nil {
			return c.failed(in, err)
		}
		whole = in
	}
	if a.Dtype == "auto" { // flags say no others
		a.Dtype = h.Format
	}
	if a.CacheDtype == "f32" {
		a.CacheDtype = h.Cache
	}
	return c.failed(in, a.packTo(in.out, a.writing(c.Force, outfile.Any), total,
		func(ctx context.Context, w io.Writer, progress func(int64)) error {
			m, err := a.openModel()
			if err != nil {
				return err
			}
			z, err := textzip.NewReader(ctx, whole, a.opened, m,
				textzip.ReadOptions{Limit: limit, Progress: progress})
			if err != nil {
				return err
			}
			defer z.Close()
			_, err = io.Copy(w, z)
			return err
		}))
}

// checkPacked checks a file from its beginning to its end, and returns to the beginning. It returns
// the bytes of the text.
func checkPacked(in packed, limit int64) (int64, error) {
	if _, err := in.file.Seek(0, io.SeekStart); err != nil {
		return 0, err
	}
	i, err := textzip.Inspect(in)
	if err == nil && limit > 0 && i.Text > limit {
		err = &textzip.LimitError{Limit: limit, Found: i.Text}
	}
	if err == nil {
		_, err = in.file.Seek(0, io.SeekStart)
	}
	return i.Text, err
}

// failed names the file in an error of its content, and says what would read it.
func (c *decompressCommand) failed(in packed, err error) error {
	name := in.name
	if name == "-" {
		name = "stdin"
	}
	var mismatch *textzip.MismatchError
	var limit *textzip.LimitError
	switch {
	case errors.As(err, &mismatch):
		err = fmt.Errorf("%s: %w", name, err)
		switch mismatch.Field {
		case "model", "tokenizer":
			return fault.Hint(err, "-m names the checkpoint; this one was compressed with "+
				mismatch.Header.Name)
		case "format":
			return fault.Hint(err, "--dtype "+mismatch.Want)
		case "arithmetic":
			return fault.Hint(err, "gpt version says what a program computes; the one that "+
				"compressed the file reads it")
		}
	case errors.As(err, &limit):
		return fault.Hint(fmt.Errorf("%s: %w", name, err), "--limit is the most bytes of a text")
	case errors.Is(err, textzip.ErrFormat):
		return fmt.Errorf("%s: %w", name, err)
	}
	return err
}

// inspectPacked shows a .gptz file, if in is one.
func (a *app) inspectPacked(name string, json bool) (is bool, err error) {
	if name == "-" {
		return false, nil
	}
	in, err := a.files.Open(name, "")
	if err != nil {
		return false, nil // whatever it is, it is no such file
	}
	defer in.Close()
	begin := make([]byte, len(textzip.Magic))
	if _, err := io.ReadFull(in, begin); err != nil || string(begin) != textzip.Magic {
		return false, nil
	}
	i, err := textzip.Inspect(io.MultiReader(bytes.NewReader(begin), in))
	if err != nil {
		return true, fmt.Errorf("%s: %w", name, err)
	}
	return true, a.print(json, i, string(show.Packed(i)))
}

// What gpt compress and gpt decompress have in common: input, output, progress.

// A packed is the input of gpt compress and gpt decompress, and where the output goes.
type packed struct {
	file *os.File
	name string // "-" is stdin
	out  string // "-" is stdout, "" is for the command to say
	size int64  // bytes; 0 if it is not a regular file
}

// Read is io.Reader's. Its errors name the file.
func (p packed) Read(b []byte) (n int, err error) {
	n, err = p.file.Read(b)
	if err != nil && err != io.EOF {
		err = textio.Error(p.name, err)
	}
	return n, err
}

// close closes a file, and leaves stdin open.
func (p packed) close() {
	if p.name != "-" {
		p.file.Close()
	}
}

// openPacked opens the input, and settles where the output goes if it is said, or the input is
// stdin.
func (a *app) openPacked(name, out *string, command string) (p packed, err error) {
	if p.name = "-"; name != nil {
		p.name = *name
	} else if !textio.Readable(a.files.Stdin) {
		return p, fault.Hint(usagef("no file"), "give a file, or bytes through a pipe: gpt "+
			command+" FILE")
	}
	switch {
	case out != nil:
		p.out = *out
	case p.name == "-":
		p.out = "-"
	}
	if p.file, err = a.files.Open(p.name, ""); err != nil {
		return p, err
	}
	info, err := p.file.Stat()
	switch {
	case err == nil && info.IsDir():
		err = usagef("%s: want a file, found a directory", p.name)
	case err == nil && info.Mode().IsRegular():
		p.size = info.Size()
	}
	return p, err
}

// packTo opens the output and calls work with it. A file is there afterwards if all went well.
// total is how many bytes progress is called with in the end, 0 if that is not known.
func (a *app) packTo(
	out string, rules outfile.Options, total int64,
	work func(ctx context.Context, w io.Writer, progress func(int64)) error,
) (err error) {
	ctx, release := a.Graceful()
	defer release()
	start, bar := time.Now(), terminal.NewByteBar("")
	progress := func(n int64) {
		if bar.Done() == 0 && (out != "-" || !a.stdout.Terminal) {
			bar.Restart()
			a.ShowBar(bar)
		}
		bar.SetBytes(n, total)
	}
	run := func(w io.Writer) error {
		defer a.EndProgress()
		return work(ctx, w, progress)
	}
	if out == "-" {
		err = run(a.stdout)
	} else {
		err = writeOut(ctx, out, rules, run)
	}
	if err == nil {
		a.logf("%s in %s", quote.Size(bar.Done()), quote.Duration(time.Since(start)))
	}
	return err
}

// writeOut writes the file of --out. Errors that are not about the file do not name the flag.
func writeOut(
	ctx context.Context, out string, rules outfile.Options, write func(io.Writer) error,
) error {
	var own error
	err := outfile.WriteFile(ctx, out, rules, func(w io.Writer) error {
		to := &failing{Writer: w}
		err := write(to)
		if to.err == nil {
			own = err
		}
		return err
	})
	return fault.First(own, outfile.FlagError("--out", err))
}

// A failing writer remembers that it could not write.
type failing struct {
	io.Writer
	err error
}

func (f *failing) Write(b []byte) (n int, err error) {
	n, err = f.Writer.Write(b)
	if err != nil {
		f.err = err
	}
	return n, err
}

// toFile writes to a file what write prints to stdout. The file is there afterwards if all went
// well.
func (a *app) toFile(out string, rules outfile.Options, write func() error) error {
	return writeOut(context.Background(), out, rules, func(w io.Writer) error {
		stdout := a.stdout
		a.stdout = process.OutputTo(w)
		defer func() { a.stdout = stdout }()
		return write()
	})
}
