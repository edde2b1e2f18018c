package main

// What gpt compress and gpt decompress have in common: input, output, progress.

import (
	"context"
	"io"
	"os"
	"time"

	"picogpt/cmd/gpt/internal/process"
	"picogpt/cmd/gpt/internal/terminal"
	"picogpt/cmd/gpt/internal/textio"
	"picogpt/internal/fault"
	"picogpt/internal/outfile"
	"picogpt/internal/quote"
)

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

// packTo opens the output and calls work with it. A file is there afterwards if all went well. total
// is how many bytes progress is called with in the end, 0 if that is not known.
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
	var own error // of the work, which is not about the output
	run := func(w io.Writer) error {
		defer a.EndProgress()
		to := &failing{Writer: w}
		err := work(ctx, to, progress)
		if to.err == nil {
			own = err
		}
		return err
	}
	if out == "-" {
		err = run(a.stdout)
	} else {
		err = outfile.FlagError("--out", outfile.WriteFile(ctx, out, rules, run))
	}
	if err == nil {
		a.logf("%s in %s", quote.Size(bar.Done()), quote.Duration(time.Since(start)))
	}
	return fault.First(own, err)
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

// toFile writes to a file what write prints to stdout. The file is there afterwards if all went well.
func (a *app) toFile(out string, rules outfile.Options, write func() error) error {
	var own error // of write, which is not about the file
	err := outfile.WriteFile(context.Background(), out, rules, func(w io.Writer) error {
		to, stdout := &failing{Writer: w}, a.stdout
		a.stdout = process.OutputTo(to)
		defer func() { a.stdout = stdout }()
		err := write()
		if to.err == nil {
			own = err
		}
		return err
	})
	return fault.First(own, outfile.FlagError("--out", err))
}
