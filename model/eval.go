package model

// Eval: a batch of sessions, cut into passes of a bounded number of rows, all or nothing.

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"picogpt/internal/engine"
	"picogpt/model/stack"
)

// An Input is one session's part of a batch.
type Input struct {
	Session *Session
	Tokens  []int // to append; at least one

	// Visit, if not nil, is called once for each of Tokens from index VisitFrom on, with what the
	// model computed for it. The workers call it, several at a time and in any order. Visit must
	// not call Eval, Save or Close of the model, which return ErrInVisit, nor wait for another
	// goroutine that does, such as a batch.Batcher's: that goroutine waits for Visit to return.
	Visit     func(Row)
	VisitFrom int

	// Best, if not 0, says that Visit needs only the Best greatest logits of a row. A device that
	// has to copy rows to the host may then choose these logits itself and set only Row.Best. The
	// session's own logits are still complete; with NoLogits, no row needs to be copied.
	Best int

	// Enough, if not nil, says whether the Best that a device has chosen of a row decides what
	// Visit needs. If not, Visit gets the whole row. It is called as Visit is.
	Enough func(*Best) bool

	// NoLogits says that the session does not need the logits after the last token: its Logits are
	// then nil. The head is computed only for rows that Visit or the session needs.
	NoLogits bool

	// States, if not nil, makes Visit get hidden states and no logits. The session gets none
	// either, as with NoLogits, so that the head is not computed for it.
	States *States

	// Trace, if not nil, says what is read and edited inside of the forward pass. A device other
	// than the processor refuses it.
	Trace *Trace

	trace *engine.Trace // of Trace and of Options.Edits
}

// States says which hidden states Visit gets. Layer 0 is the embeddings, layer i the residual
// stream after block i−1, and n_layer the last one after ln_f, as in the hidden_states of Hugging
// Face's GPT-2.
//
// With a Layer below n_layer the blocks after it need not be computed, so that their keys are
// missing: the session does not take the tokens, and is as it was. A device other than the
// processor may refuse such a layer.
type States struct{ Layer int }

// A Row is what Eval computed for one token. Its slices may be read only during the call of Visit.
type Row struct {
	Index  int       // of the token in Tokens
	Logits []float32 // after the token, [vocab_size]; nil with Input.States
	Hidden []float32 // the final hidden state, after ln_f, or that of Input.States, [n_embd]
	Best   *Best     // nil; or set instead of Logits and Hidden, which are then nil: see Input.Best
}

// A Best holds the greatest logits of a row whose logits are all finite: the k greatest, and all
// others that equal the least of these. Top-k keeps the same ones.
type Best = stack.Best

// An InputError is an error that one input of a batch caused.
type InputError struct {
	Input int // its index in the batch
	Err   error
}

func (e *InputError) Error() string { return fmt.Sprintf("input %d: %v", e.Input, e.Err) }

func (e *InputError) Unwrap() error { return e.Err }

// Cause returns an error of Eval without the number of the input, which means nothing to those who
// have not made the batch.
func Cause(err error) error {
	if input, ok := errors.AsType[*InputError](err); ok {
		return input.Err
	}
	return err
}

// inputErrorf returns an InputError with a message.
func inputErrorf(input int, format string, args ...any) error {
	return &InputError{input, fmt.Errorf(format, args...)}
}

// A ContextError says that a session has no room for the tokens of an input.
type ContextError struct {
	Held, Added, Positions int // tokens in the session, tokens to append, the model's context
}

func (e *ContextError) Error() string {
	return fmt.Sprintf("context: %d tokens and %d more, want at most %d (n_positions)", e.Held,
		e.Added, e.Positions)
}

// A NonFiniteError says that the logits after a token, or its hidden state, hold a NaN or an
// infinity.
type NonFiniteError struct {
	Position int     // of the token in its session, from 0
	ID       int     // the first logit, or element of the hidden state, that is not finite
	States   *States // the input's
}

func (e *NonFiniteError) Error() string {
	if e.States != nil {
		return fmt.Sprintf("hidden state of layer %d at position %d: element %d is not finite",
			e.States.Layer, e.Position, e.ID)
	}
	return fmt.Sprintf("logits after position %d: id %d is not finite", e.Position, e.ID)
}

// Eval appends each input's tokens to its session and computes the logits after the last of them.
// Linear layers run over the rows of all inputs together, attention for each session by itself. The
// sessions may be of the model and of its variants: layers that differ run once for each of them.
//
// Eval changes all sessions or, on an error, none. An error that one input causes is an
// *InputError. It wraps a *ContextError, a *NonFiniteError, ErrCacheFull (for the first input that
// found no room), ErrNoLogits, or the error of a caller's mistake: a token id outside the
// vocabulary, a session of another model, a session that is in the batch twice, no tokens. Other
// errors are ErrClosed, ErrInVisit and the context's error. Eval checks the context before each
// layer. If Visit panics, Eval panics with the same value, and the model can still be used.
func (m *Model) Eval(ctx context.Context, batch ...Input) error {
	if err := m.check(batch); err != nil {
		return err
	}
	if err := m.begin(ctx); err != nil {
		return err
	}
	defer m.end()
	e := &m.eval
	e.batch = append(e.batch[:0], batch...) // a copy: the caller's batch can stay on its stack
	e.reserved, e.whole = 0, false
	defer e.end()
	for i := range e.batch {
		e.batch[i].NoLogits = e.batch[i].NoLogits || e.batch[i].States != nil
		m.bindTrace(&e.batch[i])
		if err := e.batch[i].Session.reserve(&e.batch[i], &e.spare); err != nil {
			return &InputError{i, err}
		}
		e.reserved++
	}
	e.arrange()
	for next := (part{}); next.input < len(e.batch); {
		next = e.plan(next)
		if err := m.backend.Run(ctx, &e.pass); err != nil {
			return e.explain(err)
		}
	}
	e.whole = true
	return nil
}

