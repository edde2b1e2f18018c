// Package rows reads users' files row by row: lines of text, JSON objects, and records of CSV and
// TSV, plain or compressed, of any number and length.
package rows

// Rows of a source, in each of its forms.

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"picogpt/internal/quote"
	"picogpt/internal/strictjson"
)

// A Row is one text with its other fields. It has a first and a last line.
type Row struct {
	First, Last int
	Digest      string // of the input up to its end
	Text        string // for lines and text
	Object      Object // for the other forms
	Err         error  // why Text and Object are missing
}

// A Reader reads the rows of a source.
type Reader struct {
	*Source
	Form   string   // lines, jsonl, csv, tsv; text: the whole input is one row
	Raw    bool     // lines are any bytes, unchanged; otherwise UTF-8, after a byte order mark
	Header []string // the names of the columns
	only   string   // the text of the only row
}

// Only returns a reader of one row, with the given text.
func Only(name, text string) *Reader {
	return &Reader{Source: NewSource(name, strings.NewReader("")), Form: "text", only: text}
}

// NewReader returns a reader of the given form. auto takes the form from the source's name or its
// first byte; lines given explicitly are read unchanged.
func NewReader(s *Source, form string) *Reader {
	raw := form == "lines"
	switch ext := Extension(s.Name); {
	case form != "auto":
	case ext == "csv", ext == "tsv", ext == "jsonl":
		form = ext
	case beginsObject(s.r):
		form = "jsonl"
	default:
		form = "lines"
	}
	return &Reader{Source: s, Form: form, Raw: raw}
}

// Extension returns the extension of a name that tells the data's form: jsonl for A.JSONL.gz, "" if
// there is none.
func Extension(name string) string {
	name = strings.ToLower(name)
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".zst")
	return strings.TrimPrefix(path.Ext(name), ".")
}

// beginsObject reports whether r begins with {, after white space. It waits for no more than that.
func beginsObject(r *bufio.Reader) bool {
	for n := 1; n <= 512; n++ {
		b, err := r.Peek(n)
		if err != nil {
			return false
		}
		text := strings.TrimLeft(strings.TrimPrefix(string(b), ByteOrderMark), " \t\r\n")
		if text != "" && !strings.HasPrefix(ByteOrderMark, text) {
			return text[0] == '{'
		}
	}
	return false
}

// Check returns an error if the source is binary, or one JSON array where lines are wanted. It
// reads what arrives with the first line, and waits for no more. Call it before the first row.
func (r *Reader) Check() error {
	lines := r.Form == "lines" && !r.Raw
	if !lines && (r.Form != "jsonl" || beginsObject(r.r)) {
		return nil
	}
	first := arrived(r.r)
	err := checkKind(first)
	if lines {
		err = checkText(first)
	}
	if array := checkArray(first); err == nil && array != nil && (lines || array.Filter == ".[]") {
		err = array // rows may be objects even if one line is an array
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", r.Name, err)
	}
	return err
}

// ReadHeader reads the line of CSV or TSV that names the columns.
func (r *Reader) ReadHeader() error {
	if r.Form != "csv" && r.Form != "tsv" {
		return nil
	}
	record, err := r.record()
	if err == io.EOF {
		return fmt.Errorf("%s: empty, want a line that names the columns", r.Name)
	} else if err != nil {
		return err
	}
	err = record.err
	for i, name := range record.fields {
		switch {
		case err != nil:
		case slices.Contains(record.fields[:i], name):
			err = fmt.Errorf("column %s comes twice", quote.Short(name, 40))
		case strings.Contains(strings.ReplaceAll(name, "\r\n", ""), "\r"):
			err = errors.New("a carriage return without a line feed, want lines that end with a line feed")
		}
	}
	if err != nil {
		return fmt.Errorf("%s: line 1: %w", r.Name, err)
	}
	r.Header = record.fields
	return nil
}

