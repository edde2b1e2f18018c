package batch

// A step: the rows that it evaluates, and the callers of its tokens.

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"picogpt/decode"
	"picogpt/sample"
)

// reset empties the step, so that it keeps nothing alive.
func (b *Batcher) reset() {
	clear(b.batch)
	clear(b.batched)
	clear(b.prompts)
	clear(b.portions)
	b.batch, b.batched = b.batch[:0], b.batched[:0]
	b.prompts, b.portions = b.prompts[:0], b.portions[:0]
	b.load, b.cut = 0, false
}

// takeReady takes tokens for which nothing needs to be evaluated, such as the first ones of
// samples. It reports whether there were any.
func (b *Batcher) takeReady() (taken bool) {
	start := time.Now()
	b.batched = append(b.batched[:0], b.running...)
	for _, t := range b.batched {
		any := false // with guesses that were right there are several
		for t.Ready() && t.wanted() && !t.Busy() && b.masked(t) {
			b.take(t)
			any = true
		}
		taken = taken || any
		if any && time.Since(start) > b.options.MaxDelay/8 {
			break
		}
	}
	return taken
}

// room reports whether there is room for another token that the caller has not taken.
func (r *request) room() bool { return len(r.tokens)+r.planned < cap(r.tokens) }

// wanted reports whether the caller wants another token now, and notes since when it does not. A
// caller's session does not slide while tokens wait for the caller: the caller may break before it
// takes them, and the session could not go back.
func (t *task) wanted() bool {
	r := t.request
	slides := r.lent && t.Evaluated().Session != t.Session()
	if r.room() && !(slides && r.asked.Load() <= r.sent) {
		if !t.stalled.IsZero() {
			t.idled += time.Since(t.stalled)
			t.stalled = time.Time{}
		}
		return true
	}
	if t.stalled.IsZero() {
		t.stalled = time.Now()
	}
	return false
}

// plan fills the batch: one token of each text, then what the budget allows of the prompts.
func (b *Batcher) plan() {
	b.reset()
	for _, t := range b.running {
		p := t.Pending()
		rows := p.Rows + p.Guide
		if rows == 0 || !t.matched || !t.wanted() || !b.masked(t) {
			continue
		}
		t.request.planned++
		if p.Rows > 1 || p.Guide > 1 {
			t.portion = portion{at: p.Held, pending: rows, scored: p.Scored}
			b.prompts, b.portions = append(b.prompts, t), append(b.portions, &t.portion)
		} else {
			if p.Rows == 1 && !b.plainly {
				rows += t.DraftForced(len(b.running))
			}
			b.add(t, rows)
			b.load += b.work.rows(p.Held, rows, rows)
		}
	}
	if len(b.prompts) > 0 {
		more, cut := b.work.share(b.portions, b.budget.most()-b.load)
		b.load, b.cut = b.load+more, cut
	}
	for _, t := range b.prompts {
		if t.portion.rows > 0 {
			b.add(t, t.portion.rows)
		}
	}
}

// add adds the next rows of a text, and then those of its second context, for guidance.
func (b *Batcher) add(t *task, rows int) {
	if in, ok := t.Input(rows); ok {
		b.batch, b.batched = append(b.batch, in), append(b.batched, t)
		if rows -= len(in.Tokens); rows <= 0 {
			return
		}
	}
	if in, ok := t.Guide(rows); ok {
		b.batch, b.batched = append(b.batch, in), append(b.batched, t)
	}
}

// step evaluates the batch, and takes the tokens that follow.
func (b *Batcher) step() {
	start := time.Now()
	if err := b.model.Eval(b.ctx, b.batch...); err != nil {
		if b.plainly = b.dropDrafts(); !b.plainly {
			b.fail(err)
		}
		return
	}
	b.plainly = false
	b.counters.step(b.batch)
	b.budget.observe(time.Since(start), b.load, len(b.prompts) > 0, b.cut)
	for _, t := range slices.Compact(b.batched) { // with guidance a text has two inputs
		t.steps++
		if t.parent && t.Ready() {
			t.request.parent = t
			if !b.scored(t) {
				b.finish(t)
			}
			continue
		}
		if !t.Busy() { // else takeReady takes the token later
			b.take(t)
		}
	}
}

// dropDrafts removes the drafts of a step that failed, perhaps because of them. It reports whether
// there were any.
func (b *Batcher) dropDrafts() (dropped bool) {
	for _, t := range b.batched {
		dropped = t.DropDraft() || dropped
	}
	return dropped
}

// take sends a stream's next token to its caller, if there is one.
func (b *Batcher) take(t *task) {
	if b.scored(t) {
		return
	}
	tok, ok, err := t.next()
	switch {
	case err != nil && t.request.fails(tok.Sample, err):
		t.request.tokens <- decode.Token{Sample: tok.Sample, Finish: deadEnd}
		b.retire(t)
		b.finish(t)
	case err != nil:
		b.end(t.request, err)
	case ok:
		b.noteFirst(t.request)
		b.counters.newTokens.Add(1)
		t.request.tokens <- tok
		t.request.sent++
		if t.Done() {
			b.retire(t)
			b.finish(t)
		}
	}
}

// scored leaves the tokens of a scored prompt to the caller, once all of them are scored, or the
// hidden states. It reports whether the request has ended, because it wants no others.
func (b *Batcher) scored(t *task) (ended bool) {
	if states := t.TakeStates(); states != nil {
		t.request.states = states
		b.noteFirst(t.request)
		b.end(t.request, nil)
		return true
	}
	echo := t.TakePrompt()
	if echo == nil {
		return false
	}
	r := t.request
	if r.echo = echo; t.Done() {
		b.noteFirst(r)
		b.end(r, nil)
	}
	return t.Done()
}

// noteFirst records the time of the first token of a request, when that comes.
func (b *Batcher) noteFirst(r *request) {
	if p := r.progress; p.First.IsZero() {
		p.First = time.Now()
		b.counters.promptTokens.Add(int64(r.prompt))
	}
}

// fails notes an error that is one sample's own. It returns false for another, and for a request of
// one sample.
func (r *request) fails(i int, err error) bool {
	var none *sample.NoIDError
	var form *decode.ConstraintError
	if r.samples == 1 || !errors.As(err, &none) && !errors.As(err, &form) {
		return false
	}
	r.failed[i] = err
	return true
}

// next is the stream's Next; a panic in it goes to the caller.
func (t *task) next() (tok decode.Token, ok bool, err error) {
	defer t.request.recovered(&err)
	return t.Next()
}

// recovered, deferred, turns a panic into an error of the request, for its caller: a vocabulary or
// a constraint of the caller may panic.
func (r *request) recovered(err *error) {
	if p := recover(); p != nil {
		r.panicked, *err = p, fmt.Errorf("panic: %v", p)
	}
}
