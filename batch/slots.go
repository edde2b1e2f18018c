package batch

// Slots: which texts take part in the steps, who gets a slot next, and who has to give one up.

import (
	"cmp"
	"slices"
	"time"
)

// admit ends the requests that nobody waits for, and gives free slots to others. It reports whether
// there are any requests.
func (b *Batcher) admit() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := len(b.requests) - 1; i >= 0; i-- {
		b.endEarly(b.requests[i])
	}
	b.queue.remove(b.endEarly)
	b.dropLeaving()
	for _, r := range b.requests {
		r.planned = 0
	}
	for b.assign() {
	}
	b.trim()
	b.counters.slots(&b.schedule)
	if b.looping = len(b.requests) > 0; !b.looping {
		b.reset() // now, before there may be another goroutine
	}
	return b.looping
}

// endEarly ends a request before its texts end, if the Batcher is closed, the caller's context has
// ended or the caller is gone. It reports whether that is so.
func (b *Batcher) endEarly(r *request) bool {
	switch e := r.ended.Load(); {
	case b.closed:
		b.end(r, ErrClosed)
	case e != nil:
		r.panicked = e.panicked
		b.end(r, e.err)
	case r.left.Load():
		b.end(r, nil)
	default:
		return false
	}
	return true
}

// assign gives a free slot to the task whose turn it is, and reports whether there were both. First
// come requests that have had a slot and have none now, such as suspended ones; then the queue;
// then requests for several samples that have a slot: they share the rest equally. Within each, the
// client with the fewest slots comes first, and a request in the queue precedes all requests of
// clients that have more slots.
func (b *Batcher) assign() bool {
	var next *request
	for _, r := range b.requests {
		if r.waits() && r.room() && (next == nil || b.precedes(r, next)) {
			next = r
		}
	}
	waiting := b.queue.next(b.slots)
	first := waiting != nil && (next == nil || next.running > 0 ||
		b.slots[waiting.client] < b.slots[next.client])
	if first {
		next = waiting
	}
	if next == nil {
		return false
	}
	free := len(b.running) == 0 || len(b.running) < b.options.MaxStreams && !b.full
	if !free && (next.running > 0 || !b.reclaim(next)) {
		return false
	}
	if first {
		b.queue.pop(next)
		b.requests = append(b.requests, next)
		next.progress.Placed = time.Now()
	}
	t, err := next.pop()
	if err != nil {
		b.end(next, err)
		return true
	}
	if !t.begun {
		t.begun = true
		next.begun.Add(1)
	}
	b.running = append(b.running, t)
	if next.parent != nil && next.forked == next.samples {
		b.retire(next.parent)
		next.parent = nil
	}
	next.running++
	b.slots[next.client]++
	return true
}

// precedes reports whether a slot goes to request a rather than to b, both of which have had one.
func (s *schedule) precedes(a, b *request) bool {
	return cmp.Or(cmp.Compare(min(a.running, 1), min(b.running, 1)),
		cmp.Compare(s.slots[a.client], s.slots[b.client]),
		cmp.Compare(a.running, b.running)) < 0
}

// vacate counts a slot of a request as free.
func (s *schedule) vacate(r *request) {
	s.full = false
	if s.slots[r.client]--; s.slots[r.client] == 0 {
		delete(s.slots, r.client)
	}
}

// waits reports whether a request has tasks that wait for a slot, or samples yet to be forked.
func (r *request) waits() bool {
	return len(r.waiting) > 0 || r.parent != nil && r.forked < r.samples
}

// pop returns the next task that waits for a slot: the next sample where there are no others.
func (r *request) pop() (t *task, err error) {
	defer r.recovered(&err)
	if len(r.waiting) > 0 {
		t = r.waiting[0]
		r.waiting = r.waiting[1:]
		return t, nil
	}
	t = &task{Stream: r.parent.Sample(r.forked), request: r, taken: r.parent.taken,
		begun: r.forked == 0} // the first sample began as the prompt
	r.forked++
	return t, nil
}

