package finish

// The perplexity of a corpus, from the windows of its documents.

import (
	"context"

	"picogpt/eval"
	"picogpt/x/corpus/internal/job"
	"picogpt/x/corpus/internal/ledger"
	"picogpt/x/corpus/internal/work"
)

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
