package guess

// How long a draft should be: what guesses are worth, and what they cost on this machine.

import "math"

// A pace learns, while texts are written, how long steps of so many rows take and how often guesses
// are right, and says how long a draft pays. Times are in seconds.
//
// A draft is only tried where what it can lose is small: see spare. The texts do not depend on any
// of this.
type pace struct {
	rows   []average // of steps, by their rows
	guess  average   // of guessing one token for each text with a model
	plain  float64   // what the steps so far would have taken without drafts
	saved  float64   // how much less they took
	begun  int       // steps
	recent int       // steps since the last one without drafts

	promise float64 // how many times faster the length that paid best is
}

// An average is of the newest times, the more so the newer; of the first few, the least.
type average struct {
	mean float64
	n    int
}

// few is how many times tell a time.
const few = 3

func (a *average) add(x float64) {
	switch {
	case a.n == 0 || a.n < few && x < a.mean:
		a.mean = x
	case a.n >= few:
		a.mean += 0.15 * (min(x, 2*a.mean) - a.mean) // other programs may have had their turn
	}
	a.n++
}

// observe notes a step: its rows, how many texts it had, how many tokens came, and how long it took
// after so long a time of guessing.
func (p *pace) observe(rows, texts, tokens int, took, guessing float64) {
	p.begun++
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

// step is how long a step of so many rows takes: as measured, or as it lies between what was, or
// above, where each row is taken to add a sixteenth.
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

// spare is how much a try may lose: two steps, a fortieth of all, and what drafts have saved. So 200
// tokens take at most 1.04 times what they took without.
func (p *pace) spare(texts int) float64 {
	return 2*p.step(texts) + p.plain/40 + min(p.saved, p.plain)
}

// An outlook is what the guesses for one text promise.
type outlook struct {
	odds float64 // that a guess is right when those before it are
	most int     // guesses
}

// length returns how many guesses for each text pay best, 0 if none do. guessing is how long it
// takes to begin with them.
func (p *pace) length(texts int, all []outlook, guessing float64) int {
	plain := p.step(texts)
	if p.begun < few || p.recent >= 32 || plain == 0 { // first, and now and then, know that
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

// odds count how often guesses of one kind were right. Old ones fade.
type odds struct {
	right, all float64
	prior      float64 // before any is counted, worth two of them
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

// fade forgets a little, so that a kind that went wrong is tried again some time.
func (o *odds) fade() { o.right, o.all = 0.99*o.right, 0.99*o.all }

func (o *odds) value() float64 { return (o.right + 2*o.prior) / (o.all + 2) }
