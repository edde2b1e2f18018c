package main

// What gpt score reads: requests from the rows of its input.

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync/atomic"

	"picogpt/eval"
	"picogpt/internal/resume"
	"picogpt/internal/rows"
)

// A scoreInput reads requests from rows.
type scoreInput struct {
	*rows.Reader
	textField string       // "" where none was asked for
	from      resume.Mark  // lines up to here have results already
	known     atomic.Int64 // bytes of the file up to there
	err       error        // of reading; after the last request
}

// input opens the file, stdin, or the one text.
func (c *scoreCommand) input(a *app) (*scoreInput, error) {
	var s *rows.Source
	var err error
	switch {
	case c.Text != nil && c.File != nil:
		return nil, usagef("--text and a file: want one of them")
	case c.Text != nil:
		a.hintAtFile(*c.Text, "gpt score")
	case c.File == nil && !readable(a.stdin):
		return nil, hinted{usagef("nothing to score"),
			"give a file of texts, --text TEXT, or texts through a pipe"}
	case c.File == nil:
		s, err = rows.Open("-", a.stdin)
	default:
		if s, err = rows.Open(*c.File, a.stdin); errors.Is(err, fs.ErrNotExist) {
			err = hinted{err, "to score a text itself: gpt score --text TEXT"}
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
	if c.TextField != nil {
		if in.textField = *c.TextField; in.textField == "" {
			return usagef("--text-field: want a name, found nothing")
		}
		if in.Form == "text" || in.Form == "lines" {
			return hinted{usagef("--text-field: %s has no fields, its lines are texts", in.Name),
				"--input says what they are: csv, tsv, jsonl"}
		}
	}
	if c.Input == "auto" && in.Form == "lines" && strings.HasSuffix(in.Name, ".json") {
		a.notef("%s: each line is scored as a text; for an array of objects: "+
			"jq -c .[] %[1]s | gpt score", in.Name)
	}
	if err := in.ReadHeader(); err != nil || in.Header == nil {
		return err
	}
	o := make(rows.Object, len(in.Header))
	for i, name := range in.Header {
		o[i] = rows.Member{Key: name, Value: json.RawMessage(`""`)}
	}
	if _, err := in.request(o); err != nil {
		return hinted{fmt.Errorf("%s: %w; its first line names %s", in.Name, err,
			quoteShort(strings.Join(in.Header, ", "))),
			"--text-field NAME says in which column the text is"}
	}
	return nil
}

// A scoreLine is the tag of a request: the row that it is of.
type scoreLine struct {
	rows.Row
	id json.RawMessage
}

// requests are the rows, for eval.Score, which reads ahead.
func (in *scoreInput) requests(yield func(eval.Request) bool) {
	if in.err = skip(in.Reader, in.from); in.err != nil {
		return
	}
	in.known.Store(in.Read.Load())
	for {
		w, err := in.Next()
		if err == io.EOF {
			return
		} else if err != nil {
			in.err = err
			return
		}
		line := &scoreLine{Row: w}
		r := eval.Request{Tag: line, Text: w.Text, Err: w.Err}
		switch {
		case w.Err != nil, in.Form == "lines", in.Form == "text":
		case w.Object == nil:
			continue // an empty line
		default:
			r, r.Err = in.request(w.Object)
			r.Tag, line.id = line, w.Object.Get("id")
		}
		if !yield(r) {
			return
		}
	}
}

// request is what an object asks for.
func (in *scoreInput) request(o rows.Object) (r eval.Request, err error) {
	if in.textField != "" {
		text, err := o.Text(in.textField)
		if err == nil && text == nil {
			err = fmt.Errorf("want %s", in.textField)
		}
		if err == nil {
			r.Text = *text
		}
		return r, err
	}
	text, errText := o.Text("text")
	before, errBefore := o.Text("context")
	after, errAfter := o.Text("continuation")
	var tokens []int
	var errTokens error
	if in.Header == nil { // in a table it is a column like any other
		tokens, errTokens = rows.List[int](o, "tokens", "whole numbers")
	}
	if err := joinErrors(errText, errBefore, errAfter, errTokens); err != nil {
		return r, err
	}
	switch pair := before != nil && after != nil; {
	case pair && text == nil && tokens == nil:
		return eval.Request{Context: *before, Text: *after, Pair: true}, nil
	case text != nil && tokens == nil && before == nil && after == nil:
		return eval.Request{Text: *text}, nil
	case tokens != nil && text == nil && before == nil && after == nil:
		return eval.Request{Tokens: tokens}, nil
	case in.Header != nil:
		return r, errors.New("want a column text, or columns context and continuation")
	}
	return r, errors.New("want text, or context and continuation, or tokens")
}
