package input

// Rows: reading the rows of a part.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"picogpt/internal/rows"
)

// longestText bounds a file that is one text.
const longestText = 64 << 20

// Rows yields the rows of a part. Their lines are numbered in the whole source; Row.Digest is
// empty. An error comes last: a *LineError if the source cannot be read, or the context's error.
func Rows(ctx context.Context, p Part) iter.Seq2[rows.Row, error] {
	return func(yield func(rows.Row, error) bool) {
		line := p.Line // number of the next line
		err := read(ctx, p, func(w rows.Row) bool {
			line = w.Last + 1
			w.Digest = ""
			return yield(w, nil)
		})
		if err != nil && err != errStop {
			yield(rows.Row{First: line, Last: line}, failed(ctx, p.Source, line, err))
		}
	}
}

var errStop = errors.New("no more rows are wanted")

// read calls row with each row of a part.
func read(ctx context.Context, p Part, row func(rows.Row) bool) error {
	if p.Form == "parquet" {
		return readParquet(ctx, p, row)
	}
	in, err := open(ctx, p.Source)
	if err != nil {
		return err
	}
	defer in.Close()
	switch p.Form {
	case "text", "wikitext":
		return in.text(p, row)
	case "auto":
		if _, err := in.form(p.Form); err != nil {
			return err
		}
		return changed("it can be read now, want it as it was when it was cut")
	}
	if err := in.skip(p.Offset); err != nil {
		return err
	}
	in.Line = p.Line - 1
	r := rows.NewReader(in.Source, p.Form)
	if r.Raw = p.Raw; p.Offset == 0 {
		if err := r.Check(); err != nil {
			return cause(err)
		}
	}
	for n := 0; n < p.Lines || p.Last; n++ {
		w, err := r.Next()
		switch {
		case err == io.EOF && r.Line < p.Line+p.Lines-1:
			return changed("it ends after line %d, want line %d", r.Line, p.Line+p.Lines-1)
		case err == io.EOF && !p.Broken && r.Bytes != p.Bytes:
			return changed("%d bytes of its last lines, want %d", r.Bytes, p.Bytes)
		case err == io.EOF:
			return nil
		case err != nil:
			return cause(err)
		case n >= p.Lines && !p.Broken:
			return changed("it goes on after line %d", p.Line+p.Lines-1)
		case !row(w):
			return errStop
		}
	}
	if r.Bytes != p.Bytes {
		return changed("%d bytes of lines %d to %d, want %d", r.Bytes, p.Line, r.Line, p.Bytes)
	}
	return nil
}

func changed(format string, args ...any) error {
	return fmt.Errorf("changed while it was read: "+format, args...)
}

// cause returns an error of package rows without the name of the source, which precedes it.
func cause(err error) error {
	if inner := errors.Unwrap(err); inner != nil {
		return inner
	}
	return err
}

// A reading is an open source.
type reading struct {
	*rows.Source
	file     *stream
	seekable bool
}

// open opens a source and decompresses its data.
func open(ctx context.Context, name string) (*reading, error) {
	file, err := newStream(ctx, name)
	if err != nil {
		return nil, err
	}
	r := &reading{Source: rows.NewSource(name, file), file: file}
	err = cause(r.Decompress())
	if file.err != nil && file.err != io.EOF { // the beginning cannot be used to find the form
		err = file.err
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	_, seeks := file.file.(io.Seeker)
	r.seekable = seeks && !r.Compressed()
	return r, nil
}

// Close closes the file and the decompressor.
func (r *reading) Close() {
	r.Source.Close()
	r.file.Close()
}

// skip moves to a byte at which a line begins.
func (r *reading) skip(offset int64) error {
	if offset == 0 {
		return nil
	}
	before := offset - 1
	if r.seekable && r.file.seek(before) {
		r.Source = rows.NewSource(r.Name, r.file)
	} else if _, err := io.CopyN(io.Discard, r.Rest(), before); err != nil {
		return skipped(err, offset)
	}
	var b [1]byte
	if _, err := io.ReadFull(r.Rest(), b[:]); err != nil {
		return skipped(err, offset)
	} else if b[0] != '\n' {
		return changed("no line ends at byte %d", before)
	}
	return nil
}

func skipped(err error, offset int64) error {
	if err == io.EOF {
		return changed("it has fewer than %d bytes", offset)
	}
	return err
}

// text calls row with the whole file as one row.
func (r *reading) text(p Part, row func(rows.Row) bool) error {
	all, err := r.Text()
	if err != nil {
		return cause(err)
	}
	var b strings.Builder
	n, err := io.Copy(&b, io.LimitReader(all, longestText+1))
	w := rows.Row{First: p.Line, Last: p.Line, Text: b.String()}
	switch {
	case err != nil:
		return err
	case n > longestText:
		w.Text, w.Err = "", fmt.Errorf("a text of more than %d bytes", longestText)
	case r.seekable && r.Bytes+n != p.Bytes:
		return changed("%d bytes, want %d", r.Bytes+n, p.Bytes)
	}
	if !row(w) {
		return errStop
	}
	return nil
}
