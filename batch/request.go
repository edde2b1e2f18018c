package batch

// A caller's request, the channel of its tokens, and the queue of requests that have had no slot.

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"picogpt/decode"
	"picogpt/model"
)

// A Request is a caller's request to a Batcher.
type Request struct {
	Prompt  []int
	Options decode.Options
	Samples int // texts, each with a seed of its own; 0 means 1

	// Model is the Batcher's, or a variant of it: nil means the Batcher's. Texts of all of them are
	// in one batch, and share evaluated prompts only with those of the same one.
	Model *model.Model

	// Client identifies the client. Of the requests that wait for a slot, those of the client with
	// the fewest slots come first, and among equals those of the client that has waited longest for
	// a turn. Where no slot is free, a client that has two more gives one, once the text that has
	// it has had 8 steps. Requests without it are of one client.
	Client string

	// Salt keeps texts apart: evaluated prompts are shared only with texts of the same salt. The
	// time that a prompt takes therefore tells nothing about texts of other salts.
	Salt string

	// EditsKey may be KeyOf(Options.Edits), for a caller that has several requests with the same
	// edits. "" means that Run computes it.
	EditsKey string

	// Begun, if not nil, counts the texts that have had a slot, but for those that lost it because
	// their caller is slow. It may be read at any time.
	Begun *atomic.Int32

	// Progress, if not nil, is filled in. It may be read when the first token has come, or the loop
	// has ended.
	Progress *Progress
}

// saltOf returns the salt of a request. Texts that are edited alike share evaluated prompts, and no
// others do.
func saltOf(r *Request) string {
	if len(r.Options.Edits) == 0 {
		return r.Salt
	}
	key := r.EditsKey
	if key == "" {
		key = KeyOf(r.Options.Edits)
	}
	return r.Salt + "\x00" + key
}

// KeyOf returns the Request.EditsKey of some edits: a digest of their bits.
func KeyOf(edits []model.Edit) string {
	digest := sha256.New()
	var b []byte // 4 kB at a time
	for i := range edits {
		e := &edits[i]
		b = append(append(b, e.Op...), 0)
		for _, n := range []int{int(e.At.Kind), e.At.Layer, e.Head, e.From, e.To, e.KeysFrom,
			e.KeysTo, len(e.Values)} {
			b = binary.LittleEndian.AppendUint64(b, uint64(n))
		}
		for _, x := range e.Values {
			if b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x)); len(b) >= 4<<10 {
				digest.Write(b)
				b = b[:0]
			}
		}
	}
	digest.Write(b)
	return string(digest.Sum(nil))
}

// Progress says when a request reached which state. The time of a state that it did not reach is
// zero.
type Progress struct {
	Submitted time.Time
	Placed    time.Time // when one of its texts was given a slot for the first time
	First     time.Time // when its first token was chosen
	Cached    int       // tokens of the prompt that others had evaluated
	Own       int       // of these, tokens that were evaluated for a request of the same Client
}

// deadEnd is the Finish of what stands for the token that a sample could not have.
const deadEnd = "dead end"

// buffered is how many tokens of a text may wait for their caller.
const buffered = 16

// A request is one call: one text, or several samples of one prompt.
type request struct {
	client   string
	salt     string
	model    *model.Model
	prompt   int // its length in tokens
	begun    *atomic.Int32
	progress *Progress
	lent     bool // the session is the caller's
	scored   bool // the tokens of the prompt are wanted, with their scores
	top      int  // alternatives of each token
	apart    bool // all hidden states are wanted: it neither has nor is a prefix of others
	samples  int

	// The Batcher's goroutine alone uses these.
	waiting []*task // without a slot
	parent  *task   // for samples: the prompt, when it is evaluated, until all are forked; else nil
	forked  int     // samples
	running int     // tasks that have a slot
	planned int     // of those, in the current step
	sent    int64   // tokens
	counted bool    // what it found in the prefix cache

	asked atomic.Int64           // tokens that the caller has asked for
	left  atomic.Bool            // the caller is gone
	ended atomic.Pointer[ending] // the caller's context has ended, or nil

	// The goroutine writes these before it sends the first token or closes tokens.
	tokens   chan decode.Token    // closed at the end
	echo     *decode.PromptTokens // the tokens of a prompt that is scored, or nil
	states   []float32            // of the tokens whose hidden states are wanted
	failed   []error              // by sample: set before its last token, which is none
	err      error                // set before the end
	panicked any                  // set before the end
}

// newRequest returns what is wanted as a request whose first text is a stream, with room for so
// many tokens that the caller has not taken.
func newRequest(wanted *Request, first *decode.Stream, tokens int) *request {
	o := &wanted.Options
	r := &request{client: wanted.Client, salt: saltOf(wanted), prompt: len(first.Context()),
		model:    first.Session().Model(),
		begun:    cmp.Or(wanted.Begun, new(atomic.Int32)),
		progress: cmp.Or(wanted.Progress, &Progress{}), scored: o.Echo != decode.EchoNone,
		top: o.Top, samples: 1, tokens: make(chan decode.Token, tokens)}
	r.waiting = []*task{{Stream: first, request: r}}
	return r
}

