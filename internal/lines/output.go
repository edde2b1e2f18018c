package lines

// Records as lines: which of their fields they have, and which of the input's.

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"picogpt/eval"
	"picogpt/internal/quote"
	"picogpt/internal/rows"
	"picogpt/internal/strictjson"
)

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
