package kernels

// The workers: one team runs one function at a time on all of its workers. barrier.go is where they
// wait for each other, unwind.go what happens when the function fails.

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
)

// A Team is a fixed set of workers that run one function together. The caller of Run is the first
// worker; the others are goroutines that live until Close and are parked between calls of Run.
type Team struct {
	variant *variant
	workers []Worker
	start   []chan func(*Worker) // one for each worker but the first
	solo    *Team                // of one worker, for Alone; nil where this team is of one worker

	running sync.Mutex // held by Run
	closed  bool       // guarded by running

	// the words below are written by every worker: keep each on a cache line of its own
	_       [64]byte
	task    atomic.Int64
	_       [56]byte
	arrived atomic.Int32
	_       [60]byte
	phase   atomic.Uint32 // grows by 2 with each barrier; the lowest bit is aborted
	_       [60]byte

	count func(operation string, tasks int) // see Count

	spins    atomic.Bool // while waiting: each worker has a processor
	sleepers atomic.Int32
	mu       sync.Mutex
	wake     sync.Cond
	failure  *failure      // the first in this Run, guarded by mu
	unwound  chan struct{} // from each worker but the first, when a Run has failed

	rows    atomic.Pointer[quantRows] // see sharedRows
	streams streams                   // see linearStream
	packed  sharedFloats              // the rows of a linearTile
	//lint:ignore U1000 arch_other.go has a use for it
	heads sync.Pool // see goroutine
}

// A Worker is one member of a team, inside a call of Run. It is handed to the operations of this
// package, and every worker of the team must call the same operations in the same order.
type Worker struct {
	team      *Team
	id        int
	goroutine atomic.Uintptr // see Inside; the first worker's only during a Run
	unwinds   bool           // since another worker has failed
	scratch   [scratches][]float32
	half      []uint16 // see halves

	attentions []Attention  // what attendTiles computes
	tiles      []attendTile // and its memory
	row        *quantRows   // one row
}

// Threads returns how many workers are worth having where n are wanted: one for each processor that
// Go may use where n ≤ 0, and never more than four for each, since a barrier has to wake them all.
// A number that NewTeam refuses stays as it is.
func Threads(n int) int {
	processors := runtime.GOMAXPROCS(0)
	switch {
	case n <= 0:
		return processors
	case n > MaxThreads:
		return n
	}
	return min(n, 4*processors)
}

// NewTeam starts a team. threads ≤ 0 means one for each processor that Go may use. name is that of
// the kernels to run: "" for the fastest that this processor has, else one of [Variants]; one that
// is not there is an error.
func NewTeam(threads int, name string) (*Team, error) {
	v, err := findVariant(name)
	if err != nil {
		return nil, err
	}
	if threads <= 0 {
		threads = Threads(0)
	}
	if threads > MaxThreads {
		return nil, fmt.Errorf("threads: %d, want at most %d", threads, MaxThreads)
	}
	t := &Team{variant: v, workers: make([]Worker, threads), unwound: make(chan struct{}, threads)}
	t.wake.L = &t.mu
	t.rows.Store(&quantRows{})
	t.streams.passed, t.streams.done = make([]mark, threads), make([]mark, threads)
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
		go t.workers[i].serve(start)
	}
	return t, nil
}

// MaxThreads is the most workers of a team: it bounds a number that comes from a command line.
const MaxThreads = 4096

// Size returns the number of workers.
func (t *Team) Size() int { return len(t.workers) }

// Variant returns the name of the kernels that this team runs.
func (t *Team) Variant() string { return t.variant.name }

// Run calls body once on every worker, at the same time, and returns when all have returned. Calls
// of Run from several goroutines take turns. Run on a closed team does nothing.
//
// If body panics on any worker, Run panics with the same value, once the other workers have stopped
// at their next barrier. If body ends its goroutine with runtime.Goexit, Run ends the caller's.
// Where several workers fail, the caller's own failure counts, or else the first. The team can be
// used again.
//
// Run inside a body of the same team cannot be waited for: it panics, and so does Close.
func (t *Team) Run(body func(w *Worker)) {
	t.lock()
	if t.closed {
		t.running.Unlock()
		return
	}
	if len(t.start) > 0 {
		t.spins.Store(len(t.workers) <= min(runtime.GOMAXPROCS(0), runtime.NumCPU()))
	}
	w, returned := &t.workers[0], false
	w.goroutine.Store(t.goroutine())
	defer func() {
		var f *failure
		if !returned {
			if w.unwinds {
				f = t.cause(recover())
			}
			t.reset()
		}
		w.goroutine.Store(0)
		t.running.Unlock()
		f.repeat()
	}()
	for _, start := range t.start {
		start <- body
	}
	body(w)
	w.Sync()
	returned = true
}

// lock waits for a Run that is under way, which must not be the one that the caller is part of.
func (t *Team) lock() {
	if t.running.TryLock() {
		return
	}
	if t.Inside() {
		panic("kernels: Run or Close inside a function that the same team runs")
	}
	t.running.Lock()
}

// Close ends the workers. It waits for a Run that is under way. A second Close does nothing.
func (t *Team) Close() {
	t.lock()
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

// Next returns the number of the next task of this operation that no worker has taken: 0, 1, 2, …
// Sync starts again at 0.
//
//	for i := w.Next(); i < tasks; i = w.Next() { … }
//	w.Sync()
func (w *Worker) Next() int { return int(w.team.task.Add(1)) - 1 }

// Kinds of per-worker scratch memory: an operation may need two at once.
const (
	scratchPack   = iota // weights, converted and packed
	scratchRows          // rows, packed
	scratchScores        // attention scores of one query tile
	scratchState         // running maximum and sum of each query
	scratches
)

// floats returns n floats of the worker's own scratch memory of one kind. What they hold is left
// from earlier calls.
func (w *Worker) floats(kind, n int) []float32 {
	if cap(w.scratch[kind]) < n {
		w.scratch[kind] = make([]float32, n)
	}
	return w.scratch[kind][:n]
}

// halves returns memory of the worker's own for n numbers in 16 bits.
func (w *Worker) halves(n int) []uint16 {
	if cap(w.half) < n {
		w.half = make([]uint16, n)
	}
	return w.half[:n]
}

// share splits n items into tasks of at most most items, a multiple of grain each but for the last,
// so that the number of tasks is a multiple of the workers where it can be. It returns the items in
// a task.
func (w *Worker) share(n, grain, most int) int {
	size := len(w.team.workers)
	rounds := max(1, (n+size*most-1)/(size*most))
	each := (n + size*rounds - 1) / (size * rounds)
	return max(grain, (each+grain-1)/grain*grain)
}
