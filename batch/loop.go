package batch

// The Batcher's goroutine: its state, its loop, and its reactions to errors.

import (
	"errors"
	"slices"
	"time"

	"picogpt/decode"
	"picogpt/model"
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
