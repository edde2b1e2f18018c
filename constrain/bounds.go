package constrain

// Bounds on the cost of forms. All are counts, so that every machine gives the same result.

import (
	"context"
	"errors"
	"fmt"
)

// Work is counted in steps of 1 to 15 ns. A form may take baseWork, and workPerByte for each of its
// bytes, but never more than mostWork. One schema of all formats takes 4 million steps; the others
// of the JSON-Schema-Test-Suite take 11,000 at most; long ordinary forms take 4 to 60 a byte.
const (
	baseWork    = 64 << 20
	workPerByte = 64
	mostWork    = 128 << 20
	pauseWork   = 1 << 13 // between two calls of Compiler.Pause
	// work that cannot pause and is at least this long is done in Compiler.Aside
	asideWork = 1 << 15
)

// Bounds on the result of compiling.
const (
	maxSpace        = 64
	maxSchemaBytes  = 4 << 20
	maxPointer      = 1 << 14 // bytes of the JSON pointer to a part of a schema
	maxDepth        = 20000   // of schemas within schemas and behind $ref
	maxAlternatives = 2048    // combinations of alternatives
	maxValues       = 20000   // kinds of values
	maxBranches     = 100     // of oneOf, without a tag
	maxPairs        = maxBranches * (maxBranches - 1) / 2
	maxTable        = 1 << 18 // cells of a table
	maxTableStates  = 10000
	maxPattern      = 1 << 16 // bytes of a regex
	maxNodes        = 1 << 17 // nodes of a network
	maxClasses      = 1 << 12 // kinds of characters that a network may distinguish
	maxGrammar      = 1 << 20 // bytes
	maxNesting      = 500     // groups in groups of a grammar
	maxRepetition   = 2000    // of one {m,n} of a grammar, as in llama.cpp
	maxChoices      = 1 << 20 // bytes
	maxFew          = 1000    // values of the items of an array with uniqueItems
	maxNotes        = 20
	maxScale        = 17  // digits after the point of a divisor
	maxPoint        = 400 // digits before the point of numbers of JSON: float64 ends at 309
)

// Bounds on the matching of a text.
const (
	// states of a machine that are stored; if there are more, all are dropped and made again
	maxStates    = 4096
	maxMasks     = 512     // masks of a machine that are stored
	maxItems     = 8192    // positions in the network that one state may hold
	maxHeld      = 1 << 20 // positions of all stored states
	maxSeen      = 1 << 12 // positions for which a machine keeps memory
	maxWork      = 1 << 20 // positions that may be visited for one mask
	maxVisits    = 1 << 25 // nodes of tries that are visited for one mask of a schema
	maxParts     = 1024    // ways to read one text of JSON
	maxReachable = 1 << 12 // results of the arithmetic of one divisor that are stored
	maxLexBytes  = 8 << 20 // of masks that a schema or a vocabulary stores
)

// A WorkError says that compiling a form takes too much work.
type WorkError struct {
	Steps int // the bound
	Bytes int // of the form
}

func (e *WorkError) Error() string {
	return fmt.Sprintf("it takes more than %d steps to compile, which is the bound for %d bytes",
		e.Steps, e.Bytes)
}

// A meter counts the work of compiling one form. Every loop that a form can make long charges the
// meter. After the first error all charges return that error. A nil meter counts nothing.
type meter struct {
	ctx    context.Context
	pause  func(context.Context) error
	beside func(ctx context.Context, work func()) error // Compiler.Aside
	bytes  int
	used   int
	most   int
	next   int // the count at which the next pause is due
	err    error
}

func newMeter(ctx context.Context, pause func(context.Context) error,
	aside func(context.Context, func()) error, bytes int,
) *meter {
	m := &meter{ctx: ctx, pause: pause, beside: aside, bytes: bytes, next: pauseWork,
		most: min(baseWork+workPerByte*min(bytes, mostWork/workPerByte), mostWork)}
	if ctx == nil {
		m.err = errNoContext
	}
	return m
}

// errSteps says that a mask needs more steps than allowed.
var errSteps = errors.New("too many steps")

var errNoContext = errors.New("context: nil, want one, such as context.Background()")

// charge counts n steps. It returns an error if there are too many, or the context has ended.
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

// aside does about n steps of work that cannot pause.
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

// named returns the error of a meter with the name of the thing that is compiled.
func (m *meter) named(what string, err error) error {
	if err != nil && err == m.failed() {
		return fmt.Errorf("%s: %w", what, err)
	}
	return err
}

// failed returns the error that ended the work, or nil.
func (m *meter) failed() error {
	if m == nil {
		return nil
	}
	return m.err
}
