// Package engine is the wall between the model and the device that computes it.
//
// Package model plans and commits: it checks a batch, cuts it into passes of a bounded number of
// rows, and keeps each session's tokens. A [Backend] computes: it has the [Params], the caches of
// the sessions, and runs one [Pass] at a time. Package internal/cpu is one; a GPU is another, with
// its own parameters, pages and forward pass behind the same few methods.
//
// Every backend gives the same bits. The order of each floating-point sum is fixed by package
// kernels.
package engine

import (
	"context"
	"errors"
	"fmt"

	"picogpt/kernels"
)

// A Device makes backends. It is what model.Options names.
type Device interface {
	// Open prepares a device for a model. The parameters stay as they are until Close. Cache pages
	// are taken from the budget. The team, which the model closes after the backend, is for what
	// the device leaves to the processor, as calls of Visit. Where the device has no cache of the
	// format that the parameters name, Open is an error.
	Open(ctx context.Context, p *Params, cache *Budget, team *kernels.Team) (Backend, error)
}

// A Backend computes one model on one device. Run and Close take turns; the model sees to that.
type Backend interface {
	// Kernel names what computes, as "avx2" or the name of a device.
	Kernel() string

	// NewCache makes the cache of a new session, which holds nothing.
	NewCache() Cache

	// Run computes a pass. The keys and values of its tokens go to their caches, which have room
	// for them; the outputs go where the pass says. An error is a *NonFiniteError, the context's,
	// or the device's; a context that ends is seen before the next layer. Visits that panic make
	// Run panic.
	Run(ctx context.Context, p *Pass) error

	// Inside reports whether the calling goroutine is in a Visit of a Run of this backend: to wait
	// for the Run there is to wait for ever.
	Inside() bool

	// Close frees what the device holds, caches included. A cache may be released after it.
	Close() error
}

// A Measured is a Backend that can measure its device. It takes turns with Run.
type Measured interface {
	Limits(ctx context.Context) (Limits, error)
}

// Limits are what a device does with nothing else to do.
type Limits struct {
	Read float64 // bytes of its memory a second
	FMA  float64 // float32 operations a second, two to each fused multiply-add
}

// A Cache is what attention remembers of one session: keys and values in pages. A session's methods
// are called by one goroutine at a time, those of sessions that share pages at the same time.
type Cache interface {
	// Reserve makes room for n positions more. After it comes Commit, by which the cache holds
	// them, or Rollback, by which everything is as it was before. An error (ErrCacheFull, or the
	// device's) changes nothing, and nothing comes after it.
	Reserve(n int) error
	Commit()
	Rollback()

	// Fork makes another cache, which holds the first n positions and shares their pages.
	Fork(n int) Cache

	// Truncate forgets all positions but the first n.
	Truncate(n int)

	// Bytes is the size of the pages, shared ones included.
	Bytes() int64

	// Release gives the pages back. The cache then holds nothing, and may be used again. It may be
	// called at any time but during a Run with this cache.
	Release()
}

// A Pass is the rows that run through the layers together: the new tokens of some sessions.
type Pass struct {
	Spans []Span

	// Visit is called once for each row that a span wants visited, by any goroutine, several at a
	// time. i counts the span's tokens from 0. The row is the caller's during the call only.
	Visit func(span, i int, row Row)
}

// A Row is what a pass gives for one token.
type Row struct {
	Logits []float32 // [vocab_size]
	Hidden []float32 // after ln_f, [n_embd]
	Best   *Best     // if not nil, it takes the place of both: see Span
}

// A Best is the greatest logits of a row, all of whose logits are finite: the k greatest, and those
// that equal the least of these. That is what top-k keeps.
type Best struct {
	IDs       []int32   // ascending
	Logits    []float32 // [len(IDs)]
	LogSumExp float64   // of the whole row, as kernels.Leaves has it
}

// A Span is the tokens of one session in a pass.
type Span struct {
	Cache    Cache
	Tokens   []int // at positions Position, Position+1, …
	Position int   // what is before it is in the cache
	Visit    int   // Tokens[Visit:] are visited; len(Tokens) for none
	// how many of its greatest logits are all that the visitor needs of a row, 0 where it needs the
	// row; a backend may then hand out Row.Best, which spares it to move a vocabulary of numbers
	Best int
	// where the logits after the last token go, [vocab_size]; nil where they are not wanted
	Logits []float32
}

// Rows returns the number of rows of a pass.
func (p *Pass) Rows() int {
	n := 0
	for i := range p.Spans {
		n += len(p.Spans[i].Tokens)
	}
	return n
}

// Wants reports whether the logits after token i are wanted.
func (s *Span) Wants(i int) bool {
	return i >= s.Visit || s.Logits != nil && i == len(s.Tokens)-1
}

// A NonFiniteError is the first logit of a pass that is not a finite number, in the order of spans,
// tokens and ids. Whether rows before it were visited is open.
type NonFiniteError struct {
	Span, Token, ID int
}

func (e *NonFiniteError) Error() string {
	return fmt.Sprintf("span %d: logits after token %d: id %d is not finite", e.Span, e.Token, e.ID)
}

// ErrCacheFull says that the budget has no room for the pages that a pass needs.
var ErrCacheFull = errors.New("cache full")
