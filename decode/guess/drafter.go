// Package guess drafts: it proposes tokens that may follow texts, so that a model can check several
// of them in one Eval. Prompt lookup proposes the tokens that followed an earlier occurrence of the
// newest ones; a [Model] proposes the tokens that a smaller model would choose. The length of a
// draft depends on the measured cost and gain of drafts on this machine. The text never depends on
// it.
//
// Package decode asks a [Drafter] before each step, and checks its proposals.
package guess

// Drafting for texts that run together: who guesses, how much, and whether it pays.

import (
	"context"
	"math"
	"slices"
	"time"

	"picogpt/model"
)

// A Text is a text for which tokens are guessed.
type Text interface {
	Done() bool        // the text has ended
	Context() []int    // its tokens so far
	Pending() int      // how many of them are not evaluated yet
	Room() int         // how many guesses can be of use
	Propose(ids []int) // makes ids the draft, in place of an earlier one
	Guess() int        // makes the text's own guesses the draft, and returns how many it has

	// Rehearse makes Choose choose as the text will after its context, with the random numbers that
	// the text will use. It changes nothing in the text.
	Rehearse()

	// Choose returns the next id, given logits [vocabulary] and the tokens before them.
	Choose(logits []float32, context []int) (id int, err error)
}

// Options say who guesses: prompt lookup, a model, or neither, if the texts do so themselves.
type Options struct {
	Lookup int    // the most tokens that prompt lookup guesses at a time
	Model  *Model // a model that guesses, where Lookup is 0
	Ends   []int  // ids that end texts
	Always bool   // drafts are as long as possible, whatever they cost: for tests
}

// A Drafter drafts for texts that run together. A nil Drafter drafts nothing. In each step its
// methods are called in turn: Begin, Drop if it fails, Took for each token, Paused, and Learn.
// End is the last call.
type Drafter struct {
	guesser  guesser // nil: the texts alone guess
	always   bool
	pace     pace
	odds     []Odds     // by the guesser's kinds of guesses
	attempts []*attempt // for the texts that have not ended

	// Of the current step.
	rows     int
	start    time.Time
	guessing time.Duration // the time of guessing, before the step itself
	pauses   time.Duration // the time that callers had the tokens
}

// A guesser guesses the tokens that follow some texts.
type guesser interface {
	// outlook returns how many tokens it could guess for a text, at most room, and their kind.
	outlook(t *attempt, room int) (most, kind int)

	// beginning returns how long guessing takes for all texts before the first token.
	beginning(p *pace, attempts []*attempt) float64

	// ready reports whether it can guess now. An error ends the texts.
	ready(ctx context.Context, p *pace, attempts []*attempt, always bool) (bool, error)

	// guess makes up to n guesses for each attempt, and records the time. An error ends
	// speculation, and ends the texts only if it is the context's.
	guess(ctx context.Context, p *pace, attempts []*attempt, n int) error

	kinds() []Odds
	release()
}

// An attempt is a text and the guesses for it.
type attempt struct {
	Text
	place      int // index among the texts
	most, kind int
	ids        []int // guessed, or that would be guessed; [0 to most]
	tokens     []int // that came in the step
	drafted    int   // guesses in the step: the text's own, or those of the Drafter
	own        bool
	back       int // of prompt lookup: how far before its end the text was last found to be copied
}

// New returns a Drafter for texts of model m.
func New(m *model.Model, o Options, texts []Text) *Drafter {
	d := &Drafter{always: o.Always}
	switch {
	case o.Lookup > 0:
		d.guesser = lookupGuesser{o.Lookup, o.Ends}
	case o.Model != nil:
		d.guesser = newModelGuesser(m, o.Model, o.Ends)
	}
	if d.guesser != nil {
		d.odds = d.guesser.kinds()
	}
	for i, t := range texts {
		d.attempts = append(d.attempts, &attempt{Text: t, place: i})
	}
	return d
}

