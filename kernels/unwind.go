package kernels

// What happens when the function that a team runs panics, or ends its goroutine, on one of the
// workers: the phase of the barrier is marked as aborted, so that no worker passes it, and each of
// the other workers unwinds from the barrier at which it waits, or from the next one that it
// reaches. When all have unwound, the barrier is reset, and the caller of Run gets the reason.

import (
	"runtime"
	"runtime/debug"
)

// aborted is the bit of a phase that says that a worker has failed.
const aborted = 1

// A failure is the reason why a Run has failed on a worker other than the caller.
type failure struct {
	exit  bool // runtime.Goexit, else a panic
	value any  // of the panic
	stack stack
}

// A stack is the stack of a worker when it failed. It is an error so that it is printed unchanged.
type stack []byte

func (s stack) Error() string { return "in another worker of the team:\n\n" + string(s) }

// unwinding is the panic value of a worker that unwinds because another has failed.
type unwinding struct{}

func (unwinding) Error() string { return "kernels: another worker of the team has failed" }

func (w *Worker) unwind() {
	w.unwinds = true
	panic(unwinding{})
}

// serve is the goroutine of a worker other than the first: it runs the bodies that it receives
// until bodies is closed. If a body ends the goroutine, a new goroutine replaces it.
func (w *Worker) serve(bodies <-chan func(*Worker)) {
	w.goroutine.Store(w.team.goroutine())
	closed := false
	defer func() {
		w.goroutine.Store(0)
		if !closed {
			go w.serve(bodies)
		}
	}()
	for body := range bodies {
		w.run(body)
	}
	closed = true
}

// run calls a body and waits for the other workers, or tells them that it has failed.
func (w *Worker) run(body func(*Worker)) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if value := recover(); value != (unwinding{}) {
			w.team.abort(&failure{exit: value == nil, value: value, stack: debug.Stack()})
		}
		w.unwinds = false
		w.team.unwound <- struct{}{}
	}()
	body(w)
	w.Sync()
	returned = true
}

// abort makes every worker unwind that waits at the barrier or reaches it. f is nil for the caller
// of Run, whose failure needs no record.
func (t *Team) abort(f *failure) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failure == nil {
		t.failure = f
	}
	t.phase.Or(aborted)
	t.wake.Broadcast()
}

// cause returns why the caller of Run unwinds: a worker's failure, or nil if the caller itself has
// panicked.
func (t *Team) cause(recovered any) *failure {
	if recovered != (unwinding{}) {
		return &failure{exit: recovered == nil, value: recovered, stack: debug.Stack()}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failure
}

// reset waits until the other workers have unwound, and prepares the barrier for the next Run.
func (t *Team) reset() {
	t.abort(nil)
	for range t.start {
		<-t.unwound
	}
	t.failure = nil
	t.workers[0].unwinds = false
	t.task.Store(0)
	t.arrived.Store(0)
	t.streams.reset()
	t.phase.Store(t.phase.Load() &^ aborted)
	if t.solo != nil {
		t.solo.reset()
	}
}

// repeat fails in the caller's goroutine as a worker has failed in its own. If it is a panic that
// nobody recovers, the stack is printed too: it is the first of two panics, the second of which
// recover returns.
func (f *failure) repeat() {
	switch {
	case f == nil:
		return
	case f.exit:
		runtime.Goexit()
	}
	defer func() {
		_ = recover()
		panic(f.value)
	}()
	panic(f.stack)
}
