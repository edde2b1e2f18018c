package model

// Eval: a batch of sessions, cut into passes of a bounded number of rows, all or nothing.

import (
	"context"
	"fmt"

	"picogpt/attention"
	"picogpt/kernels"
)

// An Input is one session's part of a batch.
type Input struct {
	Session *Session
	Tokens  []int // to append; at least one

	// Visit, if not nil, is called once for each of Tokens from VisitFrom on, with what the model computed
	// for it. The calls come from the workers, several at a time and in any order.
	Visit     func(Row)
	VisitFrom int

	// NoLogits says that the session does not need the logits after the last token: its Logits are then
	// nil. The head is only computed for rows that Visit or the session want.
	NoLogits bool
}

// A Row is what Eval hands out for one token. Its slices may be read during the call of Visit only.
type Row struct {
	Index  int       // of the token in Tokens
	Logits []float32 // after the token, [vocab_size]
	Hidden []float32 // the final hidden state, after ln_f, [n_embd]
}

// An InputError is an error of one input of a batch: the others have nothing to do with it.
type InputError struct {
	Input int // its index in the batch
	Err   error
}

func (e *InputError) Error() string { return fmt.Sprintf("input %d: %v", e.Input, e.Err) }

func (e *InputError) Unwrap() error { return e.Err }

// inputErrorf makes an InputError with a message.
func inputErrorf(input int, format string, args ...any) error {
	return &InputError{input, fmt.Errorf(format, args...)}
}

// A ContextError says that a session has no room for the tokens it was given.
type ContextError struct {
	Held, Added, Positions int // tokens in the session, tokens to append, the model's context
}

func (e *ContextError) Error() string {
	return fmt.Sprintf("context: %d tokens and %d more, want at most %d (n_positions)", e.Held, e.Added, e.Positions)
}

// A NonFiniteError says that the logits after a token hold a NaN or an infinity.
type NonFiniteError struct {
	Position int // of the token in its session, from 0
	ID       int // the first logit that is not finite
}

func (e *NonFiniteError) Error() string {
	return fmt.Sprintf("logits after position %d: id %d is not finite", e.Position, e.ID)
}

// Eval appends each input's tokens to its session and computes the logits after the last of them. Linear layers run over
// the rows of all inputs together, attention for each session by itself.
//
// It is all or nothing: on an error every session is as it was. An error that one input causes is an
// *InputError; it wraps a *ContextError, a *NonFiniteError, or a caller's mistake: a token id outside
// the vocabulary, a session of another model, a session twice, no tokens. Others are ErrClosed and the
// context's error. The context is looked at before each layer.
func (m *Model) Eval(ctx context.Context, batch ...Input) error {
	if err := m.check(batch); err != nil {
		return err
	}
	if err := m.begin(ctx); err != nil {
		return err
	}
	defer m.end()
	if err := m.eval.run(ctx, batch); err != nil {
		return err
	}
	for i := range batch {
		batch[i].Session.commit(batch[i].Tokens, !batch[i].NoLogits)
	}
	return nil
}

func (m *Model) check(batch []Input) error {
	for i := range batch {
		in := &batch[i]
		switch {
		case in.Session == nil || in.Session.model != m:
			return inputErrorf(i, "the session is not of this model")
		case len(in.Tokens) == 0:
			return inputErrorf(i, "no tokens, want at least one")
		case len(in.Tokens) > m.config.Positions-len(in.Session.tokens):
			return &InputError{i, &ContextError{len(in.Session.tokens), len(in.Tokens), m.config.Positions}}
		case in.VisitFrom < 0:
			return inputErrorf(i, "VisitFrom %d, want 0 or more", in.VisitFrom)
		}
		for j, id := range in.Tokens {
			if id < 0 || id >= m.config.VocabSize {
				return inputErrorf(i, "token %d: id %d, want 0 to %d", j, id, m.config.VocabSize-1)
			}
		}
		for j := range i {
			if batch[j].Session == in.Session {
				return inputErrorf(i, "the session is input %d too", j)
			}
		}
	}
	return nil
}

// passRows bounds the rows of one pass, and with them the scratch memory, whatever the prompt's length.
const passRows = 512

// shareWork is how many multiplications must lie between two barriers, very roughly, before it pays to share them out: a layer has ten barriers, and
// each takes about a microsecond, or far more on a machine that is busy with other things. The bits do not depend on it.
const shareWork = 1 << 20

