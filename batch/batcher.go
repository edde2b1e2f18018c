// Package batch writes texts for many callers at once, as one continuous batch on one model: token
// for token what [decode.Generate] gives with the same prompt and options.
//
// The types, in an order to read them:
//
//	Batcher      takes requests from any number of goroutines; Options bounds slots, delay, memory
//	Request      one text, or several samples of one prompt, and whose they are; Progress, its times
//	request      the same inside: the channel of its tokens, and why it ended
//	queue        requests that have had no slot yet: clients take turns
//	schedule     the state of the one goroutine that makes steps while there are requests
//	task         a text that has a slot, or waits for one: a [decode.Stream]
//	budget       how much of new prompts fits into the time that others may wait for their token
//	prefixCache  sessions of texts that are written or have ended, for texts that begin alike
//	node         the radix tree that finds the one that has the most tokens in common with a prompt
//	Stats        counts, for operators
//
// A step is one Eval: the next token of each text that has a slot, and as much of the new prompts
// as the budget allows. A text loses its slot to others when its caller is slow to take its tokens,
// or when the cache is full and it came last; it continues when it has a slot again. A caller's own
// code, as in a context, a vocabulary or a constraint, can delay or end its own request only.
package batch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"picogpt/decode"
	"picogpt/model"
	"picogpt/sample"
)

// Options are the options of a Batcher. The zero value is usable.
type Options struct {
	// MaxStreams is the number of slots: how many texts are written at a time, which bounds the
	// memory of their sessions. Others wait, those of one client in the order of their calls,
	// different clients in turns (Request.Client). 0 means 16.
	MaxStreams int

	// MaxDelay bounds the time of a step that evaluates prompts, and so how long the next token of
	// other texts waits for them. Longer prompts are cut. The Batcher learns from the steps before
	// how many rows that is. Where a step without prompts takes more than half of MaxDelay (a large
	// model, many streams), prompts add half of MaxDelay to it. A higher value makes long prompts
	// faster and other texts less steady. 0 means 100 ms.
	MaxDelay time.Duration

	// PrefixBytes is how many bytes the caches of all sessions of the model may take together while
	// the sessions of ended texts are stored: a prompt that begins as one of these does is
	// evaluated from where they differ. The least recently used ones are dropped first, and all of
	// them before a text has to wait for memory. 0 stores none: texts then share common beginnings
	// only while they are written. If it is all of model.Options.CacheBytes, other users of the
	// model may find its cache full.
	PrefixBytes int64
}

// A Batcher writes many texts at once. They join the batch between two steps, and leave it when
// they end.
//
// A caller that is slow to take its tokens delays no other: its text pauses when a few tokens are
// not taken, and after ten times MaxDelay it gives its slot to others. When it continues, its
// tokens may have to be evaluated again.
//
// A goroutine runs while there are requests, and ends with the last of them, or with Close.
type Batcher struct {
	model   *model.Model
	options Options
	ctx     context.Context // of Eval; ended by Close
	cancel  context.CancelFunc
	wake    chan struct{} // holds one, if something has changed
	finding chan struct{} // holds one, while a mask is being found
	workers sync.WaitGroup
	pool    sample.Pool

	mu      sync.Mutex // guards queue, leaving, looping and closed
	queue   queue
	leaving []leaving
	looping bool // the goroutine runs
	closed  bool

	schedule // used by the goroutine only
	counters counters
}

// ErrClosed is the error of requests that Close ended, and of later ones.
var ErrClosed = errors.New("batcher: closed")

// New returns a Batcher on m, which may be used for other work too. Close the Batcher before m.
func New(m *model.Model, o Options) *Batcher {
	if o.MaxStreams <= 0 {
		o.MaxStreams = 16
	}
	if o.MaxDelay <= 0 {
		o.MaxDelay = 100 * time.Millisecond
	}
	b := &Batcher{model: m, options: o, wake: make(chan struct{}, 1), queue: newQueue(),
		finding: make(chan struct{}, 1)}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	b.schedule = newSchedule(b)
	return b
}

// Close ends all requests with ErrClosed, and waits for that. A second Close does nothing.
func (b *Batcher) Close() error {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.cancel()
	b.kick()
	b.workers.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.prefixes.evictAll()
	return nil
}

// A leaving is a variant whose prompts are to be dropped, and a channel that is closed then.
type leaving struct {
	model *model.Model
	done  chan struct{}
}

// Drop drops the evaluated prompts of a variant of the model, so that nothing here refers to it. No
// request may have it any more, unless its caller has left.
func (b *Batcher) Drop(m *model.Model) {
	l := leaving{m, make(chan struct{})}
	b.mu.Lock()
	b.leaving = append(b.leaving, l)
	if !b.looping {
		b.dropLeaving()
	}
	b.mu.Unlock()
	b.kick()
	<-l.done
}

// dropLeaving drops the prompts of the variants that leave. The caller has b.mu, and is the
// goroutine or knows that there is none.
func (b *Batcher) dropLeaving() {
	if len(b.leaving) > 0 {
		b.reset()
	}
	for _, l := range b.leaving {
		b.prefixes.dropModel(l.model)
		close(l.done)
	}
	b.leaving = nil
}

