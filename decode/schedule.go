package decode

// The Batcher's loop: who has a place, what a step holds, and where its tokens go.

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"picogpt/model"
)

// A schedule is what the goroutine of a Batcher works with. Nobody else touches it.
type schedule struct {
	requests []*request // that have or had a place, and are not over
	running  []*task    // in the order in which they got their places
	full     bool       // the cache had no room: no place is given before one has become free
	budget   budget
	work     work
	scratch  *scratches

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
	*Stream
	request *request
	portion portion   // of its prompt, in the current step
	paused  time.Time // since when it waits for its caller; zero if it does not
}

func newSchedule(b *Batcher) schedule {
	w := workOf(b.model.Config())
	return schedule{
		budget: newBudget(b.options.MaxDelay, w), work: w,
		scratch: &scratches{},
	}
}

// write runs steps until there is nothing left to write.
func (b *Batcher) write() {
	defer b.workers.Done()
	defer b.recoverAll()
	for b.admit() {
		taken := b.chooseAtHand()
		if b.plan(); len(b.batch) > 0 {
			b.step()
		} else if !taken {
			b.wait()
		}
	}
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

// recoverAll ends all texts if the loop ends other than by itself: each caller gets its panic.
func (b *Batcher) recoverAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.writing {
		return
	}
	p := recover()
	for _, r := range slices.Concat(b.requests, b.queue) {
		r.panicked = p
		b.end(r, errors.New("batcher: its goroutine was ended from within"))
	}
	b.queue, b.writing = nil, false
}

// admit ends the requests that are over and gives places to others. It reports whether there is
// anything to write.
func (b *Batcher) admit() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := len(b.requests) - 1; i >= 0; i-- {
		if err, over := b.over(b.requests[i]); over {
			b.end(b.requests[i], err)
		}
	}
	b.queue = slices.DeleteFunc(b.queue, func(r *request) bool {
		err, over := b.over(r)
		if over {
			b.end(r, err)
		}
		return over
	})
	for _, r := range b.requests {
		r.planned = 0
	}
	for b.fill() {
	}
	b.writing = len(b.requests) > 0
	return b.writing
}

// over reports whether a request ends before its texts do, and with which error.
func (b *Batcher) over(r *request) (error, bool) {
	switch err := r.ctx.Err(); {
	case b.closed:
		return ErrBatcherClosed, true
	case err != nil:
		return err, true
	}
	return nil, r.left.Load()
}

// fill gives a place to the stream whose turn it is, if there are both. A request that has been
// given a place keeps it until all its samples are written; then come those in the queue; and what
// is free after that goes to requests for several samples, equally.
func (b *Batcher) fill() bool {
	var next *request
	for _, r := range b.requests {
		if r.waits() && r.room() && (next == nil || r.running < next.running) {
			next = r
		}
	}
	first := len(b.queue) > 0 && (next == nil || next.running > 0)
	if first {
		next = b.queue[0]
	}
	if next == nil {
		return false
	}
	free := len(b.running) == 0 || len(b.running) < b.options.MaxStreams && !b.full
	if !free && (next.running > 0 || !b.clear()) {
		return false
	}
	if first {
		b.queue = slices.Delete(b.queue, 0, 1)
		b.requests = append(b.requests, next)
	}
	b.running = append(b.running, &task{Stream: next.pop(b.scratch), request: next})
	next.running++
	return true
}

// waits reports whether a request has streams that can run and have no place.
func (r *request) waits() bool {
	return len(r.paused) > 0 || r.parent != nil && r.begun < r.samples
}

// pop returns the next of the streams that wait.
func (r *request) pop(shared *scratches) *Stream {
	if len(r.paused) > 0 {
		st := r.paused[0]
		r.paused = r.paused[1:]
		st.shared = shared
		return st
	}
	st := r.parent.sampleOf(r.begun)
	if r.begun++; r.begun == r.samples {
		r.release(r.parent)
	}
	return st
}

// release ends a stream and gives its memory back, unless its session is the caller's.
func (r *request) release(st *Stream) {
	st.Stop()
	if !r.kept {
		st.forget()
	}
}