// Next reads a row, or returns io.EOF. An empty line of jsonl, csv and tsv is a row without
// contents.
func (r *Reader) Next() (w Row, err error) {
	w.First = r.Line + 1
	switch r.Form {
	case "csv", "tsv":
		err = r.nextRecord(&w)
	case "text":
		if r.Line++; r.Line > 1 {
			return w, io.EOF
		}
		r.take([]byte(r.only))
		w.Text, w.Digest = r.only, r.sum()
	default:
		err = r.nextLine(&w)
	}
	w.Last = r.Line
	return w, err
}

// Skip reads the rows that already have results: those up to line, with that digest. It returns a
// ChangedError if they are not the rows that were read then.
func (r *Reader) Skip(line int, digest string) error {
	var w Row
	for r.Line < line {
		var err error
		if w, err = r.Next(); err == io.EOF {
			return r.changed("%d lines, want the %d that have results", r.Line, line)
		} else if err != nil {
			return err
		}
	}
	if w.Last != line || w.Digest != digest {
		return r.changed("its first %d lines are not those that have results", line)
	}
	return nil
}

// A ChangedError says that a source has changed.
type ChangedError struct{ Name, Reason string }

func (e *ChangedError) Error() string { return e.Name + ": " + e.Reason }

func (r *Reader) changed(format string, args ...any) error {
	return &ChangedError{r.Name, fmt.Sprintf(format, args...)}
}

var errNotUTF8 = errors.New("not UTF-8")

func (r *Reader) nextLine(w *Row) error {
	line, err := r.Source.Next()
	if err != nil && err != ErrLongLine {
		return err
	}
	all := line
	line = TrimEnd(line)
	r.take(line)
	w.Err, w.Digest = err, r.sum()
	if r.Line == 1 && !r.Raw {
		var mark error
		if line, mark = TrimMark(line); mark != nil {
			return fmt.Errorf("%s: %w", r.Name, mark)
		}
		if r.Form == "lines" && string(all) == ByteOrderMark {
			return io.EOF // there are no rows
		}
	}
	switch {
	case err != nil:
	case r.Form == "lines" && !r.Raw && !utf8.Valid(line):
		w.Err = errNotUTF8
	case r.Form == "lines":
		w.Text = string(line)
	case len(bytes.TrimSpace(line)) > 0:
		w.Object, w.Err = ParseObject(line)
	}
	return nil
}

func (r *Reader) nextRecord(w *Row) error {
	record, err := r.record()
	if err != nil {
		return err
	}
	w.Digest, w.Err = record.digest, record.err
	switch n := len(record.fields); {
	case w.Err != nil, n == 1 && record.fields[0] == "" && len(r.Header) > 1: // an empty line
	case n != len(r.Header):
		w.Err = fmt.Errorf("%d fields, want the %d of the first line", n, len(r.Header))
	default:
		for i, name := range r.Header {
			value, err := strictjson.Line(record.fields[i])
			if err != nil {
				return err
			}
			w.Object = append(w.Object, Member{name, bytes.TrimSpace(value)})
		}
	}
	return nil
}

// A summedRecord is a record with the digest of the input up to its end.
type summedRecord struct {
	csvRecord
	digest string
}

// record reads a record of CSV or TSV.
func (r *Reader) record() (c summedRecord, err error) {
	c.comma = ','
	if r.Form == "tsv" {
		c.comma = '\t'
	}
	for {
		line, err := r.Source.Next()
		switch {
		case err == ErrLongLine:
			c.skip(r.quotes)
		case err == io.EOF && c.open:
			c.fail(errOpen)
			r.take([]byte("no end")) // so that the digest differs if the input grows
			c.digest = r.sum()
			return c, nil
		case err != nil:
			return c, err
		default:
			if r.Line == 1 {
				if line, err = TrimMark(line); err != nil {
					return c, fmt.Errorf("%s: %w", r.Name, err)
				}
			}
			c.add(line)
		}
		if c.open {
			r.take(bytes.TrimSuffix(line, []byte("\n")))
			continue
		}
		r.take(TrimEnd(line))
		c.digest = r.sum()
		if !utf8.ValidString(strings.Join(c.fields, "")) {
			c.fail(errNotUTF8)
		}
		return c, nil
	}
}
