package main

// Rows: what commands read from a source, in each of its forms. A row is a text, an object, or a
// record.

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"picogpt/internal/resume"
)

// A row is one text with what belongs to it. It begins on a line and ends on one.
type row struct {
	first, last int
	digest      string // of the input up to its end
	text        string // of a line of text
	object      object // in the other forms
	err         error  // why there is none of the two
}

// rows reads the rows of a source.
type rows struct {
	*source
	form   string   // lines, jsonl, csv, tsv; text: all of it is one row
	only   string   // the text
	header []string // the names of the columns
}

// newRows settles the form, auto for one that the source's name or its first byte tells.
func newRows(s *source, form string) *rows {
	name := strings.ToLower(s.name)
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".zst")
	switch {
	case form != "auto":
	case strings.HasSuffix(name, ".csv"), strings.HasSuffix(name, ".tsv"),
		strings.HasSuffix(name, ".jsonl"):
		form = name[strings.LastIndexByte(name, '.')+1:]
	case beginsObject(s.r):
		form = "jsonl"
	default:
		form = "lines"
	}
	return &rows{source: s, form: form}
}

// beginsObject reports whether the first thing in r is {. It waits for no more than that.
func beginsObject(r *bufio.Reader) bool {
	for n := 1; n <= 512; n++ {
		b, err := r.Peek(n)
		if err != nil {
			return false
		}
		text := strings.TrimLeft(strings.TrimPrefix(string(b), byteOrderMark), " \t\r\n")
		if text != "" && !strings.HasPrefix(byteOrderMark, text) {
			return text[0] == '{'
		}
	}
	return false
}

// readHeader reads the line of CSV or TSV that names the columns.
func (r *rows) readHeader() error {
	if r.form != "csv" && r.form != "tsv" {
		return nil
	}
	record, err := r.record()
	if err == io.EOF {
		return fmt.Errorf("%s: empty, want a line that names the columns", r.name)
	} else if err != nil {
		return err
	}
	err = record.err
	for i, name := range record.fields {
		switch {
		case err != nil:
		case slices.Contains(record.fields[:i], name):
			err = fmt.Errorf("column %s comes twice", quoteShort(name))
		case strings.Contains(strings.ReplaceAll(name, "\r\n", ""), "\r"):
			err = errors.New("a carriage return without a line feed, want lines that end with a line feed")
		}
	}
	if err != nil {
		return fmt.Errorf("%s: line 1: %w", r.name, err)
	}
	r.header = record.fields
	return nil
}

// next reads a row, or io.EOF. An empty line of jsonl, csv and tsv is a row without anything.
func (r *rows) next() (w row, err error) {
	w.first = r.line + 1
	switch r.form {
	case "csv", "tsv":
		err = r.nextRecord(&w)
	case "text":
		if r.line++; r.line > 1 {
			return w, io.EOF
		}
		r.take([]byte(r.only))
		w.text, w.digest = r.only, r.sum()
	default:
		err = r.nextLine(&w)
	}
	w.last = r.line
	return w, err
}

// skip reads the rows that have results, which must be those that were read then.
func (r *rows) skip(from resume.Mark) error {
	var w row
	for r.line < from.Line {
		var err error
		if w, err = r.next(); err == io.EOF {
			return r.mismatch("%d lines, want the %d that have results", r.line, from.Line)
		} else if err != nil {
			return err
		}
	}
	if w.last != from.Line || w.digest != from.Input {
		return r.mismatch("its first %d lines are not those that have results", from.Line)
	}
	return nil
}

func (r *rows) mismatch(format string, args ...any) error {
	err := fmt.Errorf(r.name+": "+format, args...)
	return hinted{err, "--force in place of --resume begins anew"}
}

func (r *rows) nextLine(w *row) error {
	line, err := r.source.next()
	if err != nil && err != errLongLine {
		return err
	}
	line = trimEnd(line)
	r.take(line)
	w.err, w.digest = err, r.sum()
	if r.line == 1 && r.form == "jsonl" {
		line = bytes.TrimPrefix(line, []byte(byteOrderMark))
	}
	switch {
	case err != nil:
	case r.form == "lines":
		w.text = string(line)
	case len(bytes.TrimSpace(line)) > 0:
		w.object, w.err = parseObject(line)
	}
	return nil
}

func (r *rows) nextRecord(w *row) error {
	record, err := r.record()
	if err != nil {
		return err
	}
	w.digest, w.err = record.digest, record.err
	switch n := len(record.fields); {
	case w.err != nil, n == 1 && record.fields[0] == "" && len(r.header) > 1: // an empty line
	case n != len(r.header):
		w.err = fmt.Errorf("%d fields, want the %d of the first line", n, len(r.header))
	default:
		for i, name := range r.header {
			value, err := marshalLine(record.fields[i])
			if err != nil {
				return err
			}
			w.object = append(w.object, member{name, bytes.TrimSpace(value)})
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
func (r *rows) record() (c summedRecord, err error) {
	c.comma = ','
	if r.form == "tsv" {
		c.comma = '\t'
	}
	for {
		line, err := r.source.next()
		switch {
		case err == errLongLine:
			c.skip(r.quotes)
		case err == io.EOF && c.open:
			c.fail(errOpen)
			r.take([]byte("no end")) // if the input grows, this record is another one
			c.digest = r.sum()
			return c, nil
		case err != nil:
			return c, err
		default:
			if r.line == 1 {
				line = bytes.TrimPrefix(line, []byte(byteOrderMark))
			}
			c.add(line)
		}
		if c.open {
			r.take(bytes.TrimSuffix(line, []byte("\n")))
			continue
		}
		r.take(trimEnd(line))
		c.digest = r.sum()
		if !utf8.ValidString(strings.Join(c.fields, "")) {
			c.fail(errors.New("not UTF-8"))
		}
		return c, nil
	}
}
