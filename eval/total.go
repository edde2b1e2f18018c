package eval

// Total: the sums over measured documents, in the order of the text.

import (
	"fmt"
	"math"

	"picogpt/kernels"
	"picogpt/model"
)

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
