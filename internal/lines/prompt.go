// Prompts from objects and texts.

// Package lines is what a row of a file asks for, and what is answered as a line of JSON: prompts
// that texts continue ([PromptReader], [Sample], [TextRecord]), and texts that are scored
// ([RequestReader], [ScoreRecord]). The command and module picogpt/x/corpus share it.
package lines

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"picogpt/internal/option"
	"picogpt/internal/rows"
	"picogpt/tokenizer"
)

// A PromptReader says how objects and texts become prompts.
type PromptReader struct {
	TextField string               // the field of the prompt; "": prompt, or tokens
	Tokenizer *tokenizer.Tokenizer // nil if there is none
	Missing   error                // the error where a text needs one
	Special   bool                 // reads special tokens in a text as such
	Table     bool                 // rows are of a table, whose fields are texts
}

// A Prompt is the prompt of a row.
type Prompt struct {
	Text *string // nil if ids were given
	IDs  []int
	Seed *uint64 // nil if the row has none
}

// Row returns the prompt of a row in a form of rows.Reader. There is none where a line that should
// have an object is empty.
func (in *PromptReader) Row(form string, w rows.Row) (p Prompt, is bool, err error) {
	switch {
	case w.Err != nil:
		return p, true, w.Err
	case form == "lines":
		p, err = in.Of(w.Text)
	case w.Object == nil:
		return p, false, nil
	default:
		p, err = in.Object(w.Object)
	}
	return p, true, err
}

// Object returns the prompt of an object: its field prompt, or tokens, and its seed if it has one.
func (in *PromptReader) Object(o rows.Object) (Prompt, error) {
	text, errText := o.Text(cmp.Or(in.TextField, "prompt"))
	var tokens []int
	var errTokens error
	if in.TextField == "" && !in.Table {
		tokens, errTokens = rows.List[int](o, "tokens", "whole numbers")
	}
	seed, errSeed := in.seedOf(o)
	if err := cmp.Or(errText, errTokens, errSeed); err != nil {
		return Prompt{}, err
	}
	var p Prompt
	var err error
	switch {
	case text == nil && in.TextField != "":
		return p, fmt.Errorf("want %s", in.TextField)
	case text == nil && in.Table:
		return p, errors.New("want a column prompt")
	case text != nil && tokens != nil, text == nil && tokens == nil:
		return p, errors.New("want prompt, or tokens")
	case tokens != nil:
		p.IDs = tokens
	default:
		p, err = in.Of(*text)
	}
	p.Seed = seed
	return p, err
}

// Of returns a text as a prompt. An empty text has no ids, and needs no tokenizer.
func (in *PromptReader) Of(text string) (Prompt, error) {
	p := Prompt{Text: &text}
	switch {
	case text == "":
		return p, nil
	case in.Tokenizer == nil:
		return p, in.Missing
	}
	t := in.Tokenizer.ForPrompts()
	if in.Special {
		t = t.WithSpecial()
	}
	var err error
	p.IDs, err = t.Encode(text)
	return p, err
}

// seedOf returns an object's own seed, nil if it has none.
func (in *PromptReader) seedOf(o rows.Object) (*uint64, error) {
	v := string(o.Get("seed"))
	if in.Table {
		v = strings.Trim(v, `"`)
	}
	if v == "" || v == "null" {
		return nil, nil
	}
	seed, err := option.ParseSeed(v, 10)
	if err != nil {
		return nil, errors.New("seed: want " + option.WantSeed)
	}
	return &seed, nil
}
