package eval

// MeasureEach: many documents, each by itself, to be added up anywhere.

import (
	"context"
	"iter"
	"math"

	"picogpt/model"
)

// A DocumentRequest is one document to measure.
type DocumentRequest struct {
	Document
	Tag any   // the caller's: it comes back as Measured.Tag
	Err error // if not nil, why there is no document; it comes back in its turn
}

// A Measured is what a protocol makes of one document. A Total adds up many.
type Measured struct {
	Index int // of the request, from 0
	Tag   any // the request's

	Tokens, Words, Bytes int // the document's

	Windows []float64 // what each window adds to the nll, as the protocol weighs it
	Scored  int       // tokens, as the protocol counts them
	Squares float64   // the sum over the scored tokens of the square of their nll

	IDs      []int     // the document's tokens
	LogProbs []float64 // [Tokens] natural; NaN for a token that the protocol does not score
}

// MeasureEach yields one Measured for each document, in their order. Documents share Evals, which
// changes no digit, so that they may be measured anywhere and in any company, and added up
// afterwards:
//
//	total, err := eval.NewTotal(o, m.Config())
//	for d, err := range eval.MeasureEach(ctx, m, documents, o) {
//		total.Add(&d)
//	}
//	r, err := total.Result() // of eval.Measure for all of them
//
// A document that cannot be measured, since it has fewer tokens than the protocol wants or an id
// that the model does not know, or for what the model makes of it, yields a *RequestError beside a
// Measured that has only Index and Tag; the iteration goes on. An empty one is measured by LMEval:
// it adds no window. Any other error, an option's or the context's for one, ends the iteration.
//
// Documents come as the requests of Score do, from a function that runs in a goroutine of its own.
// Memory holds those of one Eval and the one that is read ahead.
func MeasureEach(
	ctx context.Context, m *model.Model, documents iter.Seq[DocumentRequest], o Options,
) iter.Seq2[Measured, error] {
	return func(yield func(Measured, error) bool) {
		s, err := o.settle(m.Config())
		if err != nil {
			yield(Measured{}, err)
			return
		}
		respond(ctx, s.packer(m), documents, func(r DocumentRequest, index int) task[Measured] {
			return s.begin(m.Config(), r, index)
		}, yield)
	}
}

// measureRows is how many rows one Eval should have: enough for the model's passes to be full.
// Short windows are as many as texts of Score at most, for the memory of their caches.
const measureRows = 1024

// packer packs windows: as many as Batch says, or those that fill a pass.
func (s *settings) packer(m *model.Model) packer {
	p := packer{runner: runner{model: m}, most: s.Batch}
	if s.Batch == 0 {
		p.most, p.limit = max(scoreBatch, measureRows/s.Window), measureRows
	}
	return p
}

// A measuring is a document on its way.
type measuring struct {
	*settings
	measured Measured
	err      error
}

// begin finds out whether the document can be measured.
func (s *settings) begin(c model.Config, r DocumentRequest, index int) *measuring {
	d := &measuring{settings: s, err: r.Err, measured: Measured{Index: index, Tag: r.Tag}}
	if d.err == nil {
		d.err = vocabulary(r.Tokens, c.VocabSize)
	}
	if d.err == nil && (s.Protocol != LMEval || len(r.Tokens) > 0) {
		d.err = s.check(len(r.Tokens))
	}
	if d.err != nil {
		return d
	}
	x := &d.measured
	x.Tokens, x.Words, x.Bytes, x.IDs = len(r.Tokens), r.Words, r.Bytes, r.Tokens
	x.LogProbs = make([]float64, len(r.Tokens))
	for i := range x.LogProbs {
		x.LogProbs[i] = math.NaN()
	}
	return d
}

// sequences are the document's windows, up to one that the model refuses.
func (d *measuring) sequences() iter.Seq[*sequence] {
	return func(yield func(*sequence) bool) {
		for w := range d.windows(d.measured.IDs) {
			if d.err != nil || !yield(w) {
				return
			}
		}
	}
}

func (d *measuring) take(w *sequence) {
	if d.err == nil {
		d.err = w.err
	}
	if d.err != nil {
		return
	}
	x := &d.measured
	x.Windows = append(x.Windows, w.weigh(&x.Squares))
	x.Scored += w.weight
	for i, t := range w.stats {
		x.LogProbs[w.end-len(w.stats)+i] = t.LogProb
	}
}

func (d *measuring) answer() (Measured, error) {
	x := d.measured
	if d.err != nil {
		return Measured{Index: x.Index, Tag: x.Tag}, &RequestError{x.Index, x.Tag, d.err}
	}
	return x, nil
}
