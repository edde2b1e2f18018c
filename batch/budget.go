package batch

// How much of the prompts fits into a step, so that no neighbour waits for longer than it must.

import (
	"cmp"
	"math"
	"slices"
	"time"

	"picogpt/model"
)

// work counts multiplications, to compare steps of different rows.
type work struct {
	layers   float64 // of a row in the linear layers
	position float64 // of a row in attention, for each position before it
	head     float64 // of a row's logits
}

func workOf(c model.Config) work {
	n := float64(c.Embd)
	layers := float64(c.Layer)
	return work{
		layers:   layers * n * (4*n + 2*float64(c.Inner)),
		position: layers * n * 2,
		head:     n * float64(c.VocabSize),
	}
}

// rows is the work of n rows that follow `at` others, some of which have logits.
func (w work) rows(at, n, logits int) float64 {
	return float64(n)*(w.layers+w.position*(float64(at)+float64(n)/2)) + float64(logits)*w.head
}

// fit returns how many of n rows that follow `at` others, and of which all have logits or none, fit
// into so much work.
func (w work) fit(at, n int, logits bool, most float64) int {
	// most = linear·rows + position/2·rows²
	linear := w.layers + w.position*float64(at)
	if logits {
		linear += w.head
	}
	root := math.Sqrt(linear*linear + 2*w.position*max(0, most))
	return min(n, int(2*max(0, most)/(linear+root)))
}

// A budget learns from each step how long work takes on this machine, and says how much a step may
// hold.
//
// Time grows with work, and less than in proportion, because the weights are read once for all
// rows. So if a step of so much work took half of the time there is, twice the work does not take
// more than all of it: the steps come nearer to the limit from below.
type budget struct {
	delay float64    // Options.MaxDelay, in seconds
	row   float64    // the work of a row in the linear layers
	speed float64    // work a second in steps that prompts filled, rather too little
	free  float64    // work that takes no longer than a step without prompts, and a row more
	alone [8]float64 // seconds of the last steps without prompts, the newest anywhere
	steps int        // without prompts
}

func newBudget(delay time.Duration, w work) budget {
	const careful = 1e9 // until a step has told: what pure Go does on a slow machine
	return budget{delay: delay.Seconds(), row: w.layers, speed: careful}
}

// without is how long a step without prompts takes, 0 if there was none.
func (b *budget) without() float64 {
	n := min(b.steps, len(b.alone))
	if n == 0 {
		return 0
	}
	return slices.Min(b.alone[:n])
}

// target is how long a step with prompts should take: MaxDelay, or, where a step without them takes
// longer than half of that, half of MaxDelay more than such a step; and somewhat less, because
// equal steps differ.
func (b *budget) target() float64 {
	alone := b.without()
	return alone + 0.8*(max(b.delay, alone+b.delay/2)-alone)
}

// most returns how much work a step may hold.
func (b *budget) most() float64 { return max(b.target()*b.speed, b.free) }

// observe learns from a step that took so long. prompts says that it held some, full that they left
// nothing of the budget.
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
		b.speed = min(speed, (b.speed+speed)/2) // a step that was lucky counts half
	}
	// While reading the weights takes all the time, more rows are free, and proportion says too
	// little.
	if b.free = 0; full && seconds < 1.15*b.without() {
		b.free = done + 1.5*b.row
	}
}

// A portion is how much of a prompt a step holds.
type portion struct {
	at, pending int // rows evaluated, and rows to be
	scored      int // of the latter, those at the end that all have logits; else the last one has
	rows        int // of those in this step
}

// take makes n the rows of the step, and returns their work.
func (p *portion) take(n int, w work) float64 {
	p.rows = n
	logits := max(0, n-(p.pending-p.scored))
	if n == p.pending && p.scored == 0 {
		logits = 1
	}
	return w.rows(p.at, n, logits)
}

// fit returns how many rows fit into so much work, at least one. The last row's logits come in any
// case.
func (p *portion) fit(most float64, w work) int {
	plain := p.pending - p.scored
	n := w.fit(p.at, plain, false, most)
	if n == plain {
		n += w.fit(p.at+n, p.scored, true, most-w.rows(p.at, n, 0))
	}
	return max(1, n)
}

// share divides what work is left among prompts: equally, but what a short one does not need goes
// to the others. The shortest are served first, and if anything is pending there is at least one
// row. It returns the work, and whether a prompt was cut.
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
