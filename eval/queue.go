package eval

// Queues: sequences of many texts in few Evals, and answers in the order of the requests, which may
// arrive at any time. No answer waits longer than needed.

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"slices"
	"time"

	"picogpt/model"
)

// A packer collects sequences until they fill an Eval.
type packer struct {
	runner
	most  int // sequences in an Eval
	limit int // of their rows together, which bounds the memory of their caches; 0 means none

	batch []*sequence
	rows  int
	done  func([]*sequence) error // called with each Eval's sequences
}

// add adds a sequence. It is evaluated now or, at the latest, by the next flush.
func (p *packer) add(ctx context.Context, s *sequence) error {
	n := len(s.inputs())
	if p.limit > 0 && len(p.batch) > 0 && p.rows+n > p.limit {
		if err := p.flush(ctx); err != nil {
			return err
		}
	}
	p.batch = append(p.batch, s)
	p.rows += n
	if len(p.batch) >= p.most || p.limit > 0 && p.rows >= p.limit {
		return p.flush(ctx)
	}
	return nil
}

// flush evaluates the sequences that were added.
func (p *packer) flush(ctx context.Context) error {
	if len(p.batch) == 0 {
		return nil
	}
	if err := p.run(ctx, p.batch); err != nil {
		return err
	}
	batch := p.batch
	p.batch, p.rows = nil, 0
	return p.done(batch)
}

// A task is a request that is being answered.
type task[A any] interface {
	sequences() iter.Seq[*sequence] // to evaluate; each is made when the one before it is packed
	take(*sequence)                 // called with each sequence that was evaluated, in order
	answer() (A, error)             // called after the last sequence
}

// A queued task has no answer yet.
type queued[A any] struct {
	task[A]
	left int // sequences that are not evaluated yet, plus one if there may be more
}

// A queue returns answers in the order of the requests.
type queue[A any] struct {
	packer
	yield  func(A, error) bool
	tasks  []*queued[A]
	owners []*queued[A] // of the batch's sequences
}

// errEnough says that the loop over the answers has ended.
var errEnough = errors.New("no more answers are wanted")

// respond yields the answers to the requests of a source; begin turns each into a task. It fills an
// Eval with the requests that are ready, and does not wait for more if it has at least one. An
// error that is not a task's own ends it.
func respond[R, A any](
	ctx context.Context, p packer, source iter.Seq[R], begin func(r R, index int) task[A],
	yield func(A, error) bool,
) {
	if ctx == nil {
		var none A
		yield(none, model.ErrNoContext)
		return
	}
	q := queue[A]{packer: p, yield: yield}
	q.done = q.evaluated
	f := newFeed(source)
	defer f.stop()
	var err error
	for index, more := 0, true; more && err == nil; {
		r, state := f.next(ctx, len(q.batch) > 0)
		switch state {
		case found:
			err = q.begin(ctx, begin(r, index))
			index++
		case nothing:
			err = q.flush(ctx)
		case ended:
			more = false
			if err = ctx.Err(); err == nil {
				err = q.flush(ctx)
			}
		}
	}
	if err != nil && err != errEnough {
		var none A
		yield(none, err)
	}
}

// begin packs a task's sequences.
func (q *queue[A]) begin(ctx context.Context, t task[A]) error {
	w := &queued[A]{t, 1}
	q.tasks = append(q.tasks, w)
	for s := range t.sequences() {
		w.left++
		q.owners = append(q.owners, w)
		if err := q.add(ctx, s); err != nil {
			return err
		}
	}
	w.left--
	return q.answer()
}

// evaluated hands sequences to their tasks.
func (q *queue[A]) evaluated(batch []*sequence) error {
	for i, s := range batch {
		q.owners[i].take(s)
		q.owners[i].left--
	}
	q.owners = slices.Delete(q.owners, 0, len(batch)) // also clears the pointers
	return q.answer()
}

// answer yields the answers of the tasks that are done and whose predecessors are all done.
func (q *queue[A]) answer() error {
	for len(q.tasks) > 0 && q.tasks[0].left == 0 {
		t := q.tasks[0]
		q.tasks = slices.Delete(q.tasks, 0, 1)
		if !q.yield(t.answer()) {
			return errEnough
		}
	}
	return nil
}

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
