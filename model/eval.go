package model

// Eval: a batch of sessions, cut into passes of a bounded number of rows, all or nothing.

import (
	"context"
	"errors"
	"fmt"

	"picogpt/internal/engine"
)

// An Input is one session's part of a batch.
type Input struct {
	Session *Session
	Tokens  []int // to append; at least one

	// Visit, if not nil, is called once for each of Tokens from VisitFrom on, with what the model
	// computed for it. The calls come from the workers, several at a time and in any order.
	// Visit must not wait for another Eval, Save or Close of the model: called in it they are
	// ErrInVisit, and in other goroutines, such as a decode.Batcher's, they wait for Visit to end.
	Visit     func(Row)
	VisitFrom int

	// Best, if not 0, says that Visit needs no more of a row than its Best greatest logits. A
	// device that has to move rows may then choose these, and hand out Row.Best alone. The session
	// gets its logits whole: with NoLogits, none needs to be moved.
	Best int

	// NoLogits says that the session does not need the logits after the last token: its Logits are
	// then nil. The head is only computed for rows that Visit or the session want.
	NoLogits bool
}

// A Row is what Eval hands out for one token. Its slices may be read during the call of Visit only.
type Row struct {
	Index  int       // of the token in Tokens
	Logits []float32 // after the token, [vocab_size]
	Hidden []float32 // the final hidden state, after ln_f, [n_embd]
	Best   *Best     // nil, or in place of both, which are nil then: see Input.Best
}

// A Best is the greatest logits of a row, all of whose logits are finite: the k greatest, and those
// that equal the least of these. That is what top-k keeps.
type Best = engine.Best

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
	return fmt.Sprintf("context: %d tokens and %d more, want at most %d (n_positions)", e.Held,
		e.Added, e.Positions)
}

// A NonFiniteError says that the logits after a token hold a NaN or an infinity.
type NonFiniteError struct {
	Position int // of the token in its session, from 0
	ID       int // the first logit that is not finite
}

func (e *NonFiniteError) Error() string {
	return fmt.Sprintf("logits after position %d: id %d is not finite", e.Position, e.ID)
}

// Eval appends each input's tokens to its session and computes the logits after the last of them.
// Linear layers run over the rows of all inputs together, attention for each session by itself.
//
// It is all or nothing: on an error every session is as it was. An error that one input causes is
// an *InputError; it wraps a *ContextError, a *NonFiniteError, or a caller's mistake: a token id
// outside the vocabulary, a session of another model, a session twice, no tokens, or an
// ErrCacheFull where the input was the first that found no room. Others are ErrClosed, ErrInVisit
// and the context's error. The context is looked at before each layer. A panic in a Visit comes out
// of Eval, and the model stays of use.
func (m *Model) Eval(ctx context.Context, batch ...Input) error {
	if err := m.check(batch); err != nil {
		return err
	}
	if err := m.begin(ctx); err != nil {
		return err
	}
	defer m.end()
	return m.eval.run(ctx, batch)
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
			return &InputError{i, &ContextError{len(in.Session.tokens), len(in.Tokens),
				m.config.Positions}}
		case in.VisitFrom < 0:
			return inputErrorf(i, "VisitFrom %d, want 0 or more", in.VisitFrom)
		case in.Best < 0:
			return inputErrorf(i, "Best %d, want 0 (all logits) or more", in.Best)
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

// passRows bounds the rows of one pass, and with them the scratch memory, whatever the prompt's
// length.
const passRows = 512

// An evaluation is one Eval at a time: the plan of its passes. The memory is kept from call to
// call.
type evaluation struct {
	model *Model
	batch []Input
	pass  engine.Pass
	parts []part // of each span of the pass
	spare buffers

	reserved int  // inputs whose sessions have room
	whole    bool // all passes have run
}

// A part is what a span of a pass takes of an input: the tokens from from on.
type part struct{ input, from int }

func (e *evaluation) init(m *Model) {
	e.model = m
	e.pass.Visit = e.visit // made once: a method value is an allocation
}

// run reserves room for a batch, evaluates it pass by pass, and commits it. Whatever ends it early,
// a panic in a Visit too, leaves the sessions as they were.
func (e *evaluation) run(ctx context.Context, batch []Input) error {
	e.batch = append(e.batch[:0], batch...) // the caller's own stays on its stack
	e.reserved, e.whole = 0, false
	defer e.end()
	for i := range e.batch {
		if err := e.batch[i].Session.reserve(&e.batch[i], &e.spare); err != nil {
			return &InputError{i, err}
		}
		e.reserved++
	}
	for next := (part{}); next.input < len(e.batch); {
		next = e.plan(next)
		if err := e.model.backend.Run(ctx, &e.pass); err != nil {
			return e.explain(err)
		}
	}
	e.whole = true
	return nil
}

// end commits a batch that was evaluated whole, and else undoes what was reserved. Then it lets go
// of the callers' memory.
func (e *evaluation) end() {
	for i := range e.batch[:e.reserved] {
		if in := &e.batch[i]; e.whole {
			in.Session.commit(in, &e.spare)
		} else {
			in.Session.rollback(&e.spare)
		}
	}
	clear(e.batch[:cap(e.batch)])
	clear(e.pass.Spans[:cap(e.pass.Spans)])
}

// plan makes the next pass: rows from the inputs in their order, at most passRows. It returns where
// the pass after it begins.
func (e *evaluation) plan(next part) part {
	e.pass.Spans, e.parts = e.pass.Spans[:0], e.parts[:0]
	for rows := 0; next.input < len(e.batch) && rows < passRows; {
		in := &e.batch[next.input]
		n := min(len(in.Tokens)-next.from, passRows-rows)
		end := next.from + n
		span := engine.Span{
			Cache: in.Session.cache.cache, Tokens: in.Tokens[next.from:end],
			Position: in.Session.Len() + next.from, Visit: n, Best: in.Best,
		}
		if in.Visit != nil {
			span.Visit = min(n, max(0, in.VisitFrom-next.from))
		}
		if end == len(in.Tokens) {
			span.Logits = in.Session.next // nil where the session does not want them
		}
		e.pass.Spans, e.parts = append(e.pass.Spans, span), append(e.parts, next)
		rows += n
		if next.from = end; end == len(in.Tokens) {
			next = part{input: next.input + 1}
		}
	}
	return next
}

// visit hands a row of the pass to its input's Visit.
func (e *evaluation) visit(span, i int, row engine.Row) {
	p := e.parts[span]
	e.batch[p.input].Visit(Row{p.from + i, row.Logits, row.Hidden, row.Best})
}

// explain says of a backend's error which input it is about.
func (e *evaluation) explain(err error) error {
	var bad *engine.NonFiniteError
	if !errors.As(err, &bad) {
		return err
	}
	s := &e.pass.Spans[bad.Span]
	return &InputError{e.parts[bad.Span].input, &NonFiniteError{s.Position + bad.Token, bad.ID}}
}
