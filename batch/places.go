package batch

// Which texts of a Batcher are written now: places, who gets one, and who has to leave it.

import (
	"cmp"
	"slices"
	"time"
)

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
	b.queue.remove(func(r *request) bool {
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
	b.trim()
	b.counters.state(&b.schedule)
	if b.writing = len(b.requests) > 0; !b.writing {
		b.reset() // now, before there may be another goroutine
	}
	return b.writing
}

// over reports whether a request ends before its texts do, and with which error.
func (b *Batcher) over(r *request) (error, bool) {
	switch e := r.ended.Load(); {
	case b.closed:
		return ErrClosed, true
	case e != nil:
		r.panicked = e.panicked
		return e.err, true
	}
	return nil, r.left.Load()
}

// fill gives a place to the stream whose turn it is, if there are both. A request that has been
// given a place keeps it until all its samples are written, unless a client with fewer places has one
// in the queue; then come those in the queue; and what is free after that goes to requests for
// several samples, equally: first to the client with the fewest places.
func (b *Batcher) fill() bool {
	var next *request
	for _, r := range b.requests {
		if r.waits() && r.room() && (next == nil || b.before(r, next)) {
			next = r
		}
	}
	waiting := b.queue.next(b.places)
	first := waiting != nil && (next == nil || next.running > 0 ||
		b.places[waiting.client] < b.places[next.client])
	if first {
		next = waiting
	}
	if next == nil {
		return false
	}
	free := len(b.running) == 0 || len(b.running) < b.options.MaxStreams && !b.full
	if !free && (next.running > 0 || !b.clear(next)) {
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
	b.running = append(b.running, t)
	if next.parent != nil && next.begun == next.samples {
		b.release(next.parent)
		next.parent = nil
	}
	next.running++
	b.places[next.client]++
	return true
}

// before reports whether a place goes to a rather than to b.
func (s *schedule) before(a, b *request) bool {
	return cmp.Or(cmp.Compare(min(a.running, 1), min(b.running, 1)),
		cmp.Compare(s.places[a.client], s.places[b.client]),
		cmp.Compare(a.running, b.running)) < 0
}

// vacate counts a place as free.
func (s *schedule) vacate(r *request) {
	s.full = false
	if s.places[r.client]--; s.places[r.client] == 0 {
		delete(s.places, r.client)
	}
}

// waits reports whether a request has streams that can run and have no place.
func (r *request) waits() bool {
	return len(r.paused) > 0 || r.parent != nil && r.begun < r.samples
}

// pop returns the next of the streams that wait.
func (r *request) pop() (t *task, err error) {
	defer r.recovered(&err)
	if len(r.paused) > 0 {
		t = r.paused[0]
		r.paused = r.paused[1:]
		return t, nil
	}
	t = &task{Stream: r.parent.Sample(r.begun), request: r}
	r.begun++
	return t, nil
}

// release ends a stream whose session, unless it is the caller's, is of use for others or gives its
// memory back.
func (b *Batcher) release(t *task) {
	kept := t.request.kept
	if !kept {
		b.sharing.keep(t)
		b.trim()
	}
	t.Stop()
	if !kept {
		t.Release()
	}
}

// end ends a request.
func (b *Batcher) end(r *request, err error) {
	b.running = slices.DeleteFunc(b.running, func(t *task) bool {
		if t.request == r {
			b.release(t)
			b.vacate(r)
		}
		return t.request == r
	})
	for _, t := range r.paused {
		b.release(t)
	}
	if r.parent != nil {
		b.release(r.parent)
		r.parent = nil
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

// clear takes the place of a text that has waited for its caller for too long, or that waits for its
// mask, and whose client has more places than that of a request will have. It reports whether there
// was one.
func (b *Batcher) clear(next *request) bool {
	for _, t := range b.running {
		slow := !t.paused.IsZero() && time.Since(t.paused) > b.patience()
		if slow || t.finding != nil && b.places[t.request.client] > b.places[next.client]+1 {
			b.pause(t, false)
			return true
		}
	}
	return false
}

// pause takes the place of a stream that will go on when it has one again. Others may have its
// memory, at once or when they need it: what it held is then evaluated again.
func (b *Batcher) pause(t *task, atOnce bool) {
	b.unplace(t)
	r := t.request
	b.retreat(t, atOnce)
	if r.running == 0 && r.parent != nil { // the last to need its pages
		b.retreat(r.parent, atOnce)
		r.parent = nil
	}
}

// retreat has a stream wait for a place without a session.
func (b *Batcher) retreat(t *task, atOnce bool) {
	r := t.request
	if !r.kept {
		if b.sharing.forget(t); !atOnce {
			b.sharing.keep(t)
		}
		t.Release()
	}
	t.begun, t.paused = false, time.Time{}
	r.paused = append(r.paused, t)
}

// unplace takes a stream's place.
func (b *Batcher) unplace(t *task) {
	b.vacate(t.request)
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
