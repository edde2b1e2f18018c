package work

// Selecting: the second phase of a filter. It reads the rows of a piece and its ledger together,
// and writes the rows that the cuts keep.

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"

	"picogpt/internal/rows"
	"picogpt/internal/strictjson"
	"picogpt/x/corpus/internal/job"
	"picogpt/x/corpus/internal/ledger"
)

// A Selection is a piece with the cuts for it.
type Selection struct {
	Piece  job.Piece
	Errors int // number of rows with errors
	Cuts   ledger.Cuts
	Corpus string // the digest of all records, which differs for the ledgers of other runs
}

// Kept is the result of a selection. It counts all rows of the piece, each once.
type Kept struct {
	Piece                           job.Piece
	Kept, Dropped, Unranked, Errors int
	Replaced                        int  // kept rows in which the perplexity has replaced a member
	Resumed                         bool // an earlier run has done the selection
}

// A selected mark says that the kept documents of a piece are written.
type selected struct {
	Key  string
	Kept Kept
}

// Select writes the kept rows of a piece, unless they are already written.
func (p *Process) Select(ctx context.Context, j *job.Job, s *Selection) (*Kept, error) {
	ctx, end, err := p.begin(ctx, max(1, j.Workers))
	if err != nil {
		return nil, err
	}
	defer end()
	defer p.Selected.Add(1)
	key, err := s.key(j)
	if err != nil {
		return nil, err
	}
	var done selected
	if err := recall(ctx, j.Selected(&s.Piece), &done); err != nil || done.Key == key {
		done.Kept.Resumed = true
		return &done.Kept, err
	}
	file, err := createLines(ctx, j.Kept(&s.Piece))
	if err != nil {
		return nil, err
	}
	defer file.abort()
	k := &Kept{Piece: s.Piece}
	if err := k.read(ctx, j, s, file); err != nil {
		return nil, err
	}
	if err := file.commit(); err != nil {
		return nil, err
	}
	return k, remember(ctx, j.Selected(&s.Piece), selected{key, *k})
}

// key returns a string that identifies the selection.
func (s *Selection) key(j *job.Job) (string, error) {
	key, err := j.Key(&s.Piece)
	if err != nil {
		return "", err
	}
	b, err := json.Marshal([]any{key, s.Cuts, s.Corpus})
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), err
}

var errChanged = errors.New("the input has changed since it was scored")

// read writes the kept rows. Scored rows have an entry in the ledger, in the same order; the others
// had errors.
func (k *Kept) read(ctx context.Context, j *job.Job, s *Selection, file *lineFile) error {
	next, stop := iter.Pull2(ledger.Read(ctx, j.Ledger(&s.Piece)))
	defer stop()
	entry, err, more := next()
	var scored mark
	if err := recall(ctx, j.Done(&s.Piece), &scored); err != nil {
		return err
	}
	seen := sha256.New()
	for it := range items(ctx, j, &s.Piece, seen) {
		if err != nil {
			return err
		}
		if !more || entry.Source != it.order || entry.Line != it.First {
			k.Errors++
			continue
		}
		if it.Err != nil {
			return fmt.Errorf("%s: line %d: %w", it.Source, it.First, it.Err)
		}
		if !bytes.Equal(entry.ID, it.canonical) {
			return fmt.Errorf("%s: line %d: %w", it.Source, it.First, errChanged)
		}
		if err := k.take(it, entry, &s.Cuts, j.Filter.ScoreField, file); err != nil {
			return err
		}
		entry, err, more = next()
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return err
	case more || k.Errors != s.Errors || hex.EncodeToString(seen.Sum(nil)) != scored.Input:
		return errChanged
	}
	return nil
}

// take decides about a document.
func (k *Kept) take(it *item, e *ledger.Entry, cuts *ledger.Cuts, field string, to *lineFile) error {
	key, ranked := e.RankKey()
	switch {
	case !ranked:
		k.Unranked++
		return nil
	case !cuts.Keep(key):
		k.Dropped++
		return nil
	}
	k.Kept++
	if it.Object.Get(field) != nil {
		k.Replaced++
	}
	line, err := it.with(field, e.Perplexity())
	if err != nil {
		return err
	}
	return to.write(line)
}

// with returns the item as a line, with its perplexity as another member. An existing member with
// that name is replaced.
func (it *item) with(field string, perplexity float64) ([]byte, error) {
	members := it.Object
	if members == nil {
		var err error
		if members, err = it.described(); err != nil {
			return nil, err
		}
	}
	var all rows.Object
	for _, m := range members {
		if m.Key != field {
			all = append(all, m)
		}
	}
	value := []byte("null")
	if !math.IsInf(perplexity, 0) {
		var err error
		if value, err = json.Marshal(perplexity); err != nil {
			return nil, err
		}
	}
	return append(all, rows.Member{Key: field, Value: value}).Line()
}

// described returns a text as an object.
func (it *item) described() (rows.Object, error) {
	line, err := strictjson.Line(struct {
		Source string `json:"source"`
		Line   int    `json:"line"`
		Text   string `json:"text"`
	}{it.Source, it.First, it.Text})
	if err != nil {
		return nil, err
	}
	return rows.ParseObject(line)
}
