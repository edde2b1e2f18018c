package main

// What gpt score reads: requests from the rows of its input.

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"picogpt/internal/fault"
	"picogpt/internal/infile"
	"picogpt/internal/records"
	"picogpt/internal/rows"
	"picogpt/internal/scorelines"
	"picogpt/internal/textio"
)

// A scoreInput reads requests from rows.
type scoreInput struct {
	records.Input
	lines scorelines.Input
}

// input opens the file, stdin, or the one text.
func (c *scoreCommand) input(a *app) (*scoreInput, error) {
	var s *rows.Source
	var err error
	switch {
	case c.Text != nil && c.File != nil:
		return nil, usagef("--text and a file: want one of them")
	case c.Text != nil:
		textio.HintAtFile(a.Notef, *c.Text, "gpt score")
	case c.File == nil && !infile.Readable(a.files.Stdin):
		return nil, fault.Hint(usagef("nothing to score"),
			"give a file of texts, --text TEXT, or texts through a pipe")

	case c.File == nil:
		s, err = a.files.Rows("-", "")
	default:
		if s, err = a.files.Rows(*c.File, ""); errors.Is(err, fs.ErrNotExist) {
			err = fault.Hint(err, "to score a text itself: gpt score --text TEXT")
		}
	}
	if err != nil {
		return nil, err
	}
	in := &scoreInput{}
	if c.Text != nil {
		in.Reader = rows.Only("--text", *c.Text)
	} else {
		in.Reader = rows.NewReader(s, c.Input)
	}
	if err := in.settle(a, c); err != nil {
		in.Close()
		return nil, err
	}
	return in, nil
}

// settle reads the header, if there is one, and finds the text in it.
func (in *scoreInput) settle(a *app, c *scoreCommand) error {
	in.lines.Texts = in.Form == "text" || in.Form == "lines"
	if c.TextField != nil {
		if in.lines.TextField = *c.TextField; *c.TextField == "" {
			return usagef("--text-field: want a name, found nothing")
		}
		if in.lines.Texts {
			return fault.Hint(usagef("--text-field: %s has no fields, its lines are texts", in.Name),
				"--input says what they are: csv, tsv, jsonl")
		}
	}
	if err := in.Check(); err != nil {
		return c.notText(err)
	}
	if err := in.ReadHeader(); err != nil || in.Header == nil {
		return err
	}
	in.lines.Table = true
	o := make(rows.Object, len(in.Header))
	for i, name := range in.Header {
		o[i] = rows.Member{Key: name, Value: json.RawMessage(`""`)}
	}
	if _, err := in.lines.Object(o); err != nil {
		return fault.Hint(fmt.Errorf("%s: %w; its first line names %s", in.Name, err,
			quoteShort(strings.Join(in.Header, ", "))),
			"--text-field NAME says in which column the text is")
	}
	return nil
}

// notText says what may be done with an input whose lines are no texts.
func (c *scoreCommand) notText(err error) error {
	hint := "--input lines scores its lines as they stand"
	var array *rows.ArrayError
	if errors.As(err, &array) {
		file := "FILE"
		if c.File != nil && plainWord.MatchString(*c.File) {
			file = *c.File
		}
		hint = fmt.Sprintf("jq -c '%s' %s | gpt score; %s", array.Filter, file, hint)
	}
	return fault.Hint(err, hint)
}

// plainWord is a file's name that no shell changes.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./][A-Za-z0-9_./-]*$`)