// serve submits a request and yields its tokens, in the caller's goroutine.
func (b *Batcher) serve(ctx callerContext, r *request, yield func(decode.Token, error) bool) {
	r.ended.Store(ctx.ended)
	if err := b.submit(r); err != nil {
		close(r.tokens)
		yield(decode.Token{}, err)
		return
	}
	defer func() {
		r.left.Store(true)
		b.kick()
	}()
	stop := context.AfterFunc(ctx, func() { b.cancelled(r, ctx.ending()) })
	defer stop()
	echoed := map[int]bool{}
	echo := func(sample int) bool { // the prompt comes before the sample's first token
		if r.echo == nil || echoed[sample] {
			return true
		}
		echoed[sample] = true
		for t := range r.echo.Tokens(sample) {
			if !yield(t, nil) {
				return false
			}
		}
		return true
	}
	for {
		if err := ctx.Context.Err(); err != nil {
			b.cancelled(r, &ending{err: err})
		}
		r.asked.Add(1)
		b.kick()
		t, ok := <-r.tokens
		switch {
		case ok:
			var err error
			if t.Finish == deadEnd {
				t, err = decode.Token{Sample: t.Sample}, r.failed[t.Sample]
			}
			if !echo(t.Sample) || !yield(t, err) {
				return
			}
		case r.panicked != nil:
			panic(r.panicked)
		case r.err != nil:
			yield(decode.Token{}, r.err)
			return
		default: // with EchoOnly there were no other tokens
			for i := range r.samples {
				if !echo(i) {
					return
				}
			}
			return
		}
	}
}

// The context of a Batcher's caller. Its methods may be any code: they may panic, wait, or call the
// Batcher. They are therefore called in the caller's goroutine, or by package context for it, and
// never by the Batcher's goroutine, on which all texts depend.

// An ending is why a caller's context ended: an error, or a panic of one of its methods.
type ending struct {
	err      error
	panicked any
}

// A callerContext is a caller's context whose methods do not panic, once the first calls have not.
type callerContext struct {
	context.Context
	done  <-chan struct{}
	ended *ending // before the call; nil: it had not
}

// watch calls a context's methods for the first time, in the caller's goroutine.
func watch(ctx context.Context) (w callerContext, err error) {
	if ctx == nil {
		return w, model.ErrNoContext
	}
	w = callerContext{Context: ctx, done: ctx.Done()}
	if err := ctx.Err(); err != nil {
		w.ended = &ending{err: err}
	}
	return w, nil
}

func (w callerContext) Done() <-chan struct{} { return w.done }

// Err returns the error that package context asks for when Done is closed. It is never nil.
func (w callerContext) Err() error { return w.ending().err }

func (w callerContext) Value(key any) any {
	defer func() { _ = recover() }()
	return w.Context.Value(key)
}

// ending returns why a context has ended.
func (w callerContext) ending() (e *ending) {
	defer func() {
		if p := recover(); p != nil {
			e = &ending{fmt.Errorf("panic: %v", p), p}
		}
	}()
	if err := w.Context.Err(); err != nil {
		return &ending{err: err}
	}
	return &ending{err: context.Canceled}
}

// cancelled makes the Batcher's goroutine end a request, unless it is told to already.
func (b *Batcher) cancelled(r *request, e *ending) {
	if r.ended.CompareAndSwap(nil, e) {
		b.kick()
	}
}

// A queue holds requests that have had no slot yet, by client, those of each in the order of their
// calls.
type queue struct {
	clients map[string]*client // that have a request here
	turns   []*client          // the same clients: who has waited longest for a turn comes first
	n       int                // requests
}

// A client is a client that has requests in the queue.
type client struct {
	name     string
	requests []*request
}

func newQueue() queue { return queue{clients: map[string]*client{}} }

// push adds a request behind its client's others.
func (q *queue) push(r *request) {
	c := q.clients[r.client]
	if c == nil {
		c = &client{name: r.client}
		q.clients[r.client], q.turns = c, append(q.turns, c)
	}
	c.requests = append(c.requests, r)
	q.n++
}

// next returns the request whose turn it is, of the client that has the fewest slots. It returns
// nil if the queue is empty.
func (q *queue) next(slots map[string]int) *request {
	if len(q.turns) == 0 {
		return nil
	}
	return slices.MinFunc(q.turns, func(a, b *client) int { // the first among equals
		return cmp.Compare(slots[a.name], slots[b.name])
	}).requests[0]
}

// pop removes a request, the first of its client, whose next turn comes after those of all others.
func (q *queue) pop(r *request) {
	c := q.clients[r.client]
	c.requests = slices.Delete(c.requests, 0, 1)
	q.turns = slices.DeleteFunc(q.turns, func(other *client) bool { return other == c })
	q.n--
	if len(c.requests) > 0 {
		q.turns = append(q.turns, c)
	} else {
		delete(q.clients, r.client)
	}
}

// remove removes the requests for which gone returns true.
func (q *queue) remove(gone func(*request) bool) {
	q.turns = slices.DeleteFunc(q.turns, func(c *client) bool {
		before := len(c.requests)
		c.requests = slices.DeleteFunc(c.requests, gone)
		q.n -= before - len(c.requests)
		if len(c.requests) == 0 {
			delete(q.clients, c.name)
		}
		return len(c.requests) == 0
	})
}
