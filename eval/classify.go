package eval

// Classify: the labels of many texts, or of their tokens, from the hidden states, in batches.

import (
	"context"
	"iter"
	"slices"

	"picogpt/checkpoint"
	"picogpt/model"
	"picogpt/tokenizer"
)

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
