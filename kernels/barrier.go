package kernels

// The barrier between operations.

import (
	"runtime"
	"time"
)

// Sync waits until every worker has called it. It does not return where another worker has failed:
// see Team.Run.
func (w *Worker) Sync() {
	t := w.team
	phase := t.phase.Load()
	if phase&aborted != 0 {
		w.unwind()
	}
	if int(t.arrived.Add(1)) == len(t.workers) {
		t.arrived.Store(0)
		t.task.Store(0)
		t.phase.Store(phase + 2)
		if t.sleepers.Load() > 0 {
			t.mu.Lock()
			t.wake.Broadcast()
			t.mu.Unlock()
		}
		return
	}
	if t.await(phase) == phase|aborted { // with any other phase this barrier has been passed
		w.unwind()
	}
}

// Operations follow each other within microseconds, and a wake-up takes ten: a worker that waits
// spins first, then yields, then sleeps. With more workers than processors it does not spin, and
// yields little: it would hold the processor that those it waits for need.
const (
	spinTime   = 20 * time.Microsecond
	spinPauses = 32 // between two looks at the clock
	manyYields = 64
	fewYields  = 4
)

// await returns what follows a phase.
func (t *Team) await(phase uint32) uint32 {
	yields := fewYields
	if t.spins.Load() {
		yields = manyYields
		if next := t.spin(phase); next != phase {
			return next
		}
	}
	for range yields {
		if next := t.phase.Load(); next != phase {
			return next
		}
		runtime.Gosched()
	}
	t.sleepers.Add(1)
	t.mu.Lock()
	for t.phase.Load() == phase {
		t.wake.Wait()
	}
	t.mu.Unlock()
	t.sleepers.Add(-1)
	return t.phase.Load()
}

// spin returns what follows a phase, or the phase itself after spinTime.
func (t *Team) spin(phase uint32) uint32 {
	var start time.Time
	for {
		for range spinPauses {
			if next := t.phase.Load(); next != phase {
				return next
			}
			pause()
		}
		switch {
		case start.IsZero(): // only now, since most waits are over by then
			start = time.Now()
		case time.Since(start) > spinTime:
			return phase
		}
	}
}
