// Package guess drafts: it proposes tokens that may follow texts, so that a model can check several
// of them in one Eval. Prompt lookup proposes the tokens that followed an earlier occurrence of the
// newest ones; a [Model] proposes the tokens that a smaller model would choose. The length of a
// draft depends on the measured cost and gain of drafts on this machine. The text never depends on
// it.
//
// Package decode asks a [Drafter] before each step, and checks its proposals.
package guess

import (
	"context"
	"slices"
	"time"

	"picogpt/model"
)

// Drafting for texts that run together: who guesses, how much, and whether it pays.

// A Text is a text for which tokens are guessed.
type Text interface {
	Done() bool        // the text has ended
	Context() []int    // its tokens so far
	Pending() int      // how many of them are not evaluated yet
	Room() int         // how many guesses can be of use
	Propose(ids []int) // makes ids the draft, in place of an earlier one
	Drafted() int      // how many guesses the text has made itself: it gets no others

	// Rehearse makes Choose choose as the text will after its context, with the random numbers that
	// the text will use. It changes nothing in the text.
	Rehearse()

	// Choose returns the next id, given logits [vocabulary] and the tokens before them.
	Choose(logits []float32, context []int) (id int, err error)
}

// Options say who guesses: prompt lookup or a model. One of the two must be given.
type Options struct {
	Lookup int    // the most tokens that prompt lookup guesses at a time; 0 means Model
	Model  *Model // a model that guesses
	Ends   []int  // ids that end texts
	Always bool   // drafts are as long as possible, whatever they cost: for tests
}

// A Drafter drafts for texts that run together. A nil Drafter drafts nothing. For each step its
// methods are called in turn: Begin, Drop if the step fails, Took for each token, Paused, and Learn.
// End is the last call.
type Drafter struct {
	guesser  guesser
	always   bool
	pace     pace
	odds     []odds     // by the guesser's kinds of guesses
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

	kinds() []odds
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
	d := &Drafter{always: o.Always, guesser: lookupGuesser{o.Lookup, o.Ends}}
	if o.Lookup == 0 {
		d.guesser = newModelGuesser(m, o.Model, o.Ends)
	}
	d.odds = d.guesser.kinds()
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
	ready := true
	var all []outlook
	for _, t := range d.attempts {
		t.ids, t.tokens, t.most, t.drafted = t.ids[:0], t.tokens[:0], 0, t.Drafted()
		t.own = t.drafted > 0
		pending := t.Pending()
		d.rows += max(0, pending) + t.drafted
		if ready = ready && pending == 1; ready && !t.own {
			t.most, t.kind = d.guesser.outlook(t, t.Room())
			all = append(all, outlook{d.odds[t.kind].value(), t.most})
		}
	}
	if !ready || len(d.attempts) == 0 {
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

// Drop removes the drafts: a step may have failed because of them.
func (d *Drafter) Drop() {
	if d == nil {
		return
	}
	for _, t := range d.attempts {
		t.Propose(nil)
		t.drafted = 0
	}
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
	if d == nil {
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
	o.observe(right, right < min(len(t.ids), len(t.tokens)))
}

// End ends guessing, and gives back its memory.
func (d *Drafter) End() {
	if d == nil {
		return
	}
	d.Drop()
	d.guesser.release()
	d.attempts = nil
}

// Prompt lookup: the tokens that followed an earlier occurrence of the newest ones may follow
// again.

// longestMatch is how many of the newest tokens prompt lookup compares at most. The more of them
// occur before, the more likely is it that the same tokens follow.
const longestMatch = 8

// lookup returns up to n tokens [0 to n] that may follow ids, their position in ids, and how many
// of the newest ids precede them there. It is Hugging Face's PromptLookupCandidateGenerator
// (prompt_lookup_num_tokens n, max_matching_ngram_size longest): it takes the longest n-gram first,
// of its earlier occurrences the leftmost, and the ids that follow it, before an id that ends the
// text.
func lookup(ids []int, n, longest int, ends []int) (draft []int, at, match int) {
	for match = min(longest, len(ids)-1); match > 0; match-- {
		newest := ids[len(ids)-match:]
		for start := range len(ids) - match {
			if !slices.Equal(ids[start:start+match], newest) {
				continue
			}
			at = start + match
			return copied(ids, n, at, ends), at, match
		}
	}
	return nil, 0, 0
}

// copied returns up to n of ids from position at on, before an id that ends the text.
func copied(ids []int, n, at int, ends []int) []int {
	draft := ids[at:min(at+n, len(ids))]
	end := slices.IndexFunc(draft, func(id int) bool { return slices.Contains(ends, id) })
	if end >= 0 {
		draft = draft[:end]
	}
	return draft
}

// A lookupGuesser guesses by prompt lookup.
type lookupGuesser struct {
	most int
	ends []int // ids that end texts
}

// kinds returns a kind for each number of newest tokens that occurred before; the last is for text
// beside a copy.
func (g lookupGuesser) kinds() []odds {
	kinds := make([]odds, longestMatch+2)
	for match := range kinds {
		kinds[match].prior = float64(match) / float64(match+2)
	}
	kinds[longestMatch+1].prior = 0.5
	return kinds
}

// outlook implements guesser. Where the newest token differs from a text that is being copied, the
// guess is the text after that position.
func (g lookupGuesser) outlook(t *attempt, room int) (most, kind int) {
	n := min(room, g.most)
	context := t.Context()
	ids, at, kind := lookup(context, n, longestMatch, g.ends)
	if beside := len(context) - t.back; kind < 1 && t.back > 0 && beside > 0 {
		ids, kind = copied(context, n, beside, g.ends), longestMatch+1
	} else if kind > 0 {
		t.back = len(context) - at
	}
	t.ids = append(t.ids[:0], ids...)
	return len(t.ids), kind
}

func (g lookupGuesser) beginning(*pace, []*attempt) float64 { return 0 }

func (g lookupGuesser) ready(context.Context, *pace, []*attempt, bool) (bool, error) {
	return true, nil
}

func (g lookupGuesser) guess(context.Context, *pace, []*attempt, int) error { return nil }

func (g lookupGuesser) release() {}
