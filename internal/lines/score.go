package lines

// What is scored: requests from rows, questions of multiple choice, and ids where a checkpoint has no
// tokenizer; and records as lines.

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"picogpt/eval"
	"picogpt/internal/quote"
	"picogpt/internal/rows"
	"picogpt/internal/strictjson"
	"picogpt/tokenizer"
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

// Questions of multiple choice.

// Question is the question of an object. delimiter goes between the context and a choice; nil is a
// space where there is none.
func Question(o rows.Object, delimiter *string) (eval.Question, error) {
	before, errBefore := o.Text("context")
	choices, errChoices := rows.List[string](o, "choices", "strings")
	answer := o.Get("answer")
	if err := cmp.Or(errBefore, errChoices); err != nil {
		return eval.Question{}, err
	}
	if before == nil || len(choices) == 0 || answer == nil || string(answer) == "null" {
		return eval.Question{}, errors.New("want context, choices and answer")
	}
	q := eval.Question{Context: *before, Answer: -1}
	var text string
	if json.Unmarshal(answer, &text) != nil {
		if err := json.Unmarshal(answer, &q.Answer); err != nil {
			return q, fmt.Errorf("answer: want a number or one of the choices, found %s",
				quote.Short(string(answer), 40))
		}
		if q.Answer < 0 || q.Answer >= len(choices) {
			return q, fmt.Errorf("answer: %d, want 0 to %d", q.Answer, len(choices)-1)
		}
	}
	for i, choice := range choices {
		if choice == "" {
			return q, fmt.Errorf("choice %d: empty", i)
		}
		if q.Answer < 0 && choice == text {
			q.Answer = i
		}
		q.Bytes = append(q.Bytes, len(choice))
		q.Choices = append(q.Choices, between(q.Context, choice, delimiter)+choice)
	}
	if q.Answer < 0 {
		return q, fmt.Errorf("answer: %s, want a number or one of the choices", quote.Short(text, 40))
	}
	return q, nil
}

// between is what goes between a context and a choice.
func between(context, choice string, delimiter *string) string {
	if delimiter != nil {
		return *delimiter
	}
	last, _ := utf8.DecodeLastRuneInString(context)
	first, _ := utf8.DecodeRuneInString(choice)
	if context == "" || unicode.IsSpace(last) || unicode.IsSpace(first) {
		return ""
	}
	return " "
}

// Scores of ids, where a checkpoint has no tokenizer.

// IDs is an eval.Tokenizer for checkpoints without a tokenizer, whose requests give ids. The text
// of a token is Before and its number; if Before is "", it is empty.
type IDs struct {
	Before  string
	Missing error // the error for a text
}

// Encode returns Missing: a text has no ids.
func (t IDs) Encode(string) ([]int, error) { return nil, t.Missing }

// EncodeSpans returns Missing.
func (t IDs) EncodeSpans(string) ([]int, []tokenizer.Span, error) { return nil, nil, t.Missing }

// DecodeSpans concatenates the texts of ids.
func (t IDs) DecodeSpans(ids []int) (string, []tokenizer.Span, error) {
	var text strings.Builder
	spans := make([]tokenizer.Span, len(ids))
	for i, id := range ids {
		token, _ := t.Text(id)
		spans[i] = tokenizer.Span{Start: text.Len(), End: text.Len() + len(token)}
		text.WriteString(token)
	}
	return text.String(), spans, nil
}

// Text returns the text of an id.
func (t IDs) Text(id int) (string, error) {
	if t.Before == "" {
		return "", nil
	}
	return t.Before + strconv.Itoa(id), nil
}

// Records as lines: which of their fields they have, and which of the input's.

// An Output says how records are written.
type Output struct {
	Fields  []string  // of a record; nil means all of them
	Keep    bool      // the fields of the input's object too
	Offsets eval.Unit // "" is characters
}

// A ScoreRecord is the record of a row that is scored.
type ScoreRecord struct {
	Source string `json:"source,omitempty"`
	eval.Record
}

// An Error is the record of a row that has no result.
type Error struct {
	Source string          `json:"source,omitempty"`
	Line   int             `json:"line"`
	ID     json.RawMessage `json:"id,omitempty"`
	Error  string          `json:"error"`
}

// Fields returns the names of the fields of an eval.Record, in their order.
func Fields() []string { return FieldsOf[eval.Record]() }

// FieldsOf returns the names of the fields of another record.
func FieldsOf[Record any]() (names []string) {
	t := reflect.TypeFor[Record]()
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

// ParseFields returns the names of a list, without the spaces of "id, text". A name that is not
// known is an error.
func ParseFields(list, known []string) ([]string, error) {
	var names []string
	for _, name := range list {
		name = strings.TrimSpace(name)
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("%s is no field of the output", quote.Short(name, 40))
		}
		names = append(names, name)
	}
	return names, nil
}

// Record returns the record of a request that RequestReader made, from its score.
func (o *Output) Record(row *Row, s *eval.Scored) ScoreRecord {
	r := ScoreRecord{Source: row.Source, Record: s.Record()}
	r.Line, r.ID = row.First, row.ID
	if o.Offsets != "" && o.Offsets != eval.Chars {
		r.Offsets = s.Offsets(o.Offsets)
	}
	return r
}

// Error returns the record of a request that RequestReader made, and that cannot be scored.
func (o *Output) Error(row *Row, err error) Error {
	return Error{row.Source, row.First, row.ID, quote.OneLine(err)}
}

// Line returns a ScoreRecord or an Error of a row as a line. An Error has all its fields.
func (o *Output) Line(row *Row, record any) ([]byte, error) {
	b, err := strictjson.Line(record)
	if err != nil || o.Fields == nil && !o.Keep {
		return b, err
	}
	var all rows.Object
	written := []string{"error", "context_dropped"} // reserved, whether or not this record has them
	_, failed := record.(Error)
	err = strictjson.Members(b, func(key string, value json.RawMessage) error {
		if failed || o.Fields == nil || slices.Contains(o.Fields, key) {
			all = append(all, rows.Member{Key: key, Value: value})
			written = append(written, key)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if o.Keep {
		for _, m := range row.Object {
			if !slices.Contains(written, m.Key) {
				all = append(all, m)
			}
		}
	}
	return all.Line()
}
