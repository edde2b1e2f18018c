package kernels

// The workers: one team runs one function at a time on all of its workers, with a barrier between the operations.

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
)

// A Team is a fixed set of workers that run one function together. The caller of Run is the first worker; the others
// are goroutines that live until Close and are parked between calls of Run.
type Team struct {
	variant *variant
	workers []Worker
	start   []chan func(*Worker) // one for each worker but the first
	solo    *Team                // of one worker, for Alone; nil where this team is of one worker

	running sync.Mutex // held by Run
	closed  bool       // guarded by running

	_       [64]byte // the words below are written by every worker: keep each on a cache line of its own
	task    atomic.Int64
	_       [56]byte
	arrived atomic.Int32
	_       [60]byte
	phase   atomic.Uint32
	_       [60]byte

	rows atomic.Pointer[quantRows] // see sharedRows

	sleepers atomic.Int32
	mu       sync.Mutex
	wake     sync.Cond
}

// A Worker is one member of a team, inside a call of Run. It is handed to the operations of this package, and every
// worker of the team must call the same operations in the same order.
type Worker struct {
	team      *Team
	id        int
	goroutine atomic.Uintptr // see Inside; the first worker's only during a Run
	scratch   [scratches][]float32
	row       *quantRows // one row
}

// NewTeam starts a team. threads ≤ 0 means one for each processor that Go may use. variant names the kernels to run:
// "" for the fastest that this processor has, else one of [Variants]; a name that is not there is an error.
func NewTeam(threads int, name string) (*Team, error) {
	v, err := findVariant(name)
	if err != nil {
		return nil, err
	}
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	if threads > maxThreads {
		return nil, fmt.Errorf("threads: %d, want at most %d", threads, maxThreads)
	}
	t := &Team{variant: v, workers: make([]Worker, threads)}
	t.wake.L = &t.mu
	t.rows.Store(&quantRows{})
	for i := range t.workers {
		t.workers[i].team, t.workers[i].id, t.workers[i].row = t, i, &quantRows{}
	}
	if threads > 1 {
		if t.solo, err = NewTeam(1, v.name); err != nil {
			return nil, err
		}
	}
	for i := 1; i < threads; i++ {
		start := make(chan func(*Worker), 1)
		t.start = append(t.start, start)
		go func(w *Worker) {
			w.goroutine.Store(goroutine())
			for body := range start {
				body(w)
				w.Sync()
			}
		}(&t.workers[i])
	}
	return t, nil
}

// maxThreads bounds a number that comes from a command line.
const maxThreads = 4096

// Size returns the number of workers.
func (t *Team) Size() int { return len(t.workers) }

// Variant returns the name of the kernels that this team runs.
func (t *Team) Variant() string { return t.variant.name }

// Run calls body once on every worker, at the same time, and returns when all have returned. Calls of Run from several
// goroutines take turns. Run on a closed team does nothing.
func (t *Team) Run(body func(w *Worker)) {
	t.running.Lock()
	defer t.running.Unlock()
	if t.closed {
		return
	}
	for _, start := range t.start {
		start <- body
	}
	t.workers[0].goroutine.Store(goroutine())
	defer t.workers[0].goroutine.Store(0)
	body(&t.workers[0])
	t.workers[0].Sync()
}

// Close ends the workers. It waits for a Run that is under way. A second Close does nothing.
func (t *Team) Close() {
	t.running.Lock()
	defer t.running.Unlock()
	if t.closed {
		return
	}
	t.closed = true
	for _, start := range t.start {
		close(start)
	}
}

// ID returns the worker's number, 0 ≤ ID < Size.
func (w *Worker) ID() int { return w.id }

// Size returns the number of workers in the team.
func (w *Worker) Size() int { return len(w.team.workers) }

// Next returns the number of the next task of this operation that no worker has taken: 0, 1, 2, … Sync starts again at 0.
//
//	for i := w.Next(); i < tasks; i = w.Next() { … }
//	w.Sync()
func (w *Worker) Next() int { return int(w.team.task.Add(1)) - 1 }

// Sync waits until every worker has called it.
func (w *Worker) Sync() {
	t := w.team
	phase := t.phase.Load()
	if int(t.arrived.Add(1)) == len(t.workers) {
		t.arrived.Store(0)
		t.task.Store(0)
		t.phase.Store(phase + 1)
		if t.sleepers.Load() > 0 {
			t.mu.Lock()
			t.wake.Broadcast()
			t.mu.Unlock()
		}
		return
	}
	// Operations follow each other within microseconds, a wake-up costs ten: spin first, then yield, then sleep.
	for range spins {
		if t.phase.Load() != phase {
			return
		}
		pause()
	}
	for range yields {
		if t.phase.Load() != phase {
			return
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
}

const (
	spins  = 256 // of pause, a few hundred cycles each
	yields = 64
)

// Kinds of per-worker scratch memory: an operation may need two at once.
const (
	scratchPack   = iota // weights, converted and packed
	scratchRows          // rows, packed
	scratchScores        // attention scores of one query tile
	scratchState         // running maximum and sum of each query
	scratches
)

// floats returns n floats of the worker's own scratch memory of one kind. What they hold is left from earlier calls.
func (w *Worker) floats(kind, n int) []float32 {
	if cap(w.scratch[kind]) < n {
		w.scratch[kind] = make([]float32, n)
	}
	return w.scratch[kind][:n]
}

// share splits n items into tasks of at most most items, a multiple of grain each but for the last, so that the number of tasks
// is a multiple of the workers where it can be. It returns the items in a task.
func (w *Worker) share(n, grain, most int) int {
	size := len(w.team.workers)
	rounds := max(1, (n+size*most-1)/(size*most))
	each := (n + size*rounds - 1) / (size * rounds)
	return max(grain, (each+grain-1)/grain*grain)
}
