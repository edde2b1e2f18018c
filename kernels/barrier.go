package kernels

// The barrier between operations.

import "runtime"

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

// Operations follow each other within microseconds, a wake-up costs ten: spin first, then yield, then
// sleep.
const (
	spins  = 256 // of pause, a few hundred cycles each
	yields = 64
)

// await returns what follows a phase.
func (t *Team) await(phase uint32) uint32 {
	for range spins {
		if next := t.phase.Load(); next != phase {
			return next
		}
		pause()
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
