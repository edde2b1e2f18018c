package main

// Timings of a generation, for -v and for the line of progress.

import (
	"fmt"
	"sync/atomic"
	"time"

	"picogpt/decode"
	"picogpt/internal/amount"
)

// A timing counts tokens. label may be called while it counts.
type timing struct {
	start  time.Time
	prompt int  // tokens
	whole  bool // the tokens come when all is done
	asks   bool // for guesses

	tokens atomic.Int64
	first  atomic.Int64 // nanoseconds from start to the first token: the prompt is read

	begun        map[int]bool // samples
	guessed      int
	dropped      int // tokens of the prompt
	slides, slid int // of the context, and the tokens dropped
}

// count takes note of a token and returns how many there are.
func (t *timing) count(token decode.Token) int64 {
	n := t.tokens.Add(1)
	if n == 1 {
		t.first.Store(int64(time.Since(t.start)))
		t.begun = map[int]bool{}
	}
	if token.Guessed {
		t.guessed++
	}
	switch {
	case !t.begun[token.Sample]:
		t.begun[token.Sample] = true
		t.dropped = token.Dropped // the same in each
	case token.Dropped > 0:
		t.slides++
		t.slid += token.Dropped
	}
	return n
}

func (t *timing) label() string {
	n, first := t.tokens.Load(), time.Duration(t.first.Load())
	if n == 0 && t.whole {
		return "searching after " + amount.Count(t.prompt, "token")
	}
	if n == 0 {
		return fmt.Sprintf("reading %s", amount.Count(t.prompt, "token"))
	}
	return fmt.Sprintf("%s, %.1f tokens/s", amount.Count(int(n), "token"),
		amount.Rate(int(n), time.Since(t.start)-first))
}

// log prints the timings under -v, and what was dropped in any case.
func (t *timing) log(a *app) {
	if t.dropped > 0 {
		a.Notef("the prompt does not fit the context: its oldest %s dropped",
			amount.Count(t.dropped, "token"))
	}
	if t.slides > 0 {
		a.Notef("the context slid on %s: %s dropped", amount.Count(t.slides, "time"),
			amount.Count(t.slid, "token"))
	}
	n, first := int(t.tokens.Load()), time.Duration(t.first.Load())
	if n == 0 {
		return
	}
	if t.whole {
		a.logf("search: %s read and %s written in %s", amount.Count(t.prompt, "token"),
			amount.Count(n, "token"), amount.Duration(first))
		a.logf("total: %s from the start", amount.Duration(time.Since(a.start)))
		return
	}
	a.logf("prefill: %s in %s, %.0f tokens/s", amount.Count(t.prompt, "token"), amount.Duration(first),
		amount.Rate(t.prompt, first))
	rest := time.Since(t.start) - first
	if n > 1 {
		a.logf("decode: %s in %s, %s a token, %.1f tokens/s", amount.Count(n-1, "token"), amount.Duration(rest),
			amount.Duration(rest/time.Duration(n-1)), amount.Rate(n-1, rest))
	}
	if t.asks {
		a.logf("guessed: %s of %d", amount.Count(t.guessed, "token"), n)
	}
	a.logf("total: %s from the start", amount.Duration(time.Since(a.start)))
}
