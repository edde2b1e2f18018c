package main

// Timings of a generation, for -v and for the line of progress.

import (
	"fmt"
	"sync/atomic"
	"time"

	"picogpt/decode"
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
		return "searching after " + count(t.prompt, "token")
	}
	if n == 0 {
		return fmt.Sprintf("reading %s", count(t.prompt, "token"))
	}
	return fmt.Sprintf("%s, %.1f tokens/s", count(int(n), "token"),
		rate(int(n), time.Since(t.start)-first))
}

// log prints the timings under -v, and what was dropped in any case.
func (t *timing) log(a *app) {
	if t.dropped > 0 {
		a.notef("the prompt does not fit the context: its oldest %s dropped",
			count(t.dropped, "token"))
	}
	if t.slides > 0 {
		a.notef("the context slid on %s: %s dropped", count(t.slides, "time"),
			count(t.slid, "token"))
	}
	n, first := int(t.tokens.Load()), time.Duration(t.first.Load())
	if n == 0 {
		return
	}
	if t.whole {
		a.logf("search: %s read and %s written in %s", count(t.prompt, "token"),
			count(n, "token"), duration(first))
		a.logf("total: %s from the start", duration(time.Since(a.start)))
		return
	}
	a.logf("prefill: %s in %s, %.0f tokens/s", count(t.prompt, "token"), duration(first),
		rate(t.prompt, first))
	rest := time.Since(t.start) - first
	if n > 1 {
		a.logf("decode: %s in %s, %s a token, %.1f tokens/s", count(n-1, "token"), duration(rest),
			duration(rest/time.Duration(n-1)), rate(n-1, rest))
	}
	if t.asks {
		a.logf("guessed: %s of %d", count(t.guessed, "token"), n)
	}
	a.logf("total: %s from the start", duration(time.Since(a.start)))
}

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

func rate(n int, d time.Duration) float64 { return float64(n) / max(d.Seconds(), 1e-9) }

// duration writes a duration with three digits or so.
func duration(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return d.Round(time.Microsecond).String()
	case d < time.Second:
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(10 * time.Millisecond).String()
}