func (m *Model) check(batch []Input) error {
	for i := range batch {
		in := &batch[i]
		switch {
		case in.Session == nil || in.Session.model.resources != m.resources:
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
		case in.States == nil && (in.Visit != nil || !in.NoLogits) && in.Session.model.noHead != nil:
			return &InputError{i, in.Session.model.noHead}
		case in.States != nil && (in.States.Layer < 0 || in.States.Layer > m.config.Layer):
			return inputErrorf(i, "States: layer %d, want 0 to %d", in.States.Layer, m.config.Layer)
		}
		if err := m.checkTrace(in); err != nil {
			return &InputError{i, err}
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

// An evaluation is the state of the Eval that runs: its passes. Its memory is used again by the
// next Eval.
type evaluation struct {
	batch []Input
	order []int // of the inputs in the passes
	pass  engine.Pass
	parts []part // of each span of the pass
	spare buffers

	reserved int  // inputs whose sessions have reserved room
	whole    bool // all passes have run
}

// A part says which tokens of an input a span of a pass takes: those from index from on.
type part struct{ input, from int }

func (e *evaluation) init() {
	e.pass.Visit = e.visit // assigned once, because a method value is an allocation
}

// end commits a batch whose passes have all run; otherwise, as after a panic in a Visit, it rolls
// back the reservations. Then it drops its references to the callers' memory.
func (e *evaluation) end() {
	for i := range e.batch[:e.reserved] {
		if in := &e.batch[i]; e.whole && in.Session.model.keeps(in) {
			in.Session.commit(in, &e.spare)
		} else {
			in.Session.rollback(&e.spare)
		}
	}
	clear(e.batch[:cap(e.batch)])
	clear(e.pass.Spans[:cap(e.pass.Spans)])
}

// keeps reports whether the session of an evaluated input takes its tokens: all blocks have run.
func (m *Model) keeps(in *Input) bool {
	return in.States == nil || in.States.Layer == m.config.Layer
}

// arrange orders the inputs so that those of one variant follow each other.
func (e *evaluation) arrange() {
	e.order = e.order[:0]
	for i := range e.batch {
		at, m := i, e.batch[i].Session.model
		for at > 0 && e.batch[e.order[at-1]].Session.model != m {
			at--
		}
		if at == 0 { // the first of its variant
			at = i
		}
		e.order = slices.Insert(e.order, at, i)
	}
}

// plan makes the next pass: rows from the inputs in e.order, at most engine.PassRows. next and what
// it returns, where the pass after it begins, count in that order.
func (e *evaluation) plan(next part) part {
	e.pass.Spans, e.parts = e.pass.Spans[:0], e.parts[:0]
	for rows := 0; next.input < len(e.batch) && rows < engine.PassRows; {
		at := e.order[next.input]
		in := &e.batch[at]
		n := min(len(in.Tokens)-next.from, engine.PassRows-rows)
		end := next.from + n
		span := engine.Span{
			Cache: in.Session.cache.cache, Tokens: in.Tokens[next.from:end],
			Position: in.Session.model.virtual + in.Session.Len() + next.from, Visit: n, Best: in.Best,
			Enough: in.Enough,
		}
		if m := in.Session.model; m.base != nil {
			span.Params = m.params
		}
		if in.Visit != nil {
			span.Visit = min(n, max(0, in.VisitFrom-next.from))
		}
		if in.States != nil {
			span.Hidden, span.Layer = true, in.States.Layer
		}
		span.Trace = in.spanTrace(next.from)
		if end == len(in.Tokens) {
			span.Logits = in.Session.next // nil if the session does not want them
		}
		e.pass.Spans, e.parts = append(e.pass.Spans, span), append(e.parts, part{at, next.from})
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
	in := &e.batch[p.input]
	if in.States != nil { // a device may have computed them with the logits
		row.Logits = nil
	}
	in.Visit(Row{p.from + i, row.Logits, row.Hidden, row.Best})
}

// explain returns a backend's error with the input that it is about.
func (e *evaluation) explain(err error) error {
	var bad *engine.NonFiniteError
	if !errors.As(err, &bad) {
		return err
	}
	s := &e.pass.Spans[bad.Span]
	n := e.parts[bad.Span].input
	virtual := e.batch[n].Session.model.virtual
	found := &NonFiniteError{Position: s.Position - virtual + bad.Token, ID: bad.ID}
	if s.Hidden {
		found.States = e.batch[n].States
	}
	return &InputError{n, found}
}
