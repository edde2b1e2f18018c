package batch

// The Batcher's loop: what a step holds, and where its tokens go.

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"picogpt/decode"
	"picogpt/model"
)

// A schedule is what the goroutine of a Batcher works with. Nobody else touches it.
type schedule struct {
	requests []*request     // that have or had a place, and are not over
	running  []*task        // in the order in which they got their places
	places   map[string]int // of running, by client
	full     bool           // the cache had no room: no place is given before one has become free
	budget   budget
	work     work
	sharing  sharing

	// Of the current step.
	batch    []model.Input
	batched  []*task // [len(batch)]
	prompts  []*task
	portions []*portion
	done     float64 // the work of the batch
	cut      bool    // there is more of the prompts than the budget allows
}

// A task is a stream that has a place.
type task struct {
	*decode.Stream
	request *request
	parent  bool          // samples are forked from it at the end of the prompt
	portion portion       // of its prompt, in the current step
	paused  time.Time     // since when it waits for its caller; zero if it does not
	begun   bool          // false: it has yet to look for a session to begin with
	finding chan struct{} // closed when the mask that it waits for is found; nil: it waits for none
}

func newSchedule(b *Batcher) schedule {
	w := workOf(b.model.Config())
	return schedule{places: map[string]int{}, sharing: newSharing(b.options.PrefixBytes),
		budget: newBudget(b.options.MaxDelay, w), work: w}
}

// write runs steps until there is nothing left to write.
func (b *Batcher) write() {
	defer b.workers.Done()
	over := false
	defer func() {
		if !over {
			b.abandon(recover())
		}
	}()
	for b.admit() {
		b.begin()
		taken := b.chooseAtHand()
		if b.plan(); len(b.batch) > 0 {
			b.step()
		} else if !taken {
			b.wait()
		}
	}
	over = true // now there may be another goroutine
}

// reset empties the step, which must not keep alive what it was about.
func (b *Batcher) reset() {
	clear(b.batch)
	clear(b.batched)
	clear(b.prompts)
	clear(b.portions)
	b.batch, b.batched = b.batch[:0], b.batched[:0]
	b.prompts, b.portions = b.prompts[:0], b.portions[:0]
	b.done, b.cut = 0, false
}

// wait waits, while every text waits for its caller, until one comes or others may take a place.
func (b *Batcher) wait() {
	timer := time.NewTimer(b.patience())
	defer timer.Stop()
	select {
	case <-b.wake:
	case <-timer.C:
	}
}

// abandon ends all texts if the loop ends other than by itself: each caller gets its panic.
func (b *Batcher) abandon(panicked any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	end := func(r *request) bool {
		r.panicked = panicked
		b.end(r, errors.New("batcher: its goroutine was ended from within"))
		return true
	}
	for _, r := range slices.Clone(b.requests) {
		end(r)
	}
	b.queue.remove(end)
	b.sharing.clear()
	b.writing = false
}

// chooseAtHand takes tokens for which nothing needs to be evaluated, the first ones of samples, and
// reports whether there were any.
func (b *Batcher) chooseAtHand() (taken bool) {
	start := time.Now()
	b.batched = append(b.batched[:0], b.running...)
	for _, t := range b.batched {
		if !t.Ready() || !t.ready() || t.Busy() || !b.masked(t) {
			continue
		}
		b.take(t)
		taken = true
		if time.Since(start) > b.options.MaxDelay/8 {
			break
		}
	}
	return taken
}

// room reports whether the caller is near enough for another token.
func (r *request) room() bool { return len(r.tokens)+r.planned < cap(r.tokens) }

// ready reports whether a stream may run, and notes since when it may not. A session that the
// caller keeps does not slide while tokens wait: after a break there would be no way back to them.
func (t *task) ready() bool {
	r := t.request
	slides := r.kept && t.Evaluated().Session != t.Session()
	if r.room() && !(slides && r.asked.Load() <= r.sent) {
		t.paused = time.Time{}
		return true
	}
	if t.paused.IsZero() {
		t.paused = time.Now()
	}
	return false
}

