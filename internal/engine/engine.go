// Package engine is the interface between the model and the device that computes it.
//
// Package model plans and commits: it checks a batch, divides it into passes of a bounded number of
// rows, and stores each session's tokens. A [Backend] computes: it has the [stack.Params] and the
// caches of the sessions, and runs one [Pass] at a time. Package internal/cpu is one backend; a GPU
// is another, with its own parameters, pages and forward pass behind the same few methods.
//
// Every backend gives the same bits. Package kernels defines the order of each floating-point sum.
package engine

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"picogpt/kernels"
	"picogpt/model/stack"
)

// A Device makes backends. model.Options.Device is one.
type Device interface {
	// Open prepares a device for a model. The parameters do not change until Close. Cache pages are
	// taken from the budget. The backend may use the team for work that the device leaves to the
	// processor, such as calls of Visit; the model closes the team after the backend. If the device
	// has no cache of the parameters' CacheFormat, Open returns an error.
	Open(ctx context.Context, p *stack.Params, cache *Budget, team *kernels.Team) (Backend, error)
}

// A Backend computes one model on one device. The model calls Run and Close one at a time.
type Backend interface {
	// Kernel returns the name of the kernels, such as "avx2", or of the device.
	Kernel() string

	// NewCache returns the cache of a new session, without positions.
	NewCache() Cache

	// Run computes a pass. It stores the keys and values of the tokens in their caches, which have
	// room for them, and the outputs as the pass says. It returns a *NonFiniteError, the context's
	// error, or the device's; it checks the context before each layer. If a Visit panics, Run
	// panics.
	Run(ctx context.Context, p *Pass) error

	// Inside reports whether the calling goroutine is in a Visit of this backend's Run. Waiting for
	// the Run there would never end.
	Inside() bool

	// Close frees the memory of the device, also that of caches. A cache may be released after it.
	Close() error
}

// A Measured is a Backend that can measure its device. The model calls Limits and Run one at a
// time.
type Measured interface {
	Limits(ctx context.Context) (Limits, error)
}

// Limits are what a device can do when it does nothing else.
type Limits struct {
	Read float64 // bytes of its memory a second
	FMA  float64 // float32 operations a second, two for each fused multiply-add
}

// A Cache holds the keys and values of one session, in pages. One goroutine at a time calls the
// methods of a cache; caches that share pages may be used concurrently.
type Cache interface {
	// Reserve makes room for n more positions. After it the caller calls Commit, which adds the
	// positions, or Rollback, which restores the state before Reserve. If Reserve returns an error
	// (ErrCacheFull, or the device's) nothing has changed, and neither is called.
	Reserve(n int) error
	Commit()
	Rollback()

	// Fork returns another cache that holds the first n positions and shares their pages.
	Fork(n int) Cache

	// Truncate removes all positions except the first n.
	Truncate(n int)

	// Read sets dst to the first n positions of a page, which are positions 64·page, …. The layout
	// is the same on every device: [2, n_layer, n_head, n, head_dim], the keys first, in the
	// parameters' CacheFormat. Write is the opposite: it sets positions that are reserved and not
	// committed, and the cache holds none of the page before. The model calls Read, Write and Run
	// one at a time. The error is the device's.
	Read(dst kernels.KV, page, n int) error
	Write(page, n int, src kernels.KV) error

	// Bytes returns the size of the pages, with shared ones.
	Bytes() int64

	// Release frees the pages. The cache is then empty, and may be used again. It must not be
	// called during a Run with this cache.
	Release()
}

// PassRows is the most rows of a pass. So it bounds the scratch memory for a prompt of any length.
const PassRows = 512

// A Pass is the rows that are computed together: the new tokens of some sessions.
type Pass struct {
	Spans []Span

	// Visit is called once for each row that a span wants visited, by any goroutine, several at a
	// time. i is the index of the token in the span. The row is valid only during the call.
	Visit func(span, i int, row Row)
}

// A Row is the result of a pass for one token.
type Row struct {
	Logits []float32   // [vocab_size]
	Hidden []float32   // after ln_f, or what Span.Layer says, [n_embd]
	Best   *stack.Best // if not nil, it replaces Logits and Hidden: see Span
}

