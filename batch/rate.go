package batch

// The rate: how many tokens a second the texts advance while no slot is free, from which follows how
// long the next text waits.

import (
	"math"
	"sync/atomic"
	"time"
)

// A rate learns from the rounds of the loop. Of the latest some remembered count; those in which a
// slot was free say nothing of a batch in which none is.
type rate struct {
	last            time.Time // the end of the round before, if no slot was free in it; else zero
	done            int64     // tokens until then
	rounds          int       // that counted
	tokens, seconds float64
}

const (
	remembered  = 256 // rounds count, in the mean
	leastRounds = 32  // before them a single one that was slow, such as the first, would say too much
)

// observe learns from a round that ended now, and until which so many tokens of all texts were done.
func (r *rate) observe(now time.Time, done int64, full bool) {
	if full && !r.last.IsZero() {
		const keep = 1 - 1.0/remembered
		r.rounds++
		r.tokens = r.tokens*keep + float64(done-r.done)
		r.seconds = r.seconds*keep + now.Sub(r.last).Seconds()
	}
	if r.last, r.done = now, done; !full {
		r.last = time.Time{}
	}
}

// perSecond returns the rate, 0 if nothing is known.
func (r *rate) perSecond() float64 {
	if r.rounds < leastRounds || r.seconds <= 0 {
		return 0
	}
	return r.tokens / r.seconds
}

// A gauge is a number that one goroutine sets and others read.
type gauge struct{ bits atomic.Uint64 }

func (g *gauge) set(x float64) { g.bits.Store(math.Float64bits(x)) }
func (g *gauge) get() float64  { return math.Float64frombits(g.bits.Load()) }