// plan fills the batch: one token of each text, then what the budget allows of the prompts.
func (b *Batcher) plan() {
	b.reset()
	for _, t := range b.running {
		p := t.Pending()
		rows := p.Rows + p.Guide
		if rows == 0 || !t.begun || !t.ready() || !b.masked(t) {
			continue
		}
		t.request.planned++
		if p.Rows > 1 || p.Guide > 1 {
			t.portion = portion{at: p.Held, pending: rows, scored: p.Scored}
			b.prompts, b.portions = append(b.prompts, t), append(b.portions, &t.portion)
		} else {
			b.add(t, rows)
			b.done += b.work.rows(p.Held, rows, rows)
		}
	}
	if len(b.prompts) > 0 {
		more, cut := b.work.share(b.portions, b.budget.most()-b.done)
		b.done, b.cut = b.done+more, cut
	}
	for _, t := range b.prompts {
		if t.portion.rows > 0 {
			b.add(t, t.portion.rows)
		}
	}
}

// add adds the next rows of a text, and then those of the context that guides it.
func (b *Batcher) add(t *task, rows int) {
	if in, ok := t.Input(rows); ok {
		b.batch, b.batched = append(b.batch, in), append(b.batched, t)
		if rows -= len(in.Tokens); rows == 0 {
			return
		}
	}
	if in, ok := t.Guide(rows); ok {
		b.batch, b.batched = append(b.batch, in), append(b.batched, t)
	}
}

// step evaluates the batch and hands out its tokens.
func (b *Batcher) step() {
	start := time.Now()
	if err := b.model.Eval(b.ctx, b.batch...); err != nil {
		b.fail(err)
		return
	}
	b.counters.step(b.batch)
	b.budget.observe(time.Since(start), b.done, len(b.prompts) > 0, b.cut)
	for _, t := range slices.Compact(b.batched) { // with guidance a text has two inputs
		if t.parent && t.Ready() {
			t.request.parent = t
			if !b.scored(t) {
				b.leave(t)
			}
			continue
		}
		if !t.Busy() { // else the token is at hand, and is taken then
			b.take(t)
		}
	}
}

// fail ends the requests that an error of Eval is about. Nothing else has changed.
func (b *Batcher) fail(err error) {
	var input *model.InputError
	switch {
	case b.ctx.Err() != nil: // closed
	case errors.Is(err, model.ErrCacheFull) && b.makeRoom():
	case errors.Is(err, model.ErrCacheFull) && len(b.running) > 1:
		b.counters.preemptions.Add(1)
		b.pause(b.newest(), true)
		b.full = true
	case errors.As(err, &input):
		b.end(b.batched[input.Input].request, input.Err)
	default:
		for len(b.requests) > 0 {
			b.end(b.requests[0], err)
		}
	}
}

// newest returns the stream that came last of those that can give memory back, or else of all.
func (b *Batcher) newest() *task {
	for i := len(b.running) - 1; i >= 0; i-- {
		if !b.running[i].request.kept {
			return b.running[i]
		}
	}
	return b.running[len(b.running)-1]
}

// take sends a stream's next token to its caller, if it is there.
func (b *Batcher) take(t *task) {
	if b.scored(t) {
		return
	}
	tok, ok, err := t.next()
	switch {
	case err != nil:
		b.end(t.request, err)
	case ok:
		b.begun(t.request)
		b.counters.newTokens.Add(1)
		t.request.tokens <- tok
		t.request.sent++
		if t.Done() {
			b.release(t)
			b.leave(t)
		}
	}
}

// scored leaves the tokens of a scored prompt to the caller, when there are all. It reports whether no
// others are wanted, and the request has ended.
func (b *Batcher) scored(t *task) (over bool) {
	echo := t.TakePrompt()
	if echo == nil {
		return false
	}
	r := t.request
	if r.echo = echo; t.Done() {
		b.begun(r)
		b.end(r, nil)
	}
	return t.Done()
}

// begun notes the first token of a request.
func (b *Batcher) begun(r *request) {
	if p := r.progress; p.First.IsZero() {
		p.First = time.Now()
		b.counters.promptTokens.Add(int64(r.prompt))
	}
}

// next is the stream's Next.
func (t *task) next() (tok decode.Token, ok bool, err error) {
	defer t.request.recovered(&err)
	return t.Next()
}

// recovered, where it is deferred, makes a panic its caller's alone: what a request brings, as a
// vocabulary or a constraint, may panic.
func (r *request) recovered(err *error) {
	if p := recover(); p != nil {
		r.panicked, *err = p, fmt.Errorf("panic: %v", p)
	}
}
