package guess

// The length of a draft: the expected gain of guesses, and their cost on this machine.

import "math"

// A pace measures, while texts are generated, how long steps of so many rows take and how often
// guesses are right, and computes the draft length that pays. Times are in seconds.
//
// A draft is tried only if its possible loss is small: see spare. The texts do not depend on any of
// this.
type pace struct {
	rows   []average // time of a step, by its rows
	guess  average   // time to guess one token for each text with a model
	plain  float64   // the time that the steps so far would have taken without drafts
	saved  float64   // how much less they took
	steps  int       // so far
	recent int       // steps since the last one without drafts

	promise float64 // the speedup of the best length
}

// An average weighs newer times more. Of its first few it is the least.
type average struct {
	mean float64
	n    int
}

// few is how many times are enough for an estimate.
const few = 3

func (a *average) add(x float64) {
	switch {
	case a.n == 0 || a.n < few && x < a.mean:
		a.mean = x
	case a.n >= few:
		a.mean += 0.15 * (min(x, 2*a.mean) - a.mean) // other programs may have caused an outlier
	}
	a.n++
}

// observe records a step: its rows, how many texts it had, how many tokens came, how long it took,
// and how long the guessing before it took.
func (p *pace) observe(rows, texts, tokens int, took, guessing float64) {
	p.steps++
	for len(p.rows) <= rows {
		p.rows = append(p.rows, average{})
	}
	p.rows[rows].add(took)
	if p.recent++; rows == texts {
		p.recent = 0
	}
	plain := p.step(texts) * float64(tokens) / float64(texts)
	p.plain += plain
	if rows > texts || guessing > 0 {
		p.saved += plain - took - guessing
	}
}

// step returns how long a step of so many rows takes: measured, or interpolated; beyond the
// measured rows, each further row adds a sixteenth.
func (p *pace) step(rows int) float64 {
	below, above := 0, 0
	for r, a := range p.rows {
		switch {
		case a.n == 0:
		case r <= rows:
			below = r
		case above == 0:
			above = r
		}
	}
	switch {
	case below == 0 && above == 0:
		return 0
	case below == 0:
		return p.rows[above].mean
	case above == 0:
		return p.rows[below].mean * (1 + float64(rows-below)/float64(max(16, below)))
	}
	low, high := p.rows[below].mean, p.rows[above].mean
	return low + (high-low)*float64(rows-below)/float64(above-below)
}

// spare returns how much time a try may lose: two steps, a fortieth of all, and the time that
// drafts have saved. 200 tokens therefore take at most 1.04 times as long as without drafts.
func (p *pace) spare(texts int) float64 {
	return 2*p.step(texts) + p.plain/40 + min(p.saved, p.plain)
}

// An outlook is the expected success of the guesses for one text.
type outlook struct {
	odds float64 // the probability that a guess is right if those before it are
	most int     // the most guesses
}

// length returns how many guesses for each text pay best, 0 if none do. guessing is how long it
// takes before the first guess.
func (p *pace) length(texts int, all []outlook, guessing float64) int {
	plain := p.step(texts)
	if p.steps < few || p.recent >= 32 || plain == 0 { // measured at first, and again now and then
		return 0
	}
	best, most := 0, 1.02*float64(texts)/plain
	for k := 1; ; k++ {
		rows, tokens := texts, float64(texts)
		for _, o := range all {
			n := min(k, o.most)
			rows += n
			if n > 0 {
				tokens += o.odds * (1 - math.Pow(o.odds, float64(n))) / max(1-o.odds, 1e-9)
			}
		}
		took := p.step(rows) + guessing + float64(k)*p.guess.mean
		if took-plain > p.spare(texts) {
			return best
		}
		if rate := tokens / took; rate > most {
			best, most, p.promise = k, rate, rate*plain/float64(texts)
		}
		if !longer(all, k) {
			return best
		}
	}
}

// longer reports whether any draft can have more than k guesses.
func longer(all []outlook, k int) bool {
	for _, o := range all {
		if o.most > k {
			return true
		}
	}
	return false
}

// odds count how often guesses of one kind were right. Old counts fade.
type odds struct {
	right, all float64
	prior      float64 // the odds before any count; it weighs as much as two counts
}

func (o *odds) observe(right int, wrong bool) {
	const most = 24
	o.right += float64(right)
	o.all += float64(right)
	if wrong {
		o.all++
	}
	if o.all > most {
		o.right, o.all = o.right*most/o.all, most
	}
}

// fade reduces the counts, so that a kind that was wrong is tried again later.
func (o *odds) fade() { o.right, o.all = 0.99*o.right, 0.99*o.all }

func (o *odds) value() float64 { return (o.right + 2*o.prior) / (o.all + 2) }
