// Package input reads the texts of many files: Match finds files, Cut and Pack divide them into
// pieces of work, and Rows reads a part. Files may be on disks or in object stores.
package input

// The values that pass between the steps: they are small and can be JSON.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"picogpt/internal/quote"
	"picogpt/internal/rows"
)

// Options say what to read.
type Options struct {
	Patterns   []string // names of files, with wildcards: local, gs:// or s3://
	Form       string   // auto, jsonl, lines, text, wikitext or parquet; "" for auto
	PieceBytes int64    // approximate size of one piece of work; 0 is DefaultPieceBytes
}

// DefaultPieceBytes is about a minute of work for a core, and little work to repeat.
const DefaultPieceBytes = 4 << 20

// forms are the forms of a file. auto decides by its name or its first bytes. jsonl has an object
// on each line, lines a text on each line; text is one text; wikitext is a text whose pages the
// caller finds; parquet has rows.
var forms = []string{"auto", "jsonl", "lines", "text", "wikitext", "parquet"}

// A Source is one file.
type Source struct {
	Name  string // in the form of its filesystem
	Order int    // its index among the sources, from 0
	Size  int64  // stored size
	Form  string // auto if neither options nor name decide
}

// A Part is a part of a source that can be read separately.
type Part struct {
	Source string
	Order  int    // of the source
	Form   string // auto only if the source could not be read
	// lines was requested explicitly: lines are any bytes, unchanged
	Raw    bool `json:",omitempty"`
	Line   int  // of the first row, from 1
	Lines  int
	Offset int64 // in the decompressed data
	Bytes  int64
	Last   bool // it extends to the end of the source
	Broken bool // the data after it could not be read: Rows returns the reason
}

// A LineError says why a source cannot be read from a line on. Its rows before that line are good.
type LineError struct {
	Source string
	Line   int
	Err    error
}

func (e *LineError) Error() string {
	return fmt.Sprintf("%s: line %d: %v", shown(e.Source), e.Line, e.Err)
}
func (e *LineError) Unwrap() error { return e.Err }

// failed returns a LineError, or the context's error if that is the reason: then nothing is wrong
// with the source, and another attempt can read it.
func failed(ctx context.Context, source string, line int, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return &LineError{source, line, err}
}

// settle returns the form of a file if the options or its name decide it.
func settle(form, extension string) (string, error) {
	switch {
	case form == "":
		form = "auto"
	case !slices.Contains(forms, form):
		return "", fmt.Errorf("form %s, want %s", quote.Plain(form, 40), strings.Join(forms, ", "))
	}
	if form != "auto" {
		return form, nil
	}
	switch extension {
	case "jsonl", "parquet":
		return extension, nil
	case "csv", "tsv": // a record may have several lines, which Cut would separate
		return "", fmt.Errorf("the name is of %s, want jsonl, or a form that is given",
			strings.ToUpper(extension))
	}
	return form, nil
}

// Rows: reading the rows of a part.

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
