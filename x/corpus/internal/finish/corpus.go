package finish

// A corpus: the results for all documents, from one pass over the ledgers.

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"

	"picogpt/eval"
	"picogpt/x/corpus/internal/job"
	"picogpt/x/corpus/internal/ledger"
	"picogpt/x/corpus/internal/report"
	"picogpt/x/corpus/internal/work"
)

// A Corpus holds the results for all documents, before a filter and before anything is written.
type Corpus struct {
	Manifest  Manifest
	Histogram report.Histogram
	Ranked    int         // number of documents with a perplexity
	Keep      ledger.Cuts // of a filter
}

// Add adds up the summaries of the pieces.
func Add(ctx context.Context, j *job.Job, all []work.Summary) (*Corpus, error) {
	if err := check(all); err != nil {
		return nil, err
	}
	c := &Corpus{Manifest: Manifest{Command: j.Command, Pieces: len(all), Model: all[0].Model,
		Options: j.Described()}}
	if err := c.Manifest.add(all); err != nil {
		return nil, err
	}
	return c, c.read(ctx, j, ledgers(j, all))
}

// check returns an error unless each piece occurs once, and all have the same model.
func check(all []work.Summary) error {
	for i, s := range all {
		if s.Piece.Index != i || s.Piece.Of != len(all) {
			return missing(i, s.Piece.Of)
		}
		if s.Model != all[0].Model {
			return fmt.Errorf("workers have different models: weights %.12s… and %.12s…",
				s.Model.Weights, all[0].Model.Weights)
		}
	}
	return nil
}

func missing(i, of int) error { return fmt.Errorf("piece %d of %d is missing", i+1, of) }

// ledgers returns the names of the pieces' ledgers.
func ledgers(j *job.Job, all []work.Summary) (names []string) {
	for i := range all {
		names = append(names, j.Ledger(&all[i].Piece))
	}
	return names
}

// add adds up the summaries.
func (m *Manifest) add(all []work.Summary) error {
	reasons := map[string]int{}
	for i := range all {
		s := &all[i]
		m.Records += s.Records
		m.Errors += s.Errors
		m.Tokens += s.Tokens
		var d eval.Digest
		if err := d.UnmarshalText([]byte(s.Digest)); err != nil {
			return err
		}
		m.Digest.Merge(d)
		for _, r := range s.Reasons {
			reasons[r.Text] += r.Count
		}
	}
	m.Reasons = work.Top(reasons)
	return nil
}

// read passes each entry to all parts of the corpus that need it. Those that need another order
// sort.
func (c *Corpus) read(ctx context.Context, j *job.Job, names []string) error {
	m := &c.Manifest
	total := eval.Summary{Tokens: m.Tokens}
	measured, err := newMeasurement(ctx, j)
	if err != nil {
		return err
	}
	inOrder := func(e *ledger.Entry) {
		total.Sum += e.Sum
		measured.add(e)
	}
	ids, ranks, order := newSorter(ctx), newSorter(ctx), newSorter(ctx)
	defer ids.close()
	defer ranks.close()
	defer order.close()
	for e, err := range ledger.Read(ctx, names...) {
		if err != nil {
			return err
		}
		if e.ID != nil {
			sum := sha256.Sum256(e.ID)
			ids.add(sum[:], nil)
		}
		c.Histogram.Add(e.Perplexity())
		if key, ok := e.RankKey(); ok {
			c.Ranked++
			ranks.add(key, nil)
		}
		if j.Fields.Order == "" {
			inOrder(e)
		} else {
			order.add(e.SortKey(), e.Append(nil))
		}
	}
	for p, err := range order.all() {
		if err != nil {
			return err
		}
		e, err := ledger.Parse(p.value)
		if err != nil {
			return err
		}
		inOrder(e)
	}
	m.Sum, m.Perplexity = total.Sum, finite(total.Perplexity())
	if m.Result, err = measured.result(m); err != nil {
		return err
	}
	if m.Duplicates, err = duplicates(ids); err != nil {
		return err
	}
	return c.rank(j, ranks)
}

// duplicates counts the keys that equal the key before them.
func duplicates(ids *sorter) (n int, _ error) {
	var last []byte
	for p, err := range ids.all() {
		if err != nil {
			return 0, err
		}
		if slices.Equal(p.key, last) {
			n++
		}
		last = p.key
	}
	return n, nil
}

// The perplexity of a corpus, from the windows of its documents.

// A measurement adds up measured documents; nil does nothing.
type measurement struct {
	total     *eval.Total
	documents int
}

// newMeasurement returns a measurement if the job measures, else nil.
func newMeasurement(ctx context.Context, j *job.Job) (*measurement, error) {
	if j.Command != job.Perplexity {
		return nil, nil
	}
	l, err := work.This.Load(ctx, j.Model) // only for its config
	if err != nil {
		return nil, err
	}
	o := &j.Perplexity
	total, err := eval.NewTotal(eval.Options{Protocol: o.Protocol, Window: o.Window,
		Stride: o.Stride}, l.Model.Config())
	return &measurement{total: total}, err
}

// add adds an entry's document.
func (m *measurement) add(e *ledger.Entry) {
	if m == nil {
		return
	}
	m.documents++
	m.total.Add(&eval.Measured{Tokens: e.Tokens, Words: e.Words, Bytes: e.Bytes,
		Windows: e.Windows, Scored: e.Scored, Squares: e.Squares})
}

// result returns the result for all documents, or nil if there are none.
func (m *measurement) result(of *Manifest) (*eval.Result, error) {
	if m == nil || m.documents == 0 {
		return nil, nil
	}
	r, err := m.total.Result()
	r.Model, r.DType, r.CacheDType = of.Model.Name, of.Model.DType, of.Model.CacheDType
	return &r, err
}
