package eval

// Perplexity of a text: a protocol's windows, evaluated in batches and added up in the order of the
// text; also of many documents, each by itself.

import (
	"context"
	"fmt"
	"iter"
	"math"

	"picogpt/kernels"
	"picogpt/model"
)

// Perplexity measures one text, given as ids, by the protocol that o names. The result's words,
// bytes and SHA-256 are unknown: use Measure with a Text, which has them.
//
// If ctx ends, or logits are not finite, Perplexity returns the error and the result for the
// windows before it, marked Partial. Other errors name a token outside the vocabulary, an option,
// or the number of tokens that the protocol needs.
func Perplexity(ctx context.Context, m *model.Model, tokens []int, o Options) (Result, error) {
	return Measure(ctx, m, Text{Documents: []Document{{Tokens: tokens}}}, o)
}

// Measure is Perplexity for a text of one or more documents, with its words and bytes. HF and
// LlamaCpp take one document only; LMEval puts a BOS before each, and the sums run over all
// documents. MeasureEach measures documents one by one.
func Measure(ctx context.Context, m *model.Model, text Text, o Options) (Result, error) {
	t, err := NewTotal(o, m.Config())
	if err != nil {
		return Result{}, err
	}
	if err := t.countAll(text, m.Config()); err != nil {
		return Result{}, err
	}
	err = t.measure(ctx, m, text.Documents)
	return t.of(m, text, err != nil), err
}

// A Total adds up measured documents. If the documents of a text are added in its order, the Result
// equals Measure's to the last bit.
type Total struct {
	settings
	documents, tokens, words, bytes int

	nll     float64 // of the scored tokens, weighted as in the protocol
	squares float64 // of the squares of the scored tokens' NLL
	scored  int
}

// NewTotal returns an empty total for documents that are measured with these options by a model
// with that config.
func NewTotal(o Options, c model.Config) (*Total, error) {
	s, err := o.settle(c)
	return &Total{settings: s}, err
}

// Add adds the next document. It reads neither IDs nor LogProbs.
func (t *Total) Add(d *Measured) {
	t.count(d.Tokens, d.Words, d.Bytes)
	for _, nll := range d.Windows {
		t.nll += nll
	}
	t.scored += d.Scored
	t.squares += d.Squares
}

// count counts a document, without its windows.
func (t *Total) count(tokens, words, bytes int) {
	t.documents++
	t.tokens += tokens
	t.words += words
	t.bytes += bytes
}

// countAll counts the documents of a text, and checks them.
func (t *Total) countAll(text Text, c model.Config) error {
	for _, d := range text.Documents {
		t.count(len(d.Tokens), d.Words, d.Bytes)
	}
	if err := t.checkDocuments(); err != nil {
		return err
	}
	for _, d := range text.Documents {
		if err := vocabulary(d.Tokens, c.VocabSize); err != nil {
			return err
		}
	}
	return t.check(t.tokens)
}

// addWindow adds a window with its stats.
func (t *Total) addWindow(w *sequence) {
	t.nll += w.weigh(&t.squares)
	t.scored += w.weight
}

// weigh returns a window's part of the NLL: its sum or, if the weight is not the number of targets
// (HF), its mean times the weight. It adds the squares of the tokens' NLL to squares one by one.
func (s *sequence) weigh(squares *float64) float64 {
	nll := 0.0
	for _, t := range s.stats {
		nll -= t.LogProb
		*squares += float64(t.LogProb * t.LogProb)
	}
	if s.weight != len(s.stats) {
		nll = float64(float64(nll/float64(len(s.stats))) * float64(s.weight))
	}
	return nll
}

// checkDocuments returns an error if the protocol takes only one document and there are several.
func (t *Total) checkDocuments() error {
	if t.documents > 1 && t.Protocol != LMEval {
		return fmt.Errorf("text: %d documents, want 1 for %s", t.documents, t.Protocol)
	}
	return nil
}

// measure adds the windows of documents that were already counted.
func (t *Total) measure(ctx context.Context, m *model.Model, documents []Document) error {
	before, done := 0, 0 // tokens before the window's document, and up to the window's last
	p := t.packer(m)
	p.done = func(windows []*sequence) error {
		for _, w := range windows {
			if w.err != nil {
				return w.err
			}
			t.addWindow(w)
			done = w.end
		}
		if t.Progress != nil {
			t.Progress(Progress{done, t.tokens, t.perplexity()})
		}
		return nil
	}
	for _, d := range documents {
		for w := range t.windows(d.Tokens) {
			w.end += before // from the beginning of the text, here
			if err := p.add(ctx, w); err != nil {
				return err
			}
		}
		before += len(d.Tokens)
	}
	return p.flush(ctx)
}

// Result returns the result for the documents. The caller sets SHA256, Model, DType and CacheDType.
// The errors are those of Measure: too many documents for the protocol, or too few tokens.
func (t *Total) Result() (Result, error) {
	if err := t.checkDocuments(); err != nil {
		return Result{}, err
	}
	if err := t.check(t.tokens); err != nil {
		return Result{}, err
	}
	return t.result(), nil
}

// of returns the result of a text, for the windows that were added.
func (t *Total) of(m *model.Model, text Text, partial bool) Result {
	r := t.result()
	r.SHA256, r.Partial = text.SHA256, partial
	r.DType, r.CacheDType = m.Format(), m.CacheFormat()
	return r
}

func (t *Total) perplexity() float64 {
	if t.scored == 0 {
		return math.NaN()
	}
	return kernels.Exp64(t.nll / float64(t.scored))
}

func (t *Total) result() Result {
	r := Result{
		Protocol: t.Protocol, Window: t.Window, Stride: t.Stride, BOS: "none",
		Documents: t.documents, Tokens: t.tokens, Scored: t.scored, Words: t.words, Bytes: t.bytes,
		NLL: t.nll / float64(t.scored), Perplexity: t.perplexity(), StdErr: math.NaN(),
		WordPerplexity: math.NaN(), BytePerplexity: math.NaN(), BitsPerByte: math.NaN(),
	}
	if t.Protocol == LMEval {
		r.BOS = fmt.Sprintf("%d before each document", t.bos)
	}
	if t.Protocol == LlamaCpp && t.scored > 1 {
		n := float64(t.scored)
		variance := max(0, t.squares/n-float64(r.NLL*r.NLL))
		r.StdErr = float64(r.Perplexity * math.Sqrt(variance/(n-1)))
	}
	if t.scored == 0 || t.bytes == 0 {
		return r
	}
	// The NLL of the whole text. Tokens that the protocol does not score count as the mean of the
	// others.
	whole := t.nll
	if t.scored != t.tokens {
		whole = float64(r.NLL * float64(t.tokens))
	}
	r.WordPerplexity = kernels.Exp64(whole / float64(t.words))
	r.BytePerplexity = kernels.Exp64(whole / float64(t.bytes))
	r.BitsPerByte = whole / float64(float64(t.bytes)*math.Ln2)
	return r
}

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

// vocabulary returns an error for the first id that the model has no embedding for.
func vocabulary(tokens []int, size int) error {
	for i, id := range tokens {
		if id < 0 || id >= size {
			return fmt.Errorf("token %d: id %d, want 0 to %d (the model's vocabulary)", i, id,
				size-1)
		}
	}
	return nil
}
