package main

// What gpt compress and gpt decompress have in common: input, output, progress.

import (
	"context"
	"io"
	"os"
	"time"

	"picogpt/internal/amount"
	"picogpt/internal/fault"
	"picogpt/internal/infile"
	"picogpt/internal/outfile"
	"picogpt/internal/terminal"
)

// A packed is the input of gpt compress and gpt decompress, and where the output goes.
type packed struct {
	*os.File
	name string // "-" is stdin
	out  string // "-" is stdout, "" is for the command to say
	size int64  // bytes; 0 if it is not a regular file
}

// openPacked opens the input, and settles where the output goes if it is said, or the input is
// stdin.
func (a *app) openPacked(name, out *string, command string) (p packed, err error) {
	if p.name = "-"; name != nil {
		p.name = *name
	} else if !infile.Readable(a.files.Stdin) {
		return p, fault.Hint(usagef("no file"), "give a file, or bytes through a pipe: gpt "+
			command+" FILE")
	}
	switch {
	case out != nil:
		p.out = *out
	case p.name == "-":
		p.out = "-"
	}
	if p.File, err = a.files.Open(p.name, ""); err != nil {
		return p, err
	}
	info, err := p.Stat()
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
	out string, force bool, total int64,
	work func(ctx context.Context, w io.Writer, progress func(int64)) error,
) error {
	ctx, release := a.Graceful()
	defer release()
	bar := terminal.NewByteBar("")
	start, done := time.Now(), int64(0)
	run := func(w io.Writer) error {
		defer a.EndProgress()
		return work(ctx, w, func(n int64) {
			if done == 0 && (out != "-" || !a.stdout.Terminal) {
				bar.Restart()
				a.ShowBar(bar)
			}
			done = n
			bar.SetBytes(n, total)
		})
	}
	var err error
	if out == "-" {
		err = run(a.stdout)
	} else {
		err = outfile.FlagError("--out", outfile.WriteFile(ctx, out, a.writing(force), run))
	}
	if took := time.Since(start); err == nil {
		a.logf("%s in %s", amount.Size(done), amount.Duration(took))
	}
	return err
}
