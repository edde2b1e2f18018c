package work

// Selecting: the second phase of a filter. The rows of a piece and its ledger are read side by side,
// and what the cuts keep is written.

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

	"picogpt/corpus/internal/job"
	"picogpt/corpus/internal/ledger"
	"picogpt/internal/rows"
	"picogpt/internal/strictjson"
)

// A Selection is a piece with what is to be kept of it.
type Selection struct {
	Piece  job.Piece
	Errors int // rows that were set aside
	Cuts   ledger.Cuts
	Corpus string // the digest of all records, which tells this run's ledgers from others
}

// Kept is what a selection came to. All rows of the piece are in it, each once.
type Kept struct {
	Piece                           job.Piece
	Kept, Dropped, Unranked, Errors int
	Replaced                        int  // of those kept, a member of their own gave way to the perplexity
	Resumed                         bool // an earlier run has done it
}

// A selected mark says that the documents of a piece are written.
type selected struct {
	Key  string
	Kept Kept
}

// Select writes what is kept of a piece, unless it is written already.
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

// key tells a selection from any other.
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

// read writes the rows that are kept. Those that were scored have an entry in the ledger, in the
// same order; the others were set aside.
func (k *Kept) read(ctx context.Context, j *job.Job, s *Selection, file *lines) error {
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
func (k *Kept) take(it *item, e *ledger.Entry, cuts *ledger.Cuts, field string, to *lines) error {
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

// with is the item as a line, with its perplexity as a member more. A member of that name gives way.
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

// described is a text as an object.
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
