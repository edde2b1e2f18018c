package eval

// Vectors of many texts (Embed), and labels of texts or of their tokens (Classify), from their
// hidden states, in batches.

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"

	"picogpt/checkpoint"
	"picogpt/model"
	"picogpt/tokenizer"
)

// A Pooling says how the vectors of a text's tokens become the text's. "" is Mean.
type Pooling string

const (
	Mean     Pooling = "mean"     // of all tokens
	Last     Pooling = "last"     // the last token's
	Weighted Pooling = "weighted" // the mean with weights 1, 2, 3, … (SGPT, arXiv:2202.08904)
)

// Check returns an error unless p is one of the three, or "".
func (p Pooling) Check() error {
	switch p {
	case "", Mean, Last, Weighted:
		return nil
	}
	return fmt.Errorf("pooling %q: want %s, %s or %s", p, Mean, Last, Weighted)
}

// From returns the index of the first token of n whose vector is used.
func (p Pooling) From(n int) int {
	if p == Last {
		return n - 1
	}
	return 0
}

// Vector returns the vector [width] of a text: rows are its tokens' vectors [tokens, width], from
// index From on. The sum is in float64 and in the order of the tokens. With normalize the result
// has length 1, unless it is all zeros.
func (p Pooling) Vector(rows []float32, width int, normalize bool) []float32 {
	sum, of := make([]float64, width), 0.0
	for i := range len(rows) / width {
		weight := 1.0
		if p == Weighted {
			weight = float64(i + 1)
		}
		of += weight
		for k, x := range rows[i*width : (i+1)*width] {
			sum[k] += float64(weight * float64(x))
		}
	}
	if normalize {
		squares := 0.0
		for _, x := range sum {
			squares += float64(x * x)
		}
		of = math.Sqrt(squares)
	}
	to := make([]float32, width)
	for k, x := range sum {
		if of > 0 {
			to[k] = float32(x / of)
		}
	}
	return to
}

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
		return nil, fmt.Errorf("layer %d: want 0 (the embeddings) to %d (after ln_f)", s.Layer,
			c.Layer)
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

// ClassifyOptions say how texts are classified. The zero value is usable.
type ClassifyOptions struct {
	Truncate bool // a text that is too long loses its end, and is no error
	Batch    int  // texts in one Eval; 0 is 64. It changes no digit.
}

// A Class is what a head says of a text, or of a token.
type Class struct {
	Best   int       // the index of the greatest logit; of equal ones, the first
	Label  string    // its label
	Logits []float64 // [labels]
	Scores []float64 // [labels] probabilities, or for a regression the logits
}

// ClassOf returns the class that a head gives a hidden state after ln_f.
func ClassOf(h *checkpoint.Head, hidden []float32) Class {
	logits := h.Logits(hidden)
	best := slices.Index(logits, slices.Max(logits))
	return Class{best, h.Labels[best], logits, h.Scores(logits)}
}

// A Classified is the classes of one text.
type Classified struct {
	Index   int // of the request, from 0
	Tag     any // the request's
	Tokens  []int
	Text    string           // the request's; "" for ids
	Spans   []tokenizer.Span // where each token is in Text; nil for ids
	Dropped int              // tokens of the end that were left out: see ClassifyOptions.Truncate
	Classes []Class          // one, or with a head that is PerToken one for each token
}

// Classify yields the classes of each request, in order. Requests, and errors of single requests,
// are as for [Embed].
func Classify(
	ctx context.Context, m *model.Model, tok Tokenizer, h *checkpoint.Head,
	requests iter.Seq[Request], o ClassifyOptions,
) iter.Seq2[Classified, error] {
	return func(yield func(Classified, error) bool) {
		respond(ctx, readerOf(m, o.Batch), requests, func(r Request, index int) task[Classified] {
			c := &classifying{head: h, text: r.Text}
			if r.Tokens != nil {
				c.text = ""
			}
			c.prepare(m.Config(), spanEncoder{tok, &c.spans}, r, index, o.Truncate)
			c.states = &model.States{Layer: m.Config().Layer}
			if c.wanted = Last.From; h.PerToken {
				c.wanted = Mean.From
			}
			return c
		}, yield)
	}
}

// ClassifyOne is Classify for one request.
func ClassifyOne(
	ctx context.Context, m *model.Model, tok Tokenizer, h *checkpoint.Head, r Request,
	o ClassifyOptions,
) (Classified, error) {
	return only(ctx, Classify(ctx, m, tok, h, slices.Values([]Request{r}), o))
}

// A spanEncoder notes the spans of the text that it encodes.
type spanEncoder struct {
	Tokenizer
	spans *[]tokenizer.Span
}

func (e spanEncoder) Encode(text string) (ids []int, err error) {
	ids, *e.spans, err = e.EncodeSpans(text)
	return ids, err
}

// A classifying is a text that is being classified.
type classifying struct {
	reading
	head    *checkpoint.Head
	text    string
	spans   []tokenizer.Span
	classes []Class
}

func (c *classifying) take(s *sequence) {
	if c.err = s.err; c.err == nil {
		for row := range slices.Chunk(c.rows, c.width) {
			c.classes = append(c.classes, ClassOf(c.head, row))
		}
	}
	c.rows = nil
}

func (c *classifying) answer() (Classified, error) {
	if c.err != nil {
		return Classified{Index: c.index, Tag: c.tag}, &RequestError{c.index, c.tag, c.err}
	}
	if c.spans != nil {
		c.spans = c.spans[:len(c.tokens)]
	}
	return Classified{c.index, c.tag, c.tokens, c.text, c.spans, c.dropped, c.classes}, nil
}
