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

	// Visit, if not nil, is called once for each of Tokens with the logits after it, [vocab_size]: i counts from 0 in Tokens. The
	// calls come from the workers, several at a time and in any order; logits may be read during the call only.
	Visit func(i int, logits []float32)
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
// It is all or nothing: on an error every session is as it was. Errors are a *ContextError, a *NonFiniteError (which wraps neither), the
// context's error, and a caller's mistakes: a token id outside the vocabulary, a session of another model, a session twice, no tokens.
// A context is looked at before each layer.
func (m *Model) Eval(ctx context.Context, batch ...Input) error {
	if err := m.check(batch); err != nil {
		return err
	}
	select {
	case _, open := <-m.turn:
		if !open {
			return ErrClosed
		}
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { m.turn <- struct{}{} }()
	if err := m.eval.run(ctx, batch); err != nil {
		return err
	}
	for i := range batch {
		batch[i].Session.commit(batch[i].Tokens)
	}
	return nil
}

func (m *Model) check(batch []Input) error {
	for i := range batch {
		in := &batch[i]
		switch {
		case in.Session == nil || in.Session.model != m:
			return fmt.Errorf("input %d: the session is not of this model", i)
		case len(in.Tokens) == 0:
			return fmt.Errorf("input %d: no tokens, want at least one", i)
		case len(in.Tokens) > m.config.Positions-len(in.Session.tokens):
			return &ContextError{len(in.Session.tokens), len(in.Tokens), m.config.Positions}
		}
		for j, id := range in.Tokens {
			if id < 0 || id >= m.config.VocabSize {
				return fmt.Errorf("token %d: id %d, want 0 to %d", j, id, m.config.VocabSize-1)
			}
		}
		for j := range i {
			if batch[j].Session == in.Session {
				return fmt.Errorf("input %d: the session is input %d too", i, j)
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
			e.spans = append(e.spans, span{*in, from, n, e.rows, in.Session.Len() + from})
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
		if err := e.nonFinite.Load(); err != nil {
			return err
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
