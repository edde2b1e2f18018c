package batch

// What one caller wants of a Batcher, and how the tokens come to it.

import (
	"context"
	"picogpt/decode"
	"sync/atomic"
	"time"
)

// A Request is what one caller wants of a Batcher.
type Request struct {
	Prompt  []int
	Options decode.Options
	Samples int // texts, of which each has a seed of its own; 0 means 1

	// Client says who asks. Where texts wait for a place, the client that has fewest places now
	// comes first, and among equals the one who has waited longest for a turn. All that do not say
	// are one client.
	Client string

	// Salt keeps what texts have in common from those of another salt: the prompt is evaluated even
	// where another one begins as it does. From the time that a prompt takes, nobody then learns
	// what others wrote.
	Salt string

	// Progress, if not nil, is filled in. It may be read when the first token has come, or the loop
	// has ended.
	Progress *Progress
}

// Progress says when a request came to something. Times are zero where it did not.
type Progress struct {
	Submitted time.Time
	Placed    time.Time // when it was given a place in the batch for the first time
	First     time.Time // when its first token was there
	Cached    int       // tokens of the prompt that others had evaluated
}

// buffered is how many tokens of a text may wait for their caller.
const buffered = 16

// A request is one call: one text, or several samples of one prompt.
type request struct {
	client   string
	salt     string
	prompt   int // tokens of it
	progress *Progress
	kept     bool // the session is the caller's
	scores   bool // of the prompt's tokens are wanted
	top      int  // alternatives of each token
	// at the end of the prompt, where samples are forked; nil before and for one text
	parent  *task
	paused  []*task // without a place
	begun   int     // samples
	samples int
	running int // streams that have a place
	planned int // of those, in the current step

	// The prompt's tokens, all scored, or nil. They do not go through the channel: set before the
	// first token is sent, or the channel closed.
	echo   *decode.PromptTokens
	tokens chan decode.Token // closed at the end
	sent   int64             // tokens
	asked  atomic.Int64      // tokens that the caller has come for
	left   atomic.Bool       // the caller is gone
	ended  atomic.Pointer[ending]

	// Set before tokens is closed.
	err      error
	panicked any
}

func newRequest(first *decode.Stream, o *decode.Options, tokens int) *request {
	r := &request{prompt: len(first.Context()), progress: &Progress{}, samples: 1,
		scores: o.Echo != decode.EchoNone, top: o.Top, tokens: make(chan decode.Token, tokens)}
	r.paused = []*task{{Stream: first, request: r}}
	return r
}

// serve yields a request's tokens until its end or the caller's.
func (b *Batcher) serve(ctx watched, r *request, yield func(decode.Token, error) bool) {
	r.ended.Store(ctx.found)
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
			if !echo(t.Sample) || !yield(t, nil) {
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