// retire stops a task's stream. Its session, unless it is the caller's, is stored for others or
// released.
func (b *Batcher) retire(t *task) {
	lent := t.request.lent
	if !lent {
		b.prefixes.store(t)
		b.trim()
	}
	t.Stop()
	if !lent {
		t.Release()
	}
}

// end ends a request: with an error, or nil.
func (b *Batcher) end(r *request, err error) {
	b.running = slices.DeleteFunc(b.running, func(t *task) bool {
		if t.request == r {
			b.retire(t)
			b.vacate(r)
		}
		return t.request == r
	})
	for _, t := range r.waiting {
		b.retire(t)
	}
	if r.parent != nil {
		b.retire(r.parent)
		r.parent = nil
	}
	b.requests = slices.DeleteFunc(b.requests, func(other *request) bool { return other == r })
	b.full = false
	r.err = err
	close(r.tokens)
}

// patience returns how long a slot that others wait for may wait for its text's caller, all in all:
// a caller that takes a token now and then keeps it no longer than one that takes none.
func (b *Batcher) patience() time.Duration {
	return max(10*b.options.MaxDelay, time.Millisecond)
}

// leastTurn is for how many steps a text keeps its slot while clients that have fewer wait for one.
// Each time that most of what was evaluated for it is gone when it has a slot again, its next turn
// has twice as many: so it comes to its end, and not much is evaluated in vain.
const leastTurn = 8

// reclaim takes a slot for the next request: that of a text that has waited too long for its
// caller, or one of a client that has more slots than that of the next request will have: of a text
// that waits for a mask, or else of the client with most, that of the text which has had it for the
// longest time, if its turn is over. It reports whether it took one.
func (b *Batcher) reclaim(next *request) bool {
	var over *task
	for _, t := range b.running {
		slow := !t.stalled.IsZero() && t.idled+time.Since(t.stalled) > b.patience()
		slots := b.slots[t.request.client]
		richer := slots > b.slots[next.client]+1
		if slow || richer && t.finding != nil {
			b.suspend(t, false)
			return true
		}
		if richer && t.steps >= leastTurn<<t.turns &&
			(over == nil || slots > b.slots[over.request.client]) {
			over = t
		}
	}
	if over == nil {
		return false
	}
	over.had = over.Pending().Held
	b.suspend(over, false)
	return true
}

// suspend takes a task's slot, and makes it wait for another one. Others may have its memory, at
// once or when they need it: its tokens are then evaluated again.
func (b *Batcher) suspend(t *task, atOnce bool) {
	if t.begun && !t.stalled.IsZero() { // else those that nobody reads could fill a queue for good
		t.begun = false
		t.request.begun.Add(-1)
	}
	b.freeSlot(t)
	r := t.request
	b.park(t, atOnce)
	if r.running == 0 && r.parent != nil { // the last to need its pages
		b.park(r.parent, atOnce)
		r.parent = nil
	}
}

// park makes a task wait for a slot, without the memory of its session.
func (b *Batcher) park(t *task, atOnce bool) {
	r := t.request
	if !r.lent {
		if b.prefixes.removeLive(t); !atOnce {
			b.prefixes.store(t)
		}
		t.DropDraft()
		t.Release()
	}
	t.matched, t.stalled, t.idled, t.steps = false, time.Time{}, 0, 0
	r.waiting = append(r.waiting, t)
}

// freeSlot takes a task's slot.
func (b *Batcher) freeSlot(t *task) {
	b.vacate(t.request)
	b.running = slices.DeleteFunc(b.running, func(other *task) bool { return other == t })
	t.request.running--
}

// finish takes the slot of a task that is done, and ends its request if it was the last.
func (b *Batcher) finish(t *task) {
	b.freeSlot(t)
	r := t.request
	if r.running == 0 && !r.waits() {
		b.end(r, nil)
	}
}
