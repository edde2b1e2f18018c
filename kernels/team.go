package kernels

// The workers: one team runs one function at a time on all of its workers. barrier.go has the
// barrier at which they wait for each other; unwind.go has what happens when the function fails.

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
	solo    *Team                // of one worker, for Alone and RunAlone; nil if this team has only one worker

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
	unwound  chan struct{} // receives from each worker except the first after a failed Run

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
	unwinds   bool           // because another worker has failed
	scratch   [scratches][]float32
	half      []uint16 // see halves

	attentions []Attention  // the input of attendTiles
	tiles      []attendTile // and its memory
	row        *quantRows   // for one row

	queries, weighed *quantRows // of attention: see attendTile
}

// Threads returns the number of workers to use if n are wanted: one for each processor that Go may
// use if n ≤ 0, and never more than four for each, because a barrier has to wake them all. A number
// that NewTeam refuses is returned unchanged.
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
// the kernels to run: "" for the fastest that this process may run, or one of [Variants]. It is an
// error if this processor does not have them, or its operating system does not permit them.
//
// For "avx512amx" Linux is asked to let the process use tiles, which cannot be taken back: from then
// on signals need 11 KiB of stack, which Go's threads have.
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
		t.workers[i] = Worker{team: t, id: i, row: &quantRows{}, queries: &quantRows{},
			weighed: &quantRows{}}
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

// MaxThreads is the greatest number of workers of a team: it bounds a number from a command line.
const MaxThreads = 4096

// Size returns the number of workers.
func (t *Team) Size() int { return len(t.workers) }

// Variant returns the name of the kernels that this team runs.
func (t *Team) Variant() string { return t.variant.name }

// Run calls body once on every worker, at the same time, and returns when all have returned. Calls
// of Run from several goroutines take turns. Run on a closed team does nothing.
//
// If body panics on any worker, Run panics with the same value, after the other workers have
// stopped at their next barrier. If body ends its goroutine with runtime.Goexit, Run ends the
// caller's. If several workers fail, the caller's own failure counts, or else the first. The team
// can be used again.
//
// A Run inside a body of the same team would wait for ever: it panics, and so does Close.
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

// RunAlone is Run for a worker that is a team of one: the other workers are not woken.
func (t *Team) RunAlone(body func(w *Worker)) {
	if t.solo == nil {
		t.Run(body)
		return
	}
	t.lock()
	defer t.running.Unlock()
	if !t.closed {
		t.workers[0].goroutine.Store(t.goroutine())
		defer t.workers[0].goroutine.Store(0)
		t.solo.Run(body)
	}
}

// Alone returns the first worker as a team of one, for work that is too small to share, and nil to
// the other workers. What that team computes ends before the next barrier of w: the bits do not
// depend on it.
func (w *Worker) Alone() *Worker {
	switch t := w.team.solo; {
	case t == nil:
		return w
	case w.id == 0:
		return &t.workers[0]
	}
	return nil
}

// lock waits for a running Run. It panics if the caller is part of that Run.
func (t *Team) lock() {
	if t.running.TryLock() {
		return
	}
	if t.Inside() {
		panic("kernels: Run or Close inside a function that the same team runs")
	}
	t.running.Lock()
}

// Close ends the workers. It waits for a running Run. A second Close does nothing.
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

// Next returns the number of the next task of this operation that no worker has taken: 0, 1, 2, ….
// After Sync it begins again at 0.
//
//	for i := w.Next(); i < tasks; i = w.Next() { … }
//	w.Sync()
func (w *Worker) Next() int { return int(w.team.task.Add(1)) - 1 }

// Kinds of per-worker scratch memory: an operation may need two at once.
const (
	scratchPack   = iota // weights, converted and packed, or chains of outputs
	scratchRows          // rows, packed
	scratchScores        // attention scores of one query tile
	scratchState         // running maximum and sum of each query
	scratches
)

// floats returns n floats of the worker's own scratch memory of one kind. They contain old data.
func (w *Worker) floats(kind, n int) []float32 {
	if cap(w.scratch[kind]) < n {
		w.scratch[kind] = make([]float32, n)
	}
	return w.scratch[kind][:n]
}

// halves returns the worker's own memory for n numbers in 16 bits.
func (w *Worker) halves(n int) []uint16 {
	if cap(w.half) < n {
		w.half = make([]uint16, n)
	}
	return w.half[:n]
}

// share divides n items into tasks of at most most items. Each task except the last has a multiple
// of grain items, and the number of tasks is a multiple of the workers if possible. share returns
// the number of items of a task.
func (w *Worker) share(n, grain, most int) int {
	size := len(w.team.workers)
	rounds := max(1, (n+size*most-1)/(size*most))
	each := (n + size*rounds - 1) / (size * rounds)
	return max(grain, (each+grain-1)/grain*grain)
}

// Inside reports whether the calling goroutine is one of the team's workers during a Run. It
// must not wait for that Run to end.
func (t *Team) Inside() bool {
	id := t.goroutine()
	for i := range t.workers {
		if t.workers[i].goroutine.Load() == id {
			return true
		}
	}
	return false
}