// A Span is the tokens of one session in a pass.
type Span struct {
	// of a variant of the model, which differ in some weights; nil: the model's. The spans of one
	// variant follow each other. A device gets none.
	Params   *stack.Params
	Cache    Cache
	Tokens   []int // at positions Position, Position+1, …
	Position int   // the positions before it are in the cache
	Visit    int   // Tokens[Visit:] are visited; len(Tokens) means none
	// how many of a row's greatest logits the visitor needs; 0 means the whole row. A backend may
	// then set Row.Best only, which saves it copying the other logits.
	Best int
	// whether a Best decides what the visitor needs; nil: always. If not, the row is visited whole.
	// It is called by any goroutine, several at a time.
	Enough func(*stack.Best) bool
	// memory for the logits after the last token, [vocab_size]; nil if they are not wanted
	Logits []float32

	// Hidden says that the visitor needs no logits, but the hidden state after the first Layer
	// blocks; after all of them, that is after ln_f. Logits is then nil. The keys of blocks that no
	// span of a pass needs may be missing. Run may return an error for a Layer below n_layer.
	Hidden bool
	Layer  int

	// What is read and changed inside of the pass; nil: nothing. All rows of all blocks are then
	// computed.
	Trace *Trace
}

// Rows returns the number of rows of a pass.
func (p *Pass) Rows() int {
	n := 0
	for i := range p.Spans {
		n += len(p.Spans[i].Tokens)
	}
	return n
}

// Unread returns the number of tokens, the first ones, of which nothing is wanted. They need only
// keys and values of the last block.
func (s *Span) Unread() int {
	if s.Trace != nil {
		return 0
	}
	return s.unwanted()
}

// unwanted returns the number of tokens, the first ones, of which no logits or hidden states are
// wanted.
func (s *Span) unwanted() int {
	if s.Logits != nil {
		return min(s.Visit, len(s.Tokens)-1)
	}
	return min(s.Visit, len(s.Tokens))
}

// Wants reports whether the logits after token i are wanted.
func (s *Span) Wants(i int) bool { return !s.Hidden && i >= s.unwanted() }

// A NonFiniteError names the first logit of a pass that is not finite, in the order of spans,
// tokens and ids. Rows before it may have been visited or not. For a span with Hidden, ID is an
// index into the hidden state.
type NonFiniteError struct {
	Span, Token, ID int
}

func (e *NonFiniteError) Error() string {
	return fmt.Sprintf("span %d: logits after token %d: id %d is not finite", e.Span, e.Token, e.ID)
}

// ErrCacheFull says that the budget does not have room for the pages that a pass needs.
var ErrCacheFull = errors.New("cache full")

// Arithmetic is the version of the order of operations that kernels/doc.go and this package's
// callers define. It is raised whenever a bit of any result changes: of logits, or of the text of a
// seed. Package dev/digest holds it to recorded bits.
const Arithmetic = 1

// Budget: the memory that the caches of a model take, and its bound.

// A Budget counts the bytes of cache pages. It is safe for concurrent use.
type Budget struct {
	limit int64 // 0 for none
	used  atomic.Int64
}

// NewBudget returns a budget of limit bytes; 0 means no limit.
func NewBudget(limit int64) *Budget { return &Budget{limit: limit} }

// Used returns the number of bytes that are taken.
func (b *Budget) Used() int64 { return b.used.Load() }

// Limit returns how many bytes may be taken; 0 means no limit.
func (b *Budget) Limit() int64 { return b.limit }

// Take takes n bytes, or returns an ErrCacheFull with the numbers.
func (b *Budget) Take(n int64) error {
	for {
		used := b.used.Load()
		if b.limit > 0 && n > b.limit-used {
			return fmt.Errorf("%w: %d bytes in use and %d more, want at most %d", ErrCacheFull,
				used, n, b.limit)
		}
		if b.used.CompareAndSwap(used, used+n) {
			return nil
		}
	}
}

// Give gives n bytes back.
func (b *Budget) Give(n int64) { b.used.Add(-n) }

// Traces: the values of points that a caller reads, and the edits that change them.

// A Trace says what a span's caller reads inside of the pass, and changes.
type Trace struct {
	Reads Points
	From  int // Tokens[From:] are read

	// Read is called for each point of Reads and each token that is read, by any worker, several at
	// a time, with the values after the edits. i is the index of the token in the span. x is valid
	// only during the call.
	Read func(at stack.Point, i int, x []float32)

	Edits []stack.Edit // applied in their order
}

// Points is a set of points: for each layer a bit for each kind. Kinds that there are once are in
// layer 0.
type Points []uint32

// Add adds a point, or with AllLayers those of all layers.
func (s Points) Add(p stack.Point) {
	if p.Layer == stack.AllLayers && !p.Kind.Once() {
		for i := range s {
			s[i] |= 1 << p.Kind
		}
		return
	}
	s[max(0, p.Layer)] |= 1 << p.Kind
}

// Has reports whether a point is in the set.
func (s Points) Has(p stack.Point) bool { return s != nil && s[p.Layer]>>p.Kind&1 != 0 }

// Union adds all points of another set.
func (s Points) Union(o Points) {
	for i, kinds := range o {
		s[i] |= kinds
	}
}
