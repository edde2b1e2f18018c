package main

// gpt decompress: the text of a .gptz file.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"picogpt/cmd/gpt/internal/show"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/outfile"
	"picogpt/internal/quote"
	"picogpt/internal/strictjson"
	"picogpt/x/textzip"
)

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
	if in.out == "" {
		in.out = "-"
	}
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
	a.formatsOf(h)
	return c.failed(in, a.packTo(in.out, a.writing(c.Force, outfile.Any), total, func(ctx context.Context, w io.Writer,
		progress func(int64)) error {
		m, err := a.openModel()
		if err != nil {
			return err
		}
		defer m.Close()
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

// checkPacked checks a file from its beginning to its end, and returns to the beginning. It returns the
// bytes of the text.
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

// formatsOf takes the number formats from the file, unless flags say others.
func (a *app) formatsOf(h textzip.Header) {
	if a.Dtype == "auto" {
		a.Dtype = h.Format
	}
	if a.CacheDtype == "f32" {
		a.CacheDtype = h.Cache
	}
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
	if json {
		return true, strictjson.Print(a.stdout, i)
	}
	_, err = a.stdout.Write(show.Packed(i))
	return true, err
}
