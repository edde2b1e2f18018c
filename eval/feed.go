package eval

// A feed: requests that come when they come, while nobody waits longer than needed.

import (
	"context"
	"iter"
	"runtime"
	"time"
)

// patience is how long a batch that is not full waits for one more request: longer than a source
// needs to hand over what it has, and too short to be noticed.
const patience = 2 * time.Millisecond

// parting is how long the end of a loop waits for its source to return: enough on a busy machine,
// and too short to be noticed where the source waits for something else.
const parting = 200 * time.Millisecond

// A feed runs a source of requests in a goroutine of its own, one request ahead.
type feed[T any] struct {
	requests chan T        // closed when the source has returned
	stopped  chan struct{} // closed when no more are wanted
	timer    *time.Timer

	// How the source ended, if it neither returned nor was stopped.
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

// stop ends the source at its next request. One that is not waiting for something has returned
// then.
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

// check passes on what ended the source, as if it had run in the loop.
func (f *feed[T]) check() {
	switch {
	case f.panicked != nil:
		panic(f.panicked)
	case f.exited:
		runtime.Goexit()
	}
}

// state is what next found.
type state int

const (
	found   state = iota
	nothing       // for now
	ended         // the source has, or the context
)

// next returns the next request. If the source has none at the moment, it waits for one, with hurry
// only a little. A panic of the source is one here, as where it runs in the loop.
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
