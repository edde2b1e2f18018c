package eval

// Perplexity: the windows of a protocol, a batch at a time, added up in the order of the text.

import (
	"context"
	"fmt"
	"math"

	"picogpt/kernels"
	"picogpt/model"
)

// Perplexity measures one text, given as ids, by the protocol that o names. The result's words,
// bytes and SHA-256 are unknown: Measure takes a Text, which has them.
//
// If ctx ends, or the logits are not finite, the result is that of the windows done, marked
// Partial, and comes with the error. Other errors name a token outside the vocabulary, an option,
// or how many tokens the protocol wants.
func Perplexity(ctx context.Context, m *model.Model, tokens []int, o Options) (Result, error) {
	return Measure(ctx, m, Text{Documents: []Document{{Tokens: tokens}}}, o)
}

// Measure is Perplexity for a text of one document or more, with its words and bytes. HF and
// LlamaCpp know one document only; for LMEval each gets a BOS of its own, and the sums run over
// all.
func Measure(ctx context.Context, m *model.Model, text Text, o Options) (Result, error) {
	s, err := o.settle(m.Config())
	if err != nil {
		return Result{}, err
	}
	if len(text.Documents) > 1 && s.Protocol != LMEval {
		return Result{}, fmt.Errorf("text: %d documents, want 1 for %s", len(text.Documents),
			s.Protocol)
	}
	sum := sums{settings: s, text: text}
	for _, d := range text.Documents {
		if err := vocabulary(d.Tokens, m.Config().VocabSize); err != nil {
			return Result{}, err
		}
		sum.tokens += len(d.Tokens)
		sum.words += d.Words
		sum.bytes += d.Bytes
	}
	if err := s.check(sum.tokens); err != nil {
		return Result{}, err
	}
	err = sum.run(ctx, m)
	return sum.result(m, err != nil), err
}

// vocabulary finds the first id that the model has no embedding for.
func vocabulary(tokens []int, size int) error {
	for i, id := range tokens {
		if id < 0 || id >= size {
			return fmt.Errorf("token %d: id %d, want 0 to %d (the model's vocabulary)", i, id,
				size-1)
		}
	}
	return nil
}

// sums are what a measurement has added up, window after window.
type sums struct {
	settings
	text                 Text
	tokens, words, bytes int

	nll     float64 // of the scored tokens, as the protocol weighs them
	squares float64 // of the scored tokens' nll
	scored  int
	done    int // tokens of the text behind the last window
}

// run takes the windows of all documents, Batch at a time.
func (s *sums) run(ctx context.Context, m *model.Model) error {
	r := runner{model: m}
	var windows []window
	flush := func() error {
		batch := make([]*sequence, len(windows))
		for i, w := range windows {
			batch[i] = &sequence{tokens: w.tokens, first: w.first}
		}
		if err := r.run(ctx, batch); err != nil {
			return err
		}
		for i, w := range windows {
			if err := batch[i].err; err != nil {
				return err
			}
			s.add(w, batch[i].stats)
		}
		windows = windows[:0]
		if s.Progress != nil {
			s.Progress(Progress{s.done, s.tokens, s.perplexity()})
		}
		return nil
	}
	before := 0
	for _, d := range s.text.Documents {
		for w := range s.windows(d.Tokens) {
			w.end += before
			if windows = append(windows, w); len(windows) < s.Batch {
				continue
			}
			if err := flush(); err != nil {
				return err
			}
		}
		before += len(d.Tokens)
	}
	if len(windows) > 0 {
		return flush()
	}
	return nil
}

// add adds a window: its sum, or where the weight is another than the number of targets (HF), its
// mean times the weight.
func (s *sums) add(w window, stats []Stat) {
	nll := 0.0
	for _, t := range stats {
		nll -= t.LogProb
		s.squares += float64(t.LogProb * t.LogProb)
	}
	if w.weight != len(stats) {
		nll = float64(float64(nll/float64(len(stats))) * float64(w.weight))
	}
	s.nll += nll
	s.scored += w.weight
	s.done = w.end
}

func (s *sums) perplexity() float64 {
	if s.scored == 0 {
		return math.NaN()
	}
	return kernels.Exp64(s.nll / float64(s.scored))
}

func (s *sums) result(m *model.Model, partial bool) Result {
	r := Result{
		Protocol: s.Protocol, Window: s.Window, Stride: s.Stride, BOS: "none",
		Documents: len(s.text.Documents), Tokens: s.tokens, Scored: s.scored, Words: s.words,
		Bytes: s.bytes,
		NLL:   s.nll / float64(s.scored), Perplexity: s.perplexity(), StdErr: math.NaN(),
		WordPerplexity: math.NaN(), BytePerplexity: math.NaN(), BitsPerByte: math.NaN(),
		SHA256: s.text.SHA256, DType: m.Format(), CacheDType: m.CacheFormat(), Partial: partial,
	}
	if s.Protocol == LMEval {
		r.BOS = fmt.Sprintf("%d before each document", s.bos)
	}
	if s.Protocol == LlamaCpp && s.scored > 1 {
		n := float64(s.scored)
		variance := max(0, s.squares/n-float64(r.NLL*r.NLL))
		r.StdErr = float64(r.Perplexity * math.Sqrt(variance/(n-1)))
	}
	if s.scored == 0 || s.bytes == 0 {
		return r
	}
	// The whole text's surprise: what was scored, or at the same mean what the protocol leaves out
	// too.
	whole := s.nll
	if s.scored != s.tokens {
		whole = float64(r.NLL * float64(s.tokens))
	}
	r.WordPerplexity = kernels.Exp64(whole / float64(s.words))
	r.BytePerplexity = kernels.Exp64(whole / float64(s.bytes))
	r.BitsPerByte = whole / float64(float64(s.bytes)*math.Ln2)
	return r
}
