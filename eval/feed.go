package eval

// A feed: requests that may arrive at any time, and no answer waits longer than needed.

import (
	"context"
	"iter"
	"runtime"
	"time"
)

// patience is how long a batch that is not full waits for another request: longer than a source
// needs to hand over a request that is ready, and too short to be noticed.
const patience = 2 * time.Millisecond

// parting is how long the end of a loop waits for its source to return: enough on a busy machine,
// and too short to be noticed if the source waits for something else.
const parting = 200 * time.Millisecond

// A feed runs a source of requests in a goroutine of its own, one request ahead.
type feed[T any] struct {
	requests chan T        // closed when the source has returned
	stopped  chan struct{} // closed when no more are wanted
	timer    *time.Timer

	// set if the source neither returned nor was stopped, but panicked or called runtime.Goexit
	panicked any
	exited   bool
}

func newFeed[T any](source iter.Seq[T]) *feed[T] {
	f := &feed[T]{requests: make(chan T), stopped: make(chan struct{}), timer: time.NewTimer(0)}
	go f.run(source)
	return f
}

func (f *feed[T]) run(source iter.Seq[T]) {
	returned := false
	defer func() {
		if !returned {
			f.panicked = recover()
			f.exited = f.panicked == nil
		}
		close(f.requests)
	}()
	for r := range source {
		select {
		case f.requests <- r:
		case <-f.stopped:
			returned = true
			return
		}
	}
	returned = true
}

// stop ends the source at its next request. A source that does not wait for anything has returned
// when stop returns.
func (f *feed[T]) stop() {
	close(f.stopped)
	f.timer.Reset(parting)
	for {
		select {
		case _, ok := <-f.requests:
			if !ok {
				f.check()
				return
			}
		case <-f.timer.C:
			return
		}
	}
}

// check repeats a panic or Goexit of the source in the goroutine of the loop.
func (f *feed[T]) check() {
	switch {
	case f.panicked != nil:
		panic(f.panicked)
	case f.exited:
		runtime.Goexit()
	}
}

// state is the result of next.
type state int

const (
	found   state = iota
	nothing       // no request at the moment
	ended         // the source or the context has ended
)

// next returns the next request. If the source has none at the moment, next waits for one; with
// hurry it waits only for patience. If the source panics, so does next, as if the source ran in the
// loop.
func (f *feed[T]) next(ctx context.Context, hurry bool) (r T, s state) {
	var late <-chan time.Time
	if hurry {
		f.timer.Reset(patience)
		late = f.timer.C
	}
	select {
	case r, ok := <-f.requests:
		if ok {
			return r, found
		}
		f.check()
		return r, ended
	case <-late:
		return r, nothing
	case <-ctx.Done():
		return r, ended
	}
}