// Begin drafts for a step in which every text has one token to evaluate; in other steps there are
// no drafts. An error ends the texts.
func (d *Drafter) Begin(ctx context.Context) error {
	if d == nil {
		return nil
	}
	d.start, d.guessing, d.pauses, d.rows = time.Now(), 0, 0, 0
	d.attempts = slices.DeleteFunc(d.attempts, func(t *attempt) bool { return t.Done() })
	ready := d.guesser != nil && len(d.attempts) > 0
	var all []outlook
	for _, t := range d.attempts {
		t.ids, t.tokens, t.most, t.drafted = t.ids[:0], t.tokens[:0], 0, t.Guess()
		t.own = t.drafted > 0
		pending := t.Pending()
		d.rows += max(0, pending) + t.drafted
		if ready = ready && pending == 1; ready && !t.own {
			t.most, t.kind = d.guesser.outlook(t, t.Room())
			all = append(all, outlook{d.odds[t.kind].Value(), t.most})
		}
	}
	if !ready {
		return nil
	}
	n := d.pace.length(len(d.attempts), all, d.guesser.beginning(&d.pace, d.attempts))
	if d.always {
		n = slices.MaxFunc(d.attempts, func(a, b *attempt) int { return a.most - b.most }).most
	}
	if n == 0 {
		return nil
	}
	if ready, err := d.guesser.ready(ctx, &d.pace, d.attempts, d.always); !ready {
		d.start = time.Now()
		return err
	}
	if err := d.guesser.guess(ctx, &d.pace, d.attempts, n); err != nil {
		d.End()
		return ctx.Err()
	}
	for _, t := range d.attempts {
		if t.own {
			continue
		}
		t.drafted = min(n, len(t.ids))
		t.Propose(t.ids[:t.drafted])
		d.rows += t.drafted
	}
	d.guessing = time.Since(d.start)
	return nil
}

// Drop removes the drafts, and reports whether there were any: a step may have failed because of
// them.
func (d *Drafter) Drop() (dropped bool) {
	if d == nil {
		return false
	}
	for _, t := range d.attempts {
		dropped = dropped || t.drafted > 0
		t.Propose(nil)
		t.drafted = 0
	}
	return dropped
}

// Paused records how long the caller of the texts had tokens.
func (d *Drafter) Paused(pause time.Duration) {
	if d != nil {
		d.pauses += pause
	}
}

// Took records a token of the i-th text.
func (d *Drafter) Took(i, id int) {
	if d == nil {
		return
	}
	for _, t := range d.attempts {
		if t.place == i {
			t.tokens = append(t.tokens, id)
		}
	}
}

// Learn ends a step, and records its time.
func (d *Drafter) Learn() {
	if d == nil || d.guesser == nil {
		return
	}
	tokens, drafted := 0, 0
	for _, t := range d.attempts {
		tokens, drafted = tokens+len(t.tokens), drafted+t.drafted
		d.judge(t)
	}
	took := time.Since(d.start) - d.pauses - d.guessing
	if n := len(d.attempts); n > 0 && d.rows == n+drafted { // no prompts
		d.pace.observe(d.rows, n, tokens, took.Seconds(), d.guessing.Seconds())
	}
}

// judge counts how often the guesses for a text were right. For a guesser that costs nothing, it
// also counts guesses that were not made.
func (d *Drafter) judge(t *attempt) {
	o := &d.odds[t.kind]
	right := 0
	for right < min(len(t.ids), len(t.tokens)) && t.ids[right] == t.tokens[right] {
		right++
	}
	if len(t.ids) == 0 {
		o.fade()
		return
	}
	o.Observe(right, right < min(len(t.ids), len(t.tokens)))
}

// End ends guessing, and gives back its memory.
func (d *Drafter) End() {
	if d == nil {
		return
	}
	d.Drop()
	if d.guesser != nil {
		d.guesser.release()
	}
	d.attempts = nil
}

// The length of a draft: the expected gain of guesses, and their cost on this machine.

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
		if !slices.ContainsFunc(all, func(o outlook) bool { return o.most > k }) {
			return best
		}
	}
}

// Odds count how often guesses of one kind were right. Old counts fade.
type Odds struct {
	Prior      float64 // the odds before any count; it weighs as much as two counts
	right, all float64
}

// Observe counts guesses that were right, one after another, and the wrong one after them.
func (o *Odds) Observe(right int, wrong bool) {
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
func (o *Odds) fade() { o.right, o.all = 0.99*o.right, 0.99*o.all }

// Value is how probable a guess is.
func (o *Odds) Value() float64 { return (o.right + 2*o.Prior) / (o.all + 2) }
