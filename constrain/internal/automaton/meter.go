// The work of compiling a form, counted, so that its bounds are the same on every machine.

package automaton

import (
	"context"
	"errors"
	"fmt"
	"math"
)

// Work is counted in steps of 1 to 15 ns. A form may take baseWork, and workPerByte for each of its
// bytes, but never more than mostWork. One schema of all formats takes 300,000 steps; the others
// of the JSON-Schema-Test-Suite take 11,000 at most; long ordinary forms take 4 to 60 a byte.
const (
	baseWork    = 32 << 20
	workPerByte = 64
	mostWork    = 128 << 20
	// PauseWork is the work between two pauses.
	PauseWork = 1 << 13
	// work that cannot pause and is at least this long is done aside
	asideWork = 1 << 15
)

// A Meter counts the work of compiling one form, and keeps the first error of it. Every loop that a
// form can make long charges the meter. After the first error all charges return that error, and what
// is compiled counts for nothing. A nil meter counts nothing.
type Meter struct {
	ctx    context.Context
	pause  func(context.Context) error
	beside func(ctx context.Context, work func()) error // runs work that cannot pause
	bytes  int
	Used   int // steps so far
	Most   int // the bound of steps
	next   int // the count at which the next pause is due
	err    error
	ended  bool // err is that of too much work, or of the context

	// Exceeded returns the error of too many steps: of Most for a form of so many bytes.
	Exceeded func(most, bytes int) error
}

// NewMeter returns a meter for a form of some bytes, with Pause and Aside of constrain.Compiler.
func NewMeter(ctx context.Context, pause func(context.Context) error,
	aside func(context.Context, func()) error, bytes int,
) *Meter {
	m := &Meter{ctx: ctx, pause: pause, beside: aside, next: PauseWork,
		Exceeded: func(int, int) error { return ErrSteps }}
	m.More(bytes)
	if ctx == nil {
		m.err = errNoContext
	}
	return m
}

// More says that the form has so many bytes more.
func (m *Meter) More(bytes int) {
	m.bytes += bytes
	m.Most = min(baseWork+workPerByte*min(m.bytes, mostWork/workPerByte), mostWork)
}

// ErrSteps says that a mask, or a form, needs more steps than allowed.
var ErrSteps = errors.New("too many steps")

var errNoContext = errors.New("context: nil, want one, such as context.Background()")

// Apart returns a meter for work that all forms have in common: it pauses as m does, but the form is
// not charged.
func (m *Meter) Apart() *Meter {
	apart := *m
	apart.Used, apart.next, apart.Most = 0, PauseWork, math.MaxInt
	return &apart
}

// Charge counts n steps. It returns an error if there are too many, or the context has ended.
func (m *Meter) Charge(n int) error {
	if m == nil || m.err != nil {
		return m.Failed()
	}
	if m.Used += n; m.Used < m.next {
		return nil
	}
	m.next = m.Used + PauseWork
	switch {
	case m.Used > m.Most:
		m.err = m.Exceeded(m.Most, m.bytes)
	case m.pause != nil:
		m.err = m.pause(m.ctx)
	default:
		m.err = m.ctx.Err()
	}
	m.ended = m.err != nil
	return m.err
}

// Aside does about n steps of work that cannot pause.
func (m *Meter) Aside(n int, work func()) error {
	if err := m.Failed(); err != nil {
		return err
	}
	if m == nil || m.beside == nil || n < asideWork {
		work()
		return nil
	}
	if err := m.beside(m.ctx, work); err != nil {
		m.err, m.ended = err, true // the work may have failed, too
	}
	return m.err
}

// Fail keeps an error, if it is the first.
func (m *Meter) Fail(err error) {
	if m.err == nil {
		m.err = err
	}
}

// Say puts what it is about before the error.
func (m *Meter) Say(what string) { m.err = fmt.Errorf("%s: %w", what, m.err) }

// Named returns an error with the name of the thing that is compiled, if its work has ended.
func (m *Meter) Named(what string, err error) error {
	if err != nil && err == m.Failed() && m.ended {
		return fmt.Errorf("%s: %w", what, err)
	}
	return err
}

// Failed returns the error that ended the work, or nil.
func (m *Meter) Failed() error {
	if m == nil {
		return nil
	}
	return m.err
}
