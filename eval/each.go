package eval

// MeasureEach: many documents, each measured by itself; a Total adds them up.

import (
	"context"
	"iter"
	"math"

	"picogpt/model"
)

// A DocumentRequest is one document to measure.
type DocumentRequest struct {
	Document
	Tag any   // any value; it is returned as Measured.Tag
	Err error // if not nil, why there is no document; MeasureEach returns it in order
}

// A Measured is the result of a protocol for one document. A Total adds up many.
type Measured struct {
	Index int // of the request, from 0
	Tag   any // the request's

	Tokens, Words, Bytes int // the document's

	Windows []float64 // each window's part of the NLL, weighted as in the protocol
	Scored  int       // tokens, as the protocol counts them
	Squares float64   // the sum over the scored tokens of the square of their nll

	IDs      []int     // the document's tokens
	LogProbs []float64 // [Tokens] natural; NaN for a token that the protocol does not score
}

// MeasureEach yields one Measured for each document, in order. Documents share Evals, which changes
// no digit. So documents may be measured in any groups, on any machine, and added up later:
//
//	total, err := eval.NewTotal(o, m.Config())
//	for d, err := range eval.MeasureEach(ctx, m, documents, o) {
//		total.Add(&d)
//	}
//	r, err := total.Result() // the same as eval.Measure of all documents
//
// A document that cannot be measured yields a *RequestError beside a Measured that has only Index
// and Tag, and the iteration continues. This happens if it has fewer tokens than the protocol
// needs, or an id outside the vocabulary, or if the model gives logits that are not finite. LMEval
// measures an empty document: it has no window. Any other error, such as an option's or the
// context's, ends the iteration.
//
// The documents' function runs in a goroutine of its own, as the requests' of Score. Memory holds
// the documents of one Eval and one that is read ahead.
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

// measureRows is the number of rows that one Eval should have, enough to fill the model's passes.
// The number of short windows is bounded as in Score, because each needs a cache.
const measureRows = 1024

// packer returns a packer of windows: as many as Batch says, or as many as fill a pass.
func (s *settings) packer(m *model.Model) packer {
	p := packer{runner: runner{model: m}, most: s.Batch}
	if s.Batch == 0 {
		p.most, p.limit = max(scoreBatch, measureRows/s.Window), measureRows
	}
	return p
}

// A measuring is a document that is being measured.
type measuring struct {
	*settings
	measured Measured
	err      error
}

// begin checks whether the document can be measured.
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

// sequences yields the document's windows, until the model refuses one.
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
