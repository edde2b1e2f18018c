package constrain

// Bounds: what forms may cost. All are counts, so that every machine gives the same answer.

import (
	"context"
	"errors"
	"fmt"
)

// Work is counted in steps of 1 to 15 ns. A form may take baseWork, and workPerByte for each of its
// bytes, but never more than mostWork. One schema of all formats takes 4 million, others of the
// JSON-Schema-Test-Suite 11,000 at most; long forms that do nothing special take 4 to 60 a byte.
const (
	baseWork    = 64 << 20
	workPerByte = 64
	mostWork    = 128 << 20
	pauseWork   = 1 << 13 // between two calls of Compiler.Pause
	asideWork   = 1 << 15 // that cannot pause, and is done in Compiler.Aside
)

// Bounds of what is compiled.
const (
	maxSpace        = 64
	maxSchemaBytes  = 4 << 20
	maxPointer      = 1 << 14 // bytes of the JSON pointer to a part of a schema
	maxDepth        = 20000   // of schemas within schemas and behind $ref
	maxAlternatives = 2048    // combinations of alternatives
	maxValues       = 20000   // kinds of values
	maxBranches     = 100     // of oneOf
	maxTable        = 1 << 18 // cells of a table
	maxTableStates  = 10000
	maxPattern      = 1 << 16 // bytes of a regex
	maxNodes        = 1 << 17 // nodes of a network
	maxClasses      = 1 << 12 // kinds of characters that a network can tell apart
	maxGrammar      = 1 << 20 // bytes
	maxNesting      = 500     // groups in groups of a grammar
	maxRepetition   = 2000    // of one {m,n} of a grammar, as in llama.cpp
	maxChoices      = 1 << 20 // bytes
	maxPoint        = 400     // digits before the point of numbers of JSON: float64 ends at 309
)

// Bounds of a text.
const (
	maxStates    = 4096    // states of a machine that are kept; beyond it they are made anew
	maxMasks     = 512     // masks of a machine that are kept
	maxItems     = 8192    // places of the network that one state may stand for
	maxHeld      = 1 << 20 // places of all states that are kept
	maxSeen      = 1 << 12 // places for which a machine keeps room
	maxWork      = 1 << 20 // places that may be visited for one mask
	maxVisits    = 1 << 25 // nodes of tries that are visited for one mask of a schema
	maxParts     = 1024    // ways to read one text of JSON
	maxReachable = 1 << 12 // answers of the arithmetic of one divisor that are kept
	maxLexBytes  = 8 << 20 // of masks that a schema, or a vocabulary, keeps
)

// A WorkError says that a form takes too much work to compile.
type WorkError struct {
	Steps int // that it may take
	Bytes int // of the form
}

func (e *WorkError) Error() string {
	return fmt.Sprintf("it takes more than %d steps to compile, which is the bound for %d bytes",
		e.Steps, e.Bytes)
}

// A meter counts the work of compiling one form. Every loop that a form can make long charges it.
// Its first error is the answer to all charges that follow. A nil meter counts nothing.
type meter struct {
	ctx    context.Context
	pause  func(context.Context) error
	beside func(ctx context.Context, work func()) error // Compiler.Aside
	bytes  int
	used   int
	most   int
	next   int // where the next pause is
	err    error
}

func newMeter(ctx context.Context, pause func(context.Context) error, bytes int) *meter {
	m := &meter{ctx: ctx, pause: pause, bytes: bytes, next: pauseWork,
		most: min(baseWork+workPerByte*min(bytes, mostWork/workPerByte), mostWork)}
	if ctx == nil {
		m.err = errNoContext
	}
	return m
}

var errNoContext = errors.New("context: nil, want one, such as context.Background()")

// charge counts n steps. An error says that there are too many, or that nobody waits any more.
func (m *meter) charge(n int) error {
	if m == nil || m.err != nil {
		return m.failed()
	}
	if m.used += n; m.used < m.next {
		return nil
	}
	m.next = m.used + pauseWork
	switch {
	case m.used > m.most:
		m.err = &WorkError{m.most, m.bytes}
	case m.pause != nil:
		m.err = m.pause(m.ctx)
	default:
		m.err = m.ctx.Err()
	}
	return m.err
}

// aside does work of about n steps that cannot pause.
func (m *meter) aside(n int, work func()) error {
	if err := m.failed(); err != nil {
		return err
	}
	if m == nil || m.beside == nil || n < asideWork {
		work()
		return nil
	}
	m.err = m.beside(m.ctx, work)
	return m.err
}

// named adds what is compiled to the error of a meter.
func (m *meter) named(what string, err error) error {
	if err != nil && err == m.failed() {
		return fmt.Errorf("%s: %w", what, err)
	}
	return err
}

// failed returns what ended the work, if anything did.
func (m *meter) failed() error {
	if m == nil {
		return nil
	}
	return m.err
}
