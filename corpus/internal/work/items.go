package work

// Items: the rows of a piece with what identifies each.

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"strconv"

	"picogpt/corpus/internal/input"
	"picogpt/corpus/internal/job"
	"picogpt/eval"
	"picogpt/internal/rows"
	"picogpt/internal/scorelines"
	"picogpt/internal/strictjson"
)

// An item is a row, what identifies it, and where it stands.
type item struct {
	scorelines.Row
	form      string
	order     int    // place of the source among all
	canonical []byte // id in the form that is compared
	key       []byte // what --order-field says
}

// texts reports whether the rows of a form are texts, and not objects.
func texts(form string) bool { return form == "lines" || form == "text" || form == "wikitext" }

// items are the rows of the piece, in their order. Rows without anything are left out. What cannot
// be read is an item that says so.
func (r *run) items(ctx context.Context) iter.Seq[*item] {
	return func(yield func(*item) bool) {
		for _, part := range r.piece.Parts {
			for row, err := range input.Rows(ctx, part) {
				if ctx.Err() != nil {
					return
				}
				if row.Object == nil && row.Err == nil && err == nil && !texts(part.Form) {
					continue // an empty line
				}
				if !yield(newItem(&part, row, err, &r.job.Fields)) {
					return
				}
			}
		}
	}
}

// newItem is the item of a row, or of an error of reading.
func newItem(part *input.Part, row rows.Row, err error, f *job.Fields) *item {
	it := &item{form: part.Form, order: part.Order}
	it.Row.Row, it.Source = row, part.Source
	var at *input.LineError
	if errors.As(err, &at) {
		it.First, it.Err = at.Line, at.Err
	} else if err != nil {
		it.Err = err
	}
	it.identify(f)
	return it
}

// identify reads the id and the key. An item that lacks the key has an error.
func (it *item) identify(f *job.Fields) {
	if it.Object == nil {
		if f.Order != "" && it.Err == nil {
			it.Err = fmt.Errorf("want %s to order by: a text has no fields", f.Order)
		}
		return
	}
	it.ID = it.Object.Get(cmp.Or(f.ID, "id"))
	var err error
	if it.canonical, err = eval.CanonicalID(it.ID); err != nil && it.Err == nil {
		it.Err = err
	}
	if f.Order == "" || it.Err != nil {
		return
	}
	if it.key, err = sortable(it.Object.Get(f.Order)); err != nil {
		it.Err = fmt.Errorf("%s: %w", f.Order, err)
	}
}

// sortable is a JSON number or string as bytes that sort alike: numbers first, by their value, then
// strings, by their bytes.
func sortable(value json.RawMessage) ([]byte, error) {
	if len(value) > 0 && value[0] == '"' {
		s, err := strictjson.String(value)
		return append([]byte{2}, s...), err
	}
	x, err := strconv.ParseFloat(string(value), 64)
	if err != nil {
		return nil, errors.New("want a number or a string to order by")
	}
	bits := math.Float64bits(x + 0) // −0 becomes 0
	if bits>>63 == 1 {
		bits = ^bits
	} else {
		bits |= 1 << 63
	}
	key := binary.BigEndian.AppendUint64([]byte{1}, bits)
	if n, err := strconv.ParseInt(string(value), 10, 64); err == nil { // more digits than x has
		key = binary.BigEndian.AppendUint64(key, uint64(n)^1<<63)
	}
	return key, nil
}
