// Package input reads the texts of many files: Match finds files, Cut and Pack divide them into
// pieces of work, and Rows reads a part. Files may be on disks or in object stores.
package input

// The values that pass between the steps: they are small and can be JSON.

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"picogpt/internal/quote"
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
