package work

// Items: the rows of a piece, with ids and positions.

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"iter"

	"picogpt/eval"
	"picogpt/internal/lines"
	"picogpt/internal/rows"
	"picogpt/x/corpus/internal/input"
	"picogpt/x/corpus/internal/job"
	"picogpt/x/corpus/internal/ledger"
)

// An item is a row with its id and its position.
type item struct {
	lines.Row
	form      string
	order     int    // index of the source
	canonical []byte // id in the form for comparisons
	key       []byte // the value of --order-field
}

// texts reports whether the rows of a form are texts, not objects.
func texts(form string) bool { return form == "lines" || form == "text" || form == "wikitext" }

// items yields the rows of a piece, in order. Empty rows are left out. Data that cannot be read are
// an item with an error. The contents of the rows are added to seen.
func items(
	ctx context.Context, j *job.Job, piece *job.Piece, seen hash.Hash,
) iter.Seq[*item] {
	return func(yield func(*item) bool) {
		for _, part := range piece.Parts {
			for row, err := range input.Rows(ctx, part) {
				if ctx.Err() != nil {
					return
				}
				if row.Object == nil && row.Err == nil && err == nil && !texts(part.Form) {
					continue // an empty line
				}
				it := newItem(&part, row, err, &j.Fields)
				if it.sum(seen); !yield(it) {
					return
				}
			}
		}
	}
}

// sum adds the contents of the row to h.
func (it *item) sum(h hash.Hash) {
	fmt.Fprintf(h, "%d %d %d %v ", it.order, it.First, len(it.Text), it.Err)
	io.WriteString(h, it.Text)
	for _, m := range it.Object {
		fmt.Fprintf(h, "%d %s %d %s", len(m.Key), m.Key, len(m.Value), m.Value)
	}
}

// unchanged reports whether sum is that of the rows of a piece.
func unchanged(ctx context.Context, j *job.Job, piece *job.Piece, sum string) (bool, error) {
	seen := sha256.New()
	for range items(ctx, j, piece, seen) {
	}
	return hex.EncodeToString(seen.Sum(nil)) == sum, ctx.Err()
}

// newItem returns the item for a row, or for an error of reading.
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

// identify reads the id and the key. An item without the key has an error.
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
	if it.key, err = ledger.Sortable(it.Object.Get(f.Order)); err != nil {
		it.Err = fmt.Errorf("%s: %w", f.Order, err)
	}
}