// end ends a request.
func (b *Batcher) end(r *request, err error) {
	b.running = slices.DeleteFunc(b.running, func(t *task) bool {
		if t.request == r {
			r.release(t.Stream)
		}
		return t.request == r
	})
	for _, st := range r.paused {
		r.release(st)
	}
	if r.parent != nil {
		r.release(r.parent)
	}
	b.requests = slices.DeleteFunc(b.requests, func(other *request) bool { return other == r })
	b.full = false
	r.err = err
	close(r.tokens)
}

// patience is how long a text that waits for its caller keeps a place that others wait for.
func (b *Batcher) patience() time.Duration {
	return max(10*b.options.MaxDelay, time.Millisecond)
}

// clear takes the place of a text that has waited for its caller for too long. It reports whether
// there was one.
func (b *Batcher) clear() bool {
	for _, t := range b.running {
		if !t.paused.IsZero() && time.Since(t.paused) > b.patience() {
			b.pause(t)
			return true
		}
	}
	return false
}

// pause takes the place of a stream that will go on when it has one again. Others may have its
// memory: what it held is then evaluated again.
func (b *Batcher) pause(t *task) {
	b.unplace(t)
	r := t.request
	if !r.kept {
		t.forget()
	}
	r.paused = append(r.paused, t.Stream)
	if r.running == 0 && r.parent != nil && r.begun < r.samples { // the last to need its pages
		r.parent.forget()
		r.paused, r.parent = append(r.paused, r.parent), nil
	}
}

// unplace takes a stream's place.
func (b *Batcher) unplace(t *task) {
	b.full = false
	b.running = slices.DeleteFunc(b.running, func(other *task) bool { return other == t })
	t.request.running--
}

// leave takes a stream's place when it is done, and ends its request if it was the last.
func (b *Batcher) leave(t *task) {
	b.unplace(t)
	r := t.request
	if r.running == 0 && !r.waits() {
		b.end(r, nil)
	}
}

// chooseAtHand takes tokens for which nothing needs to be evaluated, the first ones of samples, and
// reports whether there were any.
func (b *Batcher) chooseAtHand() (taken bool) {
	start := time.Now()
	b.batched = append(b.batched[:0], b.running...)
	for _, t := range b.batched {
		if t.Done() || t.pending() > 0 || !t.ready() {
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
	if r.room() && !(r.kept && t.anew != nil && r.asked.Load() <= r.sent) {
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
	b.batch, b.batched = b.batch[:0], b.batched[:0]
	b.prompts, b.portions = b.prompts[:0], b.portions[:0]
	b.done, b.cut = 0, false
	for _, t := range b.running {
		n := t.pending()
		if n == 0 || !t.ready() {
			continue
		}
		t.request.planned++
		if at := t.grows().Len(); n > 1 {
			t.portion = portion{at: at, pending: n}
			b.prompts, b.portions = append(b.prompts, t), append(b.portions, &t.portion)
		} else {
			b.add(t, 1)
			b.done += b.work.rows(at, 1, true)
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

func (b *Batcher) add(t *task, rows int) {
	in, _ := t.Input(rows)
	b.batch, b.batched = append(b.batch, in), append(b.batched, t)
}

// step evaluates the batch and hands out its tokens.
func (b *Batcher) step() {
	start := time.Now()
	if err := b.model.Eval(b.ctx, b.batch...); err != nil {
		b.fail(err)
		return
	}
	b.budget.observe(time.Since(start), b.done, len(b.prompts) > 0, b.cut)
	for _, t := range b.batched {
		if t.forks && !t.Done() && t.pending() == 0 {
			t.settle()
			t.request.parent = t.Stream
			b.leave(t)
			continue
		}
		b.take(t)
	}
}

// fail ends the requests that an error of Eval is about. Nothing else has changed.
func (b *Batcher) fail(err error) {
	var input *model.InputError
	switch {
	case b.ctx.Err() != nil: // closed
	case errors.Is(err, model.ErrCacheFull) && len(b.running) > 1:
		b.pause(b.newest())
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
	tok, ok, err := b.next(t)
	switch {
	case err != nil:
		b.end(t.request, err)
	case ok:
		t.request.tokens <- tok
		t.request.sent++
		if t.Done() {
			t.request.release(t.Stream)
			b.leave(t)
		}
	}
}

// next is the stream's Next. A panic, of the vocabulary for one, is its caller's alone.
func (b *Batcher) next(t *task) (tok Token, ok bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			t.request.panicked, err = p, fmt.Errorf("panic: %v", p)
		}
	}()
	return t.Next()
}
