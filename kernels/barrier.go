package kernels

// The barrier between operations.

import (
	"runtime"
	"strings"
	"sync/atomic"
	"time"
)

// Sync waits until every worker has called it. It does not return if another worker has failed: see
// Team.Run.
func (w *Worker) Sync() {
	breathe()
	t := w.team
	phase := t.phase.Load()
	if phase&aborted != 0 {
		w.unwind()
	}
	if int(t.arrived.Add(1)) == len(t.workers) {
		t.arrived.Store(0)
		if t.count != nil {
			t.tally()
		}
		t.task.Store(0)
		t.tell(&t.phase, 2)
		return
	}
	// with any other phase, all workers have passed this barrier
	if t.await(&t.phase, phase) == phase|aborted {
		w.unwind()
	}
}

// tell adds to a word that other workers may be waiting for.
func (t *Team) tell(word *atomic.Uint32, more uint32) {
	word.Add(more)
	if t.sleepers.Load() > 0 {
		t.mu.Lock()
		t.wake.Broadcast()
		t.mu.Unlock()
	}
}

// Operations follow each other within microseconds, and waking a worker takes ten: a waiting worker
// first spins, then yields, then sleeps. If there are more workers than processors it does not
// spin, and yields only a few times: otherwise it would occupy a processor that other workers need.
const (
	spinTime   = 20 * time.Microsecond
	spinPauses = 32 // between two readings of the clock
	manyYields = 64
	fewYields  = 4
)

// await returns the value of a word after another worker has changed it from old, or old itself if
// a worker has failed.
func (t *Team) await(word *atomic.Uint32, old uint32) uint32 {
	if t.spins.Load() && t.spin(word, old) {
		return word.Load()
	}
	for range t.yields() {
		if t.waited(word, old) {
			return word.Load()
		}
		runtime.Gosched()
	}
	t.sleepers.Add(1)
	t.mu.Lock()
	for !t.waited(word, old) {
		t.wake.Wait()
	}
	t.mu.Unlock()
	t.sleepers.Add(-1)
	return word.Load()
}

// yields returns how often a waiting worker yields before it sleeps.
func (t *Team) yields() int {
	if t.spins.Load() {
		return manyYields
	}
	return fewYields
}

// waited reports whether the wait for a word is over.
func (t *Team) waited(word *atomic.Uint32, old uint32) bool {
	return word.Load() != old || t.phase.Load()&aborted != 0
}

// spin waits for at most spinTime, and reports whether the wait is over.
func (t *Team) spin(word *atomic.Uint32, old uint32) bool {
	var start time.Time
	for {
		for range spinPauses {
			if t.waited(word, old) {
				return true
			}
			pause()
		}
		switch {
		case start.IsZero(): // only now, because most waits are already over
			start = time.Now()
		case time.Since(start) > spinTime:
			return false
		}
	}
}

// What is counted at barriers, for tests of how many workers an operation can use.

// Count makes later Runs call f at each barrier, on one of the workers, with the name of the
// function that ended with it and the number of tasks that the workers have taken since the
// previous barrier. Count(nil) ends that. Count must not be called during a Run.
func (t *Team) Count(f func(operation string, tasks int)) { t.count = f }

// tally counts the tasks when all workers have reached the barrier. Each worker has asked for one
// task more than there were, if there were any.
func (t *Team) tally() {
	const callers = 3 // tally, Sync, and the caller of Sync
	name := "Run"
	if pc, _, _, ok := runtime.Caller(callers - 1); ok {
		name = runtime.FuncForPC(pc).Name()
		name = name[strings.LastIndex(name, "/")+1:]
	}
	t.count(name, max(0, int(t.task.Load())-len(t.workers)))
}
