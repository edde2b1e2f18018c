// Package input is the texts of many files: found by Match, cut into pieces of work by Cut and
// Pack, and read by Rows, on disks and in object stores.
package input

// What travels between the steps: small values that JSON holds.

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"picogpt/internal/quote"
)

// Options say what is read.
type Options struct {
	Patterns   []string // names of files, with wildcards: local, gs:// or s3://
	Form       string   // auto, jsonl, lines, text, wikitext or parquet; "" for auto
	PieceBytes int64    // of one piece of work, about; 0 is DefaultPieceBytes
}

// DefaultPieceBytes keeps a core at work for a minute or so, and is little to do again.
const DefaultPieceBytes = 4 << 20

// forms are what a file can be: auto is told by its name or its first bytes, jsonl has an object a
// line, lines a text a line, text is one text, wikitext a text whose pages the caller finds; parquet has rows.
var forms = []string{"auto", "jsonl", "lines", "text", "wikitext", "parquet"}

// A Source is one file.
type Source struct {
	Name  string // as the filesystem has it
	Order int    // its place among the sources, from 0
	Size  int64  // as it is stored
	Form  string // auto where neither options nor name tell
}

// A Part is a part of a source that is read by itself.
type Part struct {
	Source string
	Order  int    // of the source
	Form   string // auto only where the source could not be read
	Raw    bool   `json:",omitempty"` // lines were asked for: they are any bytes, as they stand
	Line   int    // of the first row, from 1
	Lines  int
	Offset int64 // in what the data stand for, decompressed
	Bytes  int64
	Last   bool // reads on to the end of the source
	Broken bool // what follows could not be read: Rows says why
}

// A LineError says why a source cannot be read from a line on. Its rows before it are good.
type LineError struct {
	Source string
	Line   int
	Err    error
}

func (e *LineError) Error() string {
	return fmt.Sprintf("%s: line %d: %v", shown(e.Source), e.Line, e.Err)
}
func (e *LineError) Unwrap() error { return e.Err }

// failed is a LineError, or the context's error if that is why: nothing is wrong with the source
// then, and another attempt reads it.
func failed(ctx context.Context, source string, line int, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return &LineError{source, line, err}
}

// settle returns the form of a file where the options or its name tell it.
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
	case "csv", "tsv": // a record may be many lines, which are not cut apart here
		return "", fmt.Errorf("the name is of %s, want jsonl, or a form that is given",
			strings.ToUpper(extension))
	}
	return form, nil
}
