package batch

// The Batcher's goroutine: its state, its loop, and the rows that a step evaluates.

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"picogpt/decode"
	"picogpt/model"
	"picogpt/sample"
)

// A schedule is the state of a Batcher's goroutine. Nothing else uses it.
type schedule struct {
	requests []*request     // that have or had a slot, and have not ended
	running  []*task        // that have a slot, in the order in which they got it
	slots    map[string]int // by client: how many of running it has
	full     bool           // the cache had no room: no slot is given before one has become free
	budget   budget
	work     work
	rate     rate
	prefixes prefixCache

	// Of the current step.
	batch    []model.Input
	batched  []*task // [len(batch)]
	prompts  []*task
	portions []*portion // [len(prompts)]
	load     float64    // the work of the batch
	cut      bool       // prompts have more rows than the budget allows
	plainly  bool       // no drafts: the step before failed with some
}

// A task is a stream of a request, which has a slot or waits for one.
type task struct {
	*decode.Stream
	request *request
	parent  bool          // samples are forked from it at the end of the prompt
	begun   bool          // request.begun counts it
	taken   []part        // of its session, what was evaluated for other texts
	matched bool          // since it has its slot, it has looked for a prefix that is evaluated
	portion portion       // of its prompt, in the current step
	stalled time.Time     // since when its caller takes no tokens; zero if it does
	idled   time.Duration // how long its slot has waited for its caller before
	steps   int           // that had rows of it since it has its slot
	had     int           // tokens evaluated when it gave its slot to a client that had fewer
	turns   int           // how often most of them were gone when it had a slot again
	finding chan struct{} // closed when the mask that it waits for is found; nil: it waits for none
}

func newSchedule(b *Batcher) schedule {
	w := workOf(b.model.Config())
	return schedule{slots: map[string]int{}, prefixes: newPrefixCache(b.options.PrefixBytes),
		budget: newBudget(b.options.MaxDelay, w), work: w}
}

// loop makes steps until no request is left.
func (b *Batcher) loop() {
	defer b.workers.Done()
	ended := false
	defer func() {
		if !ended {
			b.abandon(recover())
		}
	}()
	b.rate.last = time.Time{} // the time until now was nobody's
	for b.admit() {
		full := b.full || len(b.running) >= b.options.MaxStreams
		b.matchAll()
		taken := b.takeReady()
		if b.plan(); len(b.batch) > 0 {
			b.step()
		} else if !taken {
			b.wait()
		}
		b.learnRate(full)
	}
	ended = true // now there may be another goroutine
}

// learnRate notes a round of the loop, which began with all slots taken or not.
func (b *Batcher) learnRate(full bool) {
	c := &b.counters
	b.rate.observe(time.Now(), c.promptTokens.Load()+c.newTokens.Load(), full)
	c.rate.set(b.rate.perSecond())
}

// wait waits until something has changed, or a text has waited so long for its caller that it may
// lose its slot.
func (b *Batcher) wait() {
	timer := time.NewTimer(b.patience())
	defer timer.Stop()
	select {
	case <-b.wake:
	case <-timer.C:
	}
}

// abandon ends all requests if the loop panics, or Goexit ends it: each caller gets the panic.
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
	b.prefixes.evictAll()
	b.dropLeaving()
	b.looping = false
}

// fail handles an error of Eval: it ends the requests that the error is about, or frees memory. The
// error has changed nothing else.
func (b *Batcher) fail(err error) {
	var input *model.InputError
	switch {
	case b.ctx.Err() != nil: // closed
	case errors.Is(err, model.ErrCacheFull) && b.makeRoom():
	case errors.Is(err, model.ErrCacheFull) && len(b.running) > 1:
		b.counters.preemptions.Add(1)
		b.suspend(b.newest(), true)
		b.full = true
	case errors.As(err, &input):
		b.end(b.batched[input.Input].request, input.Err)
	default:
		for len(b.requests) > 0 {
			b.end(b.requests[0], err)
		}
	}
}

// newest returns the task that got its slot last, of those that can give memory back, or else of
// all.
func (b *Batcher) newest() *task {
	for i := len(b.running) - 1; i >= 0; i-- {
		if !b.running[i].request.lent {
			return b.running[i]
		}
	}
	return b.running[len(b.running)-1]
}

// reset empties the step, so that it keeps nothing alive.
func (b *Batcher) reset() {
	clear(b.batch[:cap(b.batch)])
	clear(b.batched[:cap(b.batched)])
	clear(b.prompts[:cap(b.prompts)])
	clear(b.portions[:cap(b.portions)])
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

// IsDeadEnd reports whether an error is one text's own: the options leave no id that may come next.
func IsDeadEnd(err error) bool {
	var none *sample.NoIDError
	var form *decode.ConstraintError
	return errors.As(err, &none) || errors.As(err, &form)
}

// fails notes an error that is one sample's own. It returns false for another, and for a request of
// one sample.
func (r *request) fails(i int, err error) bool {
	if r.samples == 1 || !IsDeadEnd(err) {
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

// quickMask bounds the search for a constraint's mask between two steps of the batch, in the
// searcher's own steps: some 100 µs, of which most masks take a hundredth. A slow one is found in a
// goroutine of its own, so that other texts do not wait for it.
const quickMask = 1 << 13

// masked reports whether the mask for a text's next token is known, or will be found when the token
// is chosen. If not, it is being found, and the loop is woken when it is there.
func (b *Batcher) masked(t *task) bool {
	if t.finding != nil {
		select {
		case <-t.finding:
			t.finding = nil
			return true
		default:
			return false
		}
	}
	rest := t.FindMask(quickMask)
	if rest == nil {
		return true
	}
	t.finding = make(chan struct{})
	b.workers.Add(1)
	go b.findMask(rest, t.request, t.finding)
	return false
}

// findMask finds a mask, one at a time, unless the request has ended, as the loop will notice.
func (b *Batcher) findMask(find func(), r *request, found chan<- struct{}) {
	defer b.workers.Done()
	defer b.kick()
	b.finding <- struct{}{}
	defer func() { <-b.finding }()
	if b.ctx.Err() == nil && !r.left.Load() && r.ended.Load() == nil {
		find()
		close(found)
	}
}
