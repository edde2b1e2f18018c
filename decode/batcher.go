package decode

// Generation for many callers at once: the calls a Go user sees. What happens to them is in
// schedule.go.

import (
	"context"
	"errors"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"picogpt/model"
)

// BatcherOptions are what a Batcher is made with. The zero value is useful.
type BatcherOptions struct {
	// MaxStreams bounds how many texts are written at a time, and with them the memory of their
	// sessions. Others wait for a place, in the order of their calls. 0 means 16.
	MaxStreams int

	// MaxDelay bounds the time of a step that evaluates prompts: so long, at most, does the next
	// token of a neighbour wait for them. Longer prompts are cut. The Batcher learns how many rows
	// that is from the steps before. Where a step without prompts takes more than half of MaxDelay
	// (a large model, many streams), prompts add half of MaxDelay to it. More is better for long
	// prompts, less for everybody else. 0 means 100 ms.
	MaxDelay time.Duration
}

// A Batcher writes many texts at once, one continuous batch on one model: each step evaluates the
// next token of every text, and of new prompts as much as MaxDelay allows. Different prompts and
// options come from any number of goroutines, join between two steps and leave when they end. Each
// text is token for token what [Generate] gives with the same prompt and options.
//
// A caller that is slow to take its tokens holds up nobody: its text pauses when a few tokens wait,
// and after ten times MaxDelay it gives its place to others. What it had evaluated is evaluated
// again when it goes on.
//
// A goroutine runs while there are texts to write, and ends with the last of them, or with Close.
type Batcher struct {
	model   *model.Model
	options BatcherOptions
	ctx     context.Context // of Eval; ended by Close
	cancel  context.CancelFunc
	wake    chan struct{} // holds one: something has changed
	workers sync.WaitGroup

	mu      sync.Mutex // guards what follows
	queue   []*request // that have had no place yet, in order
	writing bool       // the goroutine is there
	closed  bool

	schedule // of the goroutine
}

// ErrBatcherClosed is the error of texts that Close ended, and of those that came later.
var ErrBatcherClosed = errors.New("batcher: closed")

// NewBatcher returns a Batcher on m, which stays of use for other work. Close it before m.
func NewBatcher(m *model.Model, o BatcherOptions) *Batcher {
	if o.MaxStreams <= 0 {
		o.MaxStreams = 16
	}
	if o.MaxDelay <= 0 {
		o.MaxDelay = 100 * time.Millisecond
	}
	b := &Batcher{model: m, options: o, wake: make(chan struct{}, 1)}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	b.schedule = newSchedule(b)
	return b
}

// Close ends all texts with ErrBatcherClosed, and waits for that. A second Close does nothing.
func (b *Batcher) Close() error {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.cancel()
	b.kick()
	b.workers.Wait()
	return nil
}

// buffered is how many tokens of a text may wait for their caller.
const buffered = 16

// A request is what one call wants: one text, or several samples of one prompt.
type request struct {
	ctx  context.Context
	kept bool // the session is the caller's
	// at the end of the prompt, where samples are forked; nil before and for one text
	parent  *Stream
	paused  []*Stream // without a place
	begun   int       // samples
	samples int
	running int // streams that have a place
	planned int // of those, in the current step

	tokens chan Token   // closed at the end
	sent   int64        // tokens
	asked  atomic.Int64 // tokens that the caller has come for
	left   atomic.Bool  // the caller is gone

	// Set before tokens is closed.
	err      error
	panicked any
}

func newRequest(ctx context.Context, first *Stream, tokens int) *request {
	return &request{ctx: ctx, paused: []*Stream{first}, tokens: make(chan Token, tokens)}
}

// Generate streams the tokens that follow prompt. It is [Generate] on a session of its own, in the
// batch, and may be called from many goroutines at once. A cancelled context ends the text between
// two steps, a break gives its place to others.
func (b *Batcher) Generate(
	ctx context.Context, prompt []int, o Options,
) iter.Seq2[Token, error] {
	return func(yield func(Token, error) bool) {
		st, err := NewStream(b.model.NewSession(), prompt, o)
		if err != nil {
			yield(Token{}, err)
			return
		}
		st.own = true
		b.serve(newRequest(ctx, st, buffered), yield)
	}
}

// Continue is [Generate] on the caller's session s, in the batch: when the loop has ended, the
// session holds the prompt and every token that was yielded but the last. Leave it alone until
// then.
func (b *Batcher) Continue(
	ctx context.Context, s *model.Session, prompt []int, o Options,
) iter.Seq2[Token, error] {
	return func(yield func(Token, error) bool) {
		if s.Model() != b.model {
			yield(Token{}, errors.New("batcher: the session is of another model"))
			return
		}
		st, err := NewStream(s, prompt, o)
		if err != nil {
			yield(Token{}, err)
			return
		}
		st.brief = true
		r := newRequest(ctx, st, buffered)
		r.kept = true
		defer func() {
			unseen := 0
			for range r.tokens {
				unseen++
			}
			s.Truncate(s.Len() - unseen)
		}()
		b.serve(r, yield)
	}
}

// Samples streams n continuations of one prompt, which is evaluated once: sample i, marked by
// Token.Sample, is token for token what Generate gives with Seed+i. The tokens of a sample come in
// order, those of different samples as they are made. An error ends all of them.
func (b *Batcher) Samples(
	ctx context.Context, prompt []int, n int, o Options,
) iter.Seq2[Token, error] {
	return func(yield func(Token, error) bool) {
		if err := checkSamples(n); err != nil {
			yield(Token{}, err)
			return
		}
		st, err := NewStream(b.model.NewSession(), prompt, o)
		if err != nil {
			yield(Token{}, err)
			return
		}
		st.forks = true
		r := newRequest(ctx, st, buffered*min(n, b.options.MaxStreams))
		r.samples = n
		b.serve(r, yield)
	}
}

// serve yields a request's tokens until its end or the caller's.
func (b *Batcher) serve(r *request, yield func(Token, error) bool) {
	if err := b.submit(r); err != nil {
		close(r.tokens)
		yield(Token{}, err)
		return
	}
	stop := context.AfterFunc(r.ctx, b.kick)
	defer stop()
	defer func() {
		r.left.Store(true)
		b.kick()
	}()
	for {
		r.asked.Add(1)
		b.kick()
		t, ok := <-r.tokens
		switch {
		case ok:
			if !yield(t, nil) {
				return
			}
		case r.panicked != nil:
			panic(r.panicked)
		case r.err != nil:
			yield(Token{}, r.err)
			return
		default:
			return
		}
	}
}

// submit puts a request at the end of the queue, and starts the goroutine if it is not there.
func (b *Batcher) submit(r *request) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return ErrBatcherClosed
	}
	b.queue = append(b.queue, r)
	if !b.writing {
		b.writing = true
		b.workers.Add(1)
		go b.write()
	}
	return nil
}

// kick tells the goroutine that something has changed.
func (b *Batcher) kick() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}