// A span is the part of an input that a pass evaluates: n tokens from Tokens[from], in rows row, row+1, ….
type span struct {
	Input
	input        int // its index in the batch
	from, n, row int
	position     int // of its first token in the session
}

// An evaluation is what one Eval at a time works with: the rows of the current pass and their scratch memory, which is kept from call
// to call. forward.go says what happens to them.
type evaluation struct {
	model *Model
	ctx   context.Context

	forwardBody, layersBody func(*kernels.Worker) // made once: a method value is an allocation

	spans []span
	heads []attention.Span // what attention needs of each of the spans
	rows  int
	small bool // the layers run on one worker

	x, norm, sum []float32 // [rows, n_embd]
	qkv          []float32 // [rows, 3·n_embd]
	inner        []float32 // [rows, n_inner]

	outputs // the rows whose logits are wanted

	stopped bool // written by the first worker between barriers
}

func (e *evaluation) init(m *Model) {
	e.model = m
	e.forwardBody, e.layersBody = e.forward, e.layers
}

// run evaluates a batch pass by pass: rows are taken from the inputs in order, at most passRows at a time.
func (e *evaluation) run(ctx context.Context, batch []Input) error {
	e.ctx, e.stopped = ctx, false
	e.nonFinite.Store(nil)
	defer e.release()
	for i := range batch {
		batch[i].Session.reserve(len(batch[i].Tokens))
	}
	for i, from := 0, 0; i < len(batch); {
		e.spans, e.rows = e.spans[:0], 0
		for i < len(batch) && e.rows < passRows {
			in := &batch[i]
			n := min(len(in.Tokens)-from, passRows-e.rows)
			e.spans = append(e.spans, span{*in, i, from, n, e.rows, in.Session.Len() + from})
			e.rows += n
			if from += n; from == len(in.Tokens) {
				i, from = i+1, 0
			}
		}
		e.resize()
		e.setHeads()
		e.small = e.rows*e.model.params.layerSize() < shareWork
		team := e.model.team
		if e.small && e.rows*e.model.config.VocabSize*e.model.config.Embd < shareWork {
			team = e.model.single
		}
		team.Run(e.forwardBody)
		if e.stopped {
			return ctx.Err()
		}
		if found := e.nonFinite.Load(); found != nil {
			return &InputError{found.input, &found.NonFiniteError}
		}
	}
	return nil
}

// release forgets the callers' memory.
func (e *evaluation) release() {
	e.ctx = nil
	clear(e.spans[:cap(e.spans)])
	clear(e.heads[:cap(e.heads)])
	clear(e.ends[:cap(e.ends)])
}

// resize makes room for the rows of a pass. Nothing is kept from the pass before.
func (e *evaluation) resize() {
	c := &e.model.config
	for _, b := range []struct {
		buffer *[]float32
		width  int
	}{{&e.x, c.Embd}, {&e.norm, c.Embd}, {&e.sum, c.Embd}, {&e.qkv, 3 * c.Embd}, {&e.inner, c.Inner}} {
		grow(b.buffer, e.rows*b.width)
	}
}

// setHeads says where attention finds the queries, keys and values of the pass and puts its results: from qkv [rows, 3·n_embd] to norm
// [rows, n_embd].
func (e *evaluation) setHeads() {
	n, dim := e.model.config.Embd, e.model.headDim()
	e.heads = e.heads[:0]
	for i := range e.spans {
		s := &e.spans[i]
		qkv := e.qkv[s.row*3*n:]
		e.heads = append(e.heads, attention.Span{
			Rows: s.n, Heads: e.model.config.Head, KeyDim: dim, ValueDim: dim,
			Query: attention.Rows{Data: qkv, Row: 3 * n, Head: dim},
			Key:   attention.Rows{Data: qkv[n:], Row: 3 * n, Head: dim},
			Value: attention.Rows{Data: qkv[2*n:], Row: 3 * n, Head: dim},
			Out:   attention.Rows{Data: e.norm[s.row*n:], Row: n, Head: dim},
			Keys:  s.Session.keys, Values: s.Session.values,
			Tokens: s.position + s.n,
		})
	}
}

func grow(b *[]float32, n int) {
	if cap(*b) < n {
		*b = make([]float32, n)
	}
	*b = (*b)[:n]
}
