package eval

// Total: what measured windows add up to, in the order of the text.

import (
	"fmt"
	"math"

	"picogpt/kernels"
	"picogpt/model"
)

// A Total is what measured documents come to. Where the documents of a text were added in its
// order, the Result is that of Measure, to the last bit.
type Total struct {
	settings
	documents, tokens, words, bytes int

	nll     float64 // of the scored tokens, as the protocol weighs them
	squares float64 // of the scored tokens' nll
	scored  int
}

// NewTotal is a total of nothing yet, for documents that are measured with these options by a model
// of that config.
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

// count takes a document for one of the text, its windows aside.
func (t *Total) count(tokens, words, bytes int) {
	t.documents++
	t.tokens += tokens
	t.words += words
	t.bytes += bytes
}

// weigh is what a window adds: its sum, or where the weight is another than the number of targets
// (HF), its mean times the weight. The squares of its tokens are added one by one.
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

// checkDocuments refuses several documents where the protocol knows one.
func (t *Total) checkDocuments() error {
	if t.documents > 1 && t.Protocol != LMEval {
		return fmt.Errorf("text: %d documents, want 1 for %s", t.documents, t.Protocol)
	}
	return nil
}

// Result is what the documents come to. The caller fills in SHA256, Model, DType and CacheDType. It
// errs as Measure does where the documents are too many for the protocol, or have too few tokens.
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
	// The whole text's surprise: what was scored, or at the same mean what the protocol leaves out
	// too.
	whole := t.nll
	if t.scored != t.tokens {
		whole = float64(r.NLL * float64(t.tokens))
	}
	r.WordPerplexity = kernels.Exp64(whole / float64(t.words))
	r.BytePerplexity = kernels.Exp64(whole / float64(t.bytes))
	r.BitsPerByte = whole / float64(float64(t.bytes)*math.Ln2)
	return r
}
