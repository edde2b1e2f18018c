package batch

// The budget: how much of the prompts fits into a step, so that the next token of other texts does
// not wait longer than MaxDelay; and the rate, from which follows how long the next text waits.

import (
	"cmp"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"picogpt/model"
)

// A work is a model's numbers of multiplications, which compare steps of different rows.
type work struct {
	layers   float64 // of a row in the linear layers
	position float64 // of a row in attention, for each position before it
	head     float64 // of a row's logits
}

// workOf returns the numbers of a model.
func workOf(c model.Config) work {
	n := float64(c.Embd)
	layers := float64(c.Layer)
	return work{
		layers:   layers * n * (4*n + 2*float64(c.Inner)),
		position: layers * n * 2,
		head:     n * float64(c.VocabSize),
	}
}

// rows returns the work of n rows that follow `at` others of their text. So many have logits.
func (w work) rows(at, n, logits int) float64 {
	return float64(n)*(w.layers+w.position*(float64(at)+float64(n)/2)) + float64(logits)*w.head
}

// fit returns how many of n rows that follow `at` others fit into so much work. All of them have
// logits, or none.
func (w work) fit(at, n int, logits bool, most float64) int {
	// most = linear·rows + position/2·rows²
	linear := w.layers + w.position*float64(at)
	if logits {
		linear += w.head
	}
	root := math.Sqrt(linear*linear + 2*w.position*max(0, most))
	return min(n, int(2*max(0, most)/(linear+root)))
}

// A budget learns from each step how long work takes on this machine, and says how much of it a
// step may have.
//
// Time grows with work, but less than in proportion, because the weights are read once for all
// rows. If a step took half of the target, a step of twice the work therefore takes at most the
// target: the steps approach it from below.
type budget struct {
	delay float64    // Options.MaxDelay, in seconds
	row   float64    // the work of a row in the linear layers
	speed float64    // work a second in steps that prompts filled, rather too low
	free  float64    // work that takes no longer than a step without prompts, and a row more
	alone [8]float64 // seconds of the last steps without prompts: a ring
	steps int        // without prompts
}

func newBudget(delay time.Duration, w work) budget {
	const careful = 1e9 // before the first step: the speed of pure Go on a slow machine
	return budget{delay: delay.Seconds(), row: w.layers, speed: careful}
}

// without returns how long a step without prompts takes, in seconds: 0 if there was none.
func (b *budget) without() float64 {
	n := min(b.steps, len(b.alone))
	if n == 0 {
		return 0
	}
	return slices.Min(b.alone[:n])
}

// target returns how long a step with prompts should take: MaxDelay, or, where a step without them
// takes longer than half of that, half of MaxDelay more than such a step; and somewhat less,
// because equal steps differ.
func (b *budget) target() float64 {
	alone := b.without()
	return alone + 0.8*(max(b.delay, alone+b.delay/2)-alone)
}

// most returns how much work a step may have.
func (b *budget) most() float64 { return max(b.target()*b.speed, b.free) }

// observe learns from a step: how long it took, and the work that it did. prompts says that it had
// rows of prompts, full that they used up the budget.
func (b *budget) observe(took time.Duration, done float64, prompts, full bool) {
	seconds := max(took.Seconds(), 1e-9)
	if !prompts {
		b.alone[b.steps%len(b.alone)] = seconds
		b.steps++
		b.speed = max(b.speed, done/seconds) // more rows are not slower
		return
	}
	if full || seconds > b.target() {
		speed := done / seconds
		b.speed = min(speed, (b.speed+speed)/2) // a step that was faster counts half
	}
	// While reading the weights takes all the time, more rows cost nothing, and the speed says too
	// little.
	if b.free = 0; full && seconds < 1.15*b.without() {
		b.free = done + 1.5*b.row
	}
}

// A portion is how much of a prompt a step evaluates.
type portion struct {
	at      int // rows that are evaluated
	pending int // rows that are not
	scored  int // the last of pending, which all have logits; if 0, the last row alone has
	rows    int // of pending, in this step
}

// take gives the portion n rows, and returns their work.
func (p *portion) take(n int, w work) float64 {
	p.rows = n
	logits := max(0, n-(p.pending-p.scored))
	if n == p.pending && p.scored == 0 {
		logits = 1
	}
	return w.rows(p.at, n, logits)
}

// fit returns how many rows fit into so much work, at least one. The logits of the last one are not
// counted.
func (p *portion) fit(most float64, w work) int {
	plain := p.pending - p.scored
	n := w.fit(p.at, plain, false, most)
	if n == plain {
		n += w.fit(p.at+n, p.scored, true, most-w.rows(p.at, n, 0))
	}
	return max(1, n)
}

// share divides so much work among prompts equally; a share that a short prompt does not need goes
// to the others. The shortest comes first, and has at least one row. It returns the work of all,
// and whether a prompt was cut.
func (w work) share(prompts []*portion, most float64) (sum float64, cut bool) {
	slices.SortStableFunc(prompts, func(a, b *portion) int {
		return cmp.Compare(a.pending, b.pending)
	})
	for i, p := range prompts {
		left := most - sum
		if i > 0 && left < w.rows(p.at, 1, 0) {
			return sum, true
		}
		sum += p.take(p.fit(left/float64(len(prompts)-i), w), w)
		cut = cut || p.rows < p.pending
	}
	return sum, cut
}

// A rate learns from the rounds of the loop how many tokens a second the texts advance while no
// slot is free. Of the latest some remembered count; those in which a slot was free say nothing of
// a batch in which none is.
type rate struct {
	last            time.Time // the end of the round before, if no slot was free in it; else zero
	done            int64     // tokens until then
	rounds          int       // that counted
	tokens, seconds float64
}

const (
	remembered  = 256 // rounds count, in the mean
	leastRounds = 32  // before them a slow one, such as the first, would say too much
)

// observe learns from a round that ended now, and until which so many tokens of all texts were
// done.
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
