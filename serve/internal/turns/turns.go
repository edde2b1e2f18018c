// Package turns decides which of the forms that are compiled computes: one at a time, the short ones
// first. Long texts that are encoded, and searches, have turns of their own.
package turns

import (
	"context"
	"runtime"
	"slices"
	"sync"
)

// A form that has computed for so many pauses of the compiler, some 50 µs each, moves to the next
// level. Forms of a lower level go first. Each level has room for only so many forms in progress,
// one of each client, and a form leaves its level when it begins with the next. Forms that wait
// therefore hold only the memory of a few pauses.
var (
	levels = [...]int{8, 512}
	rooms  = [...]int{1 << 30, 4, 1}
)

// afterShort is how many turns in a row short forms have while a long one waits, and slice is for
// how many pauses the long one then computes.
const (
	afterShort = 8
	slice      = 16
)

// Turns decide which form may compute. Of the forms of one level, those of the client with the
// fewest in progress go first, then those of the client whose last turn is the oldest, then the
// shortest.
type Turns struct {
	mu      sync.Mutex
	clients map[string]*clientForms
	running *Turn
	beside  *Turn               // does work that cannot pause; only first-level forms run then
	under   [len(rooms)][]*Turn // the forms in progress, by level; none of the first
	waiting []*Turn             // in the order of arrival
	short   int                 // turns in a row for which a form of a higher level has waited
	clock   int                 // turns so far
}

// A clientForms counts the forms of a client that wait or compute.
type clientForms struct {
	forms int // how many forms it has here
	under int // how many of them are in progress
	last  int // the clock at its newest turn
}

// A turn is the turn of one form.
type Turn struct {
	client  *clientForms
	name    string
	bytes   int
	level   int
	pauses  int
	free    int // pauses before it lets others go first
	started bool
	ready   chan struct{} // holds a value when it may compute
}

// New returns Turns that nobody has.
func New() *Turns { return &Turns{clients: map[string]*clientForms{}} }

// Enter waits until a form of a client may compute; Leave ends the turn that it returns.
func (q *Turns) Enter(ctx context.Context, name string, bytes int) (*Turn, error) {
	q.mu.Lock()
	c := q.clients[name]
	if c == nil {
		c = &clientForms{}
		q.clients[name] = c
	}
	c.forms++
	t := &Turn{client: c, name: name, bytes: bytes, ready: make(chan struct{}, 1)}
	q.waiting = append(q.waiting, t)
	q.next()
	q.mu.Unlock()
	if err := q.wait(ctx, t); err != nil {
		q.Leave(t)
		return nil, err
	}
	return t, nil
}

// wait waits until a form may compute.
func (q *Turns) wait(ctx context.Context, t *Turn) error {
	select {
	case <-t.ready:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Pause lets forms go first that should, and lets the batch run. The compiler calls it.
func (q *Turns) Pause(ctx context.Context, t *Turn) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	runtime.Gosched()
	q.mu.Lock()
	t.pauses++
	t.free--
	yields := t.level < len(levels) && t.pauses >= levels[t.level]
	if yields {
		t.level++
	}
	if yields = yields || t.free < 0 && q.best(t.level-1) != nil; yields {
		q.running = nil
		q.waiting = append(q.waiting, t)
		q.next()
	}
	q.mu.Unlock()
	if !yields {
		return nil
	}
	return q.wait(ctx, t)
}

// Aside calls work that takes long and cannot pause, concurrently with forms of the first level.
func (q *Turns) Aside(ctx context.Context, t *Turn, work func()) error {
	if t.level == 0 {
		t.pauses = max(t.pauses, levels[0])
		if err := q.Pause(ctx, t); err != nil {
			return err
		}
	}
	q.mu.Lock()
	q.running, q.beside = nil, t
	q.next()
	q.mu.Unlock()
	work()
	q.mu.Lock()
	q.beside = nil
	q.waiting = append(q.waiting, t)
	q.next()
	q.mu.Unlock()
	return q.wait(ctx, t)
}

// Leave ends a form's turn, whether it computes or waits.
func (q *Turns) Leave(t *Turn) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.running == t {
		q.running = nil
	}
	if q.beside == t { // after a panic
		q.beside = nil
	}
	q.waiting = slices.DeleteFunc(q.waiting, func(other *Turn) bool { return other == t })
	q.give(t)
	if t.started {
		t.client.under--
	}
	if t.client.forms--; t.client.forms == 0 {
		delete(q.clients, t.name)
	}
	q.next()
}

// give releases the place of a form at its level.
func (q *Turns) give(t *Turn) {
	for i := range q.under {
		q.under[i] = slices.DeleteFunc(q.under[i], func(u *Turn) bool { return u == t })
	}
}

// next lets the form compute whose turn it is.
func (q *Turns) next() {
	if q.running != nil {
		return
	}
	t, long := q.best(len(levels)), q.longest()
	if q.beside != nil {
		t = q.best(0)
		long = t
	}
	if t == nil {
		return
	}
	if long.level > t.level {
		if q.short++; q.short > afterShort {
			t, q.short = long, 0
			t.free = slice
		}
	} else {
		q.short = 0
	}
	q.waiting = slices.DeleteFunc(q.waiting, func(other *Turn) bool { return other == t })
	if q.running = t; t.level > 0 && !slices.Contains(q.under[t.level], t) {
		q.give(t)
		q.under[t.level] = append(q.under[t.level], t)
	}
	if !t.started {
		t.started = true
		t.client.under++
	}
	q.clock++
	t.client.last = q.clock
	t.ready <- struct{}{}
}

// mayRun reports whether the level of a waiting form has room for it.
func (q *Turns) mayRun(t *Turn) bool {
	under := q.under[t.level]
	return slices.Contains(under, t) || len(under) < rooms[t.level] &&
		!slices.ContainsFunc(under, func(u *Turn) bool { return u.client == t.client })
}

// best returns the waiting form that goes first among those of levels up to level, or nil.
func (q *Turns) best(level int) (best *Turn) {
	for _, t := range q.waiting {
		if t.level <= level && q.mayRun(t) && (best == nil || t.before(best)) {
			best = t
		}
	}
	return best
}

// longest returns the waiting form of the highest level that may compute, or nil.
func (q *Turns) longest() (long *Turn) {
	for _, t := range q.waiting {
		if q.mayRun(t) && (long == nil || t.level > long.level) {
			long = t
		}
	}
	return long
}

func (t *Turn) before(u *Turn) bool {
	a, b := t.client, u.client
	switch {
	case t.level != u.level:
		return t.level < u.level
	case a == b:
		return t.bytes < u.bytes
	case a.under != b.under:
		return a.under < b.under
	case a.last != b.last:
		return a.last < b.last
	}
	return t.bytes < u.bytes
}

// Clock returns how many turns there have been.
func (q *Turns) Clock() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.clock
}
