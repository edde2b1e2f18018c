package eval

// Perplexity: a protocol's windows, evaluated in batches and added up in the order of the text.

import (
	"context"
	"fmt"

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

// of returns the result of a text, for the windows that were added.
func (t *Total) of(m *model.Model, text Text, partial bool) Result {
	r := t.result()
	r.SHA256, r.Partial = text.SHA256, partial
	r.DType, r.CacheDType = m.Format(), m.CacheFormat()
	return r
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
