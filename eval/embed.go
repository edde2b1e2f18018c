package eval

// Embed: the vectors of many texts, from their hidden states, in batches.

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"picogpt/model"
)

// EmbedOptions say how texts become vectors. The zero value is the mean of the last hidden states,
// after ln_f.
type EmbedOptions struct {
	Pooling   Pooling
	Layer     *int // 0 to n_layer, as in model.States; nil: n_layer
	Normalize bool // to length 1
	Truncate  bool // a text that is too long loses its end, and is no error
	Batch     int  // texts in one Eval; 0 is 64. It changes no bit.
}

// An Embedded is the vector of one text.
type Embedded struct {
	Index   int // of the request, from 0
	Tag     any // the request's
	Tokens  []int
	Dropped int       // tokens of the end that were left out: see EmbedOptions.Truncate
	Vector  []float32 // [n_embd]
}

// Embed yields the vector of each request, in order. A request that has none, because it has no
// tokens or too many, or because its hidden states are not finite, yields a *RequestError beside an
// Embedded that has only Index and Tag, and the iteration continues. Any other error ends it.
// Requests come as those of [Score] do; one that is a Pair has no vector.
//
// The memory of a batch is that of its caches and of the hidden states that are pooled.
func Embed(
	ctx context.Context, m *model.Model, tok Encoder, requests iter.Seq[Request], o EmbedOptions,
) iter.Seq2[Embedded, error] {
	return func(yield func(Embedded, error) bool) {
		states, err := o.states(m.Config())
		if err != nil {
			yield(Embedded{}, err)
			return
		}
		respond(ctx, readerOf(m, o.Batch), requests, func(r Request, index int) task[Embedded] {
			e := &embedding{options: &o}
			e.prepare(m.Config(), tok, r, index, o.Truncate)
			e.wanted, e.states = o.Pooling.From, states
			return e
		}, yield)
	}
}

// EmbedOne is Embed for one request.
func EmbedOne(
	ctx context.Context, m *model.Model, tok Encoder, r Request, o EmbedOptions,
) (Embedded, error) {
	return only(ctx, Embed(ctx, m, tok, slices.Values([]Request{r}), o))
}

// states returns the layer of the options, which it checks.
func (o *EmbedOptions) states(c model.Config) (*model.States, error) {
	if err := o.Pooling.Check(); err != nil {
		return nil, err
	}
	s := &model.States{Layer: c.Layer}
	if o.Layer != nil {
		s.Layer = *o.Layer
	}
	if s.Layer < 0 || s.Layer > c.Layer {
		return nil, fmt.Errorf("layer %d: want 0 (the embeddings) to %d (after ln_f)", s.Layer, c.Layer)
	}
	return s, nil
}

// readerOf returns a packer of sequences whose hidden states are read.
func readerOf(m *model.Model, batch int) packer {
	if batch <= 0 {
		batch = scoreBatch
	}
	return packer{runner: runner{model: m}, most: batch, limit: scoreRows}
}

// A reading is a text whose hidden states are read.
type reading struct {
	index   int
	tag     any
	tokens  []int
	dropped int
	err     error

	states *model.States
	wanted func(n int) int // the first of n tokens whose hidden state is wanted
	width  int
	rows   []float32 // [len(tokens)-wanted, width]
}

// prepare encodes a request.
func (t *reading) prepare(c model.Config, tok Encoder, r Request, index int, truncate bool) {
	t.index, t.tag, t.tokens, t.err, t.width = index, r.Tag, r.Tokens, r.Err, c.Embd
	switch {
	case t.err != nil:
	case r.Pair:
		t.err = errors.New("context and continuation: want a text, or tokens")
	case t.tokens == nil:
		t.tokens, t.err = tok.Encode(r.Text)
	}
	n := len(t.tokens)
	switch {
	case t.err != nil:
	case n == 0:
		t.err = errors.New("the text is empty: want at least one token")
	case n > c.Positions && truncate:
		t.tokens, t.dropped = t.tokens[:c.Positions], n-c.Positions
	case n > c.Positions:
		t.err = fmt.Errorf("the text has %d tokens, want at most %d (n_positions)", n, c.Positions)
	}
	if t.err == nil {
		t.err = vocabulary(t.tokens, c.VocabSize)
	}
}

func (t *reading) sequences() iter.Seq[*sequence] {
	return func(yield func(*sequence) bool) {
		if t.err != nil {
			return
		}
		from := t.wanted(len(t.tokens))
		t.rows = make([]float32, (len(t.tokens)-from)*t.width)
		yield(&sequence{tokens: t.tokens, first: from + 1, states: t.states,
			visit: func(r model.Row) { copy(t.rows[(r.Index-from)*t.width:], r.Hidden) }})
	}
}

// An embedding is a text that becomes a vector.
type embedding struct {
	reading
	options *EmbedOptions
	vector  []float32
}

func (e *embedding) take(s *sequence) {
	if e.err = s.err; e.err == nil {
		e.vector = e.options.Pooling.Vector(e.rows, e.width, e.options.Normalize)
	}
	e.rows = nil
}

func (e *embedding) answer() (Embedded, error) {
	if e.err != nil {
		return Embedded{Index: e.index, Tag: e.tag}, &RequestError{e.index, e.tag, e.err}
	}
	return Embedded{e.index, e.tag, e.tokens, e.dropped, e.vector}, nil
}
