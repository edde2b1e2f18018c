package lines

// Requests from rows.

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"picogpt/eval"
	"picogpt/internal/rows"
)

// A RequestReader says how the rows of a source become requests.
type RequestReader struct {
	Source    string // its name in records; "" if they do not have it
	TextField string // the field of the text; "": text, or context and continuation, or tokens
	IDField   string // of the id; "" is id
	Texts     bool   // a row is a text, not an object
	Table     bool   // rows are of a table: tokens is a column like any other
}

// A Row is the Tag of a request: the row that the request comes from.
type Row struct {
	rows.Row
	Source string
	ID     json.RawMessage // nil if there is none
}

// Request returns the request of a row. It returns false for an empty line, which has none.
func (in *RequestReader) Request(w rows.Row) (eval.Request, bool) {
	row := &Row{Row: w, Source: in.Source}
	if w.Err != nil || in.Texts {
		return eval.Request{Tag: row, Text: w.Text, Err: w.Err}, true
	}
	if w.Object == nil {
		return eval.Request{}, false
	}
	row.ID = w.Object.Get(cmp.Or(in.IDField, "id"))
	r, err := in.Object(w.Object)
	r.Tag, r.Err = row, err
	return r, true
}

// Object returns the request of an object, without its Tag.
func (in *RequestReader) Object(o rows.Object) (eval.Request, error) {
	if in.TextField != "" {
		text, err := o.Text(in.TextField)
		switch {
		case err != nil:
			return eval.Request{}, err
		case text == nil:
			return eval.Request{}, fmt.Errorf("want %s", in.TextField)
		}
		return eval.Request{Text: *text}, nil
	}
	text, errText := o.Text("text")
	before, errBefore := o.Text("context")
	after, errAfter := o.Text("continuation")
	var tokens []int
	var errTokens error
	if !in.Table {
		tokens, errTokens = rows.List[int](o, "tokens", "whole numbers")
	}
	if err := cmp.Or(errText, errBefore, errAfter, errTokens); err != nil {
		return eval.Request{}, err
	}
	switch pair := before != nil && after != nil; {
	case pair && text == nil && tokens == nil:
		return eval.Request{Context: *before, Text: *after, Pair: true}, nil
	case text != nil && tokens == nil && before == nil && after == nil:
		return eval.Request{Text: *text}, nil
	case tokens != nil && text == nil && before == nil && after == nil:
		return eval.Request{Tokens: tokens}, nil
	case in.Table:
		return eval.Request{}, errors.New("want a column text, or columns context and continuation")
	}
	return eval.Request{}, errors.New("want text, or context and continuation, or tokens")
}