// newSession returns a session of a request's model.
func (b *Batcher) newSession(r *Request) *model.Session {
	return cmp.Or(r.Model, b.model).NewSession()
}

// Generate streams the tokens that follow prompt. It is [decode.Generate] on a session of its own,
// in the batch, and may be called from many goroutines at once. A cancelled context and a break end
// the text between two steps.
func (b *Batcher) Generate(
	ctx context.Context, prompt []int, o decode.Options,
) iter.Seq2[decode.Token, error] {
	return b.Run(ctx, Request{Prompt: prompt, Options: o})
}

// Samples streams n continuations of one prompt, which is evaluated once: sample i, marked by
// Token.Sample, is token for token what Generate gives with Seed+i. The tokens of a sample come in
// order, those of different samples as they are chosen. An error that IsDeadEnd ends one sample,
// that of the Token that comes with it: unless the caller breaks, the others continue. Any other
// error ends all of them.
func (b *Batcher) Samples(
	ctx context.Context, prompt []int, n int, o decode.Options,
) iter.Seq2[decode.Token, error] {
	return b.run(ctx, Request{Prompt: prompt, Options: o}, n)
}

// Run streams the tokens of a request, as Generate and Samples do.
func (b *Batcher) Run(ctx context.Context, r Request) iter.Seq2[decode.Token, error] {
	return b.run(ctx, r, max(r.Samples, 1))
}

// run streams n texts of a request.
func (b *Batcher) run(ctx context.Context, wanted Request, n int) iter.Seq2[decode.Token, error] {
	return func(yield func(decode.Token, error) bool) {
		if n < 1 {
			yield(decode.Token{}, fmt.Errorf("samples %d: want at least 1", n))
			return
		}
		caller, err := watch(ctx)
		if err != nil {
			yield(decode.Token{}, err)
			return
		}
		st, err := decode.NewStream(b.newSession(&wanted), wanted.Prompt, wanted.Options)
		if err != nil {
			yield(decode.Token{}, err)
			return
		}
		r := newRequest(&wanted, st, buffered*min(n, b.options.MaxStreams))
		r.samples, r.failed = n, make([]error, n)
		st.SetPool(&b.pool)
		st.GuessForced()
		if st.SetAccess(decode.AccessNever); n > 1 {
			st.SetAccess(decode.AccessForks)
			r.waiting[0].parent = true
		}
		b.serve(caller, r, yield)
	}
}

// Continue is [decode.Generate] on the caller's session s, in the batch: when the loop has ended,
// the session holds the prompt and every token that was yielded except the last. Do not use it
// until then. It accepts no Options.Echo.
func (b *Batcher) Continue(
	ctx context.Context, s *model.Session, prompt []int, o decode.Options,
) iter.Seq2[decode.Token, error] {
	return func(yield func(decode.Token, error) bool) {
		caller, err := watch(ctx)
		switch {
		case err != nil:
			yield(decode.Token{}, err)
			return
		case s.Model() != b.model:
			yield(decode.Token{}, errors.New("batcher: the session is of another model"))
			return
		case o.Echo != decode.EchoNone:
			yield(decode.Token{}, &sample.OptionError{Err: decode.ErrNoEcho})
			return
		}
		st, err := decode.NewStream(s, prompt, o)
		if err != nil {
			yield(decode.Token{}, err)
			return
		}
		st.SetPool(&b.pool)
		st.GuessForced()
		st.SetAccess(decode.AccessAtEnd)
		r := newRequest(&Request{}, st, buffered)
		r.lent = true
		defer func() {
			unseen := 0
			for range r.tokens {
				unseen++
			}
			s.Truncate(s.Len() - unseen)
		}()
		b.serve(caller, r, yield)
	}
}

// submit puts a request at the end of the queue, and starts the goroutine if it does not run.
func (b *Batcher) submit(r *request) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return ErrClosed
	}
	r.progress.Submitted = time.Now()
	b.queue.push(r)
	if !b.looping {
		b.looping = true
		b.workers.Add(1)
		go b.loop()
	}
	return nil
}

// kick wakes the goroutine, because something has changed.
func (b *Batcher) kick() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// States evaluates the prompt of a request in the batch, in turns with other texts, and returns the
// hidden states after ln_f of its tokens from index from on, [len(prompt)-from, n_embd]. No token
// follows: the request's Options and Samples are not used. While the text has a slot, the hidden
// states take memory beside the cache.
func (b *Batcher) States(ctx context.Context, wanted Request, from int) ([]float32, error) {
	if from < 0 || from >= max(1, len(wanted.Prompt)) {
		return nil, fmt.Errorf("states: from token %d of %d: want one of them", from,
			len(wanted.Prompt))
	}
	caller, err := watch(ctx)
	if err != nil {
		return nil, err
	}
	st, err := decode.NewReading(b.newSession(&wanted), wanted.Prompt, from)
	if err != nil {
		return nil, err
	}
	wanted.Options = decode.Options{}
	r := newRequest(&wanted, st, 1)
	r.apart = from == 0
	st.SetAccess(decode.AccessNever)
	b.serve(caller, r, func(_ decode.Token, failed error) bool {
		err = failed
		return true
	})
	return r.states, err
}
