package guess

// The guessers: prompt lookup, by which the tokens that followed an earlier occurrence of the newest
// ones follow again, and a smaller model.

import (
	"context"
	"fmt"
	"slices"
	"time"

	"picogpt/model"
)

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
func (g lookupGuesser) kinds() []Odds {
	kinds := make([]Odds, longestMatch+2)
	for match := range kinds {
		kinds[match].Prior = float64(match) / float64(match+2)
	}
	kinds[longestMatch+1].Prior = 0.5
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

// A Model guesses for another model of the same vocabulary.
type Model struct {
	Model *model.Model // nil if Open is to open it

	// Open opens the model. It is called once, when guessing seems to pay. An error of it ends the
	// text. The caller closes the model.
	Open func(context.Context) (*model.Model, error)

	// Size is the approximate size of Open's model, relative to the model of the text, and Opening
	// about how long Open takes. Both estimate the cost of guessing. A size of 0 is unknown, and
	// counts as a quarter.
	Size    float64
	Opening time.Duration
}

// Check returns an error if the model cannot guess for m, as far as it is known before Open.
func (d *Model) Check(m *model.Model) error {
	if d == nil || d.Model == nil {
		return nil
	}
	return checkVocabulary(d.Model, m)
}

func checkVocabulary(draft, m *model.Model) error {
	if got, want := draft.Config().VocabSize, m.Config().VocabSize; got != want {
		return fmt.Errorf("draft model: a vocabulary of %d ids, want %d, the model's own", got, want)
	}
	return nil
}

// mostGuessed is how many tokens a model guesses at a time at most.
const mostGuessed = 12

// window is how many of a context's newest tokens a guesser reads if reading all of them would not
// pay.
const window = 64

// A modelGuesser guesses the tokens that a model would choose, with the text's own sampler and the
// random numbers that the text will use, so that two models that nearly agree choose the same
// tokens.
type modelGuesser struct {
	draft   *Model
	target  *model.Model // the model of the texts
	ends    []int        // ids that end texts
	model   *model.Model // nil until it is opened
	config  model.Config
	size    float64 // size of the model, relative to target
	texts   map[*attempt]*guessedText
	reading average // time to read a row
}

// A guessedText is a guesser's own state of a text.
type guessedText struct {
	session *model.Session
	from    int   // the position in the context from which it reads
	context []int // the context from that position, and the guesses
	ids     []int
	err     error // why there is no further guess
}

func newModelGuesser(m *model.Model, draft *Model, ends []int) *modelGuesser {
	g := &modelGuesser{
		draft: draft, target: m, ends: ends, model: draft.Model, size: draft.Size,
		texts: map[*attempt]*guessedText{},
	}
	switch {
	case g.model != nil:
		g.size = float64(g.model.Bytes()) / float64(max(1, m.Bytes()))
		g.config = g.model.Config()
	case g.size == 0:
		g.size = 0.25
	}
	return g
}

// ready implements guesser. It opens the model when the expected gain for the rest of the texts is
// well above the time of opening.
func (g *modelGuesser) ready(
	ctx context.Context, p *pace, attempts []*attempt, always bool,
) (bool, error) {
	if g.model != nil {
		return true, nil
	}
	rest := 0
	for _, t := range attempts {
		rest = max(rest, t.Room())
	}
	saved := float64(rest) * (1 - 1/p.promise) * p.step(len(attempts))
	if !always && saved < 1.5*g.draft.Opening.Seconds() {
		return false, nil
	}
	draft, err := g.draft.Open(ctx)
	if err != nil {
		return false, fmt.Errorf("draft model: %w", err)
	}
	if err := checkVocabulary(draft, g.target); err != nil {
		return false, err
	}
	g.model, g.config = draft, draft.Config()
	return false, nil // guess from the next step on: the time of this one includes the opening
}

func (g *modelGuesser) kinds() []Odds { return []Odds{{Prior: 0.7}} }

func (g *modelGuesser) outlook(t *attempt, room int) (most, kind int) {
	most = min(room, mostGuessed)
	if g.model != nil {
		most = min(most, g.config.Positions/2)
	}
	return most, 0
}

// text returns the guesser's state of a text, and how many tokens it has yet to read.
func (g *modelGuesser) text(t *attempt, p *pace) (text *guessedText, unread int) {
	text = g.texts[t]
	if text == nil {
		text = &guessedText{session: g.model.NewSession(), from: -1}
		g.texts[t] = text
	}
	context := t.Context()
	whole := len(context) + mostGuessed
	least := max(0, len(context)-min(window, g.config.Positions/2))
	same := 0
	if text.from >= 0 && text.from <= least {
		same = text.session.Matches(context[text.from:])
	}
	affordable := float64(len(context))*g.row(p) < p.saved/2
	switch room := g.config.Positions; {
	case text.from > 0 && affordable && whole <= room: // it has paid so far
		text.from, same = 0, 0
	case same == 0 || whole-text.from > room:
		text.from, same = least, 0
		if affordable && whole <= room {
			text.from = 0
		}
	}
	text.session.Truncate(same)
	return text, len(context) - text.from - same
}

// row returns how long reading a token takes when many are read together.
func (g *modelGuesser) row(p *pace) float64 {
	if g.reading.n > 0 {
		return g.reading.mean
	}
	return p.step(1) * g.size / 8
}

func (g *modelGuesser) beginning(p *pace, attempts []*attempt) float64 {
	if p.guess.n == 0 { // a rough estimate, until there are measurements
		p.guess.mean = p.step(len(attempts)) * g.size
	}
	unread := 0
	for _, t := range attempts {
		n := min(window, len(t.Context()))
		if g.model != nil {
			_, n = g.text(t, p)
		}
		unread += max(0, n-2) // up to two come with the first guess
	}
	return float64(unread) * g.row(p)
}

func (g *modelGuesser) guess(ctx context.Context, p *pace, attempts []*attempt, n int) error {
	if err := g.read(ctx, p, attempts); err != nil {
		return err
	}
	for i := range n {
		start := time.Now()
		batch := g.batch(attempts, i)
		if len(batch) == 0 {
			break
		}
		if err := g.model.Eval(ctx, batch...); err != nil {
			return err
		}
		p.guess.add(time.Since(start).Seconds())
	}
	for _, t := range attempts {
		t.ids = append(t.ids[:0], g.texts[t].ids...)
	}
	return nil
}

// read reads the new tokens of the texts, except the last ones.
func (g *modelGuesser) read(ctx context.Context, p *pace, attempts []*attempt) error {
	start, rows := time.Now(), 0
	var batch []model.Input
	for _, t := range attempts {
		text, unread := g.text(t, p)
		text.context = append(text.context[:0], t.Context()[text.from:]...)
		text.ids, text.err = text.ids[:0], nil
		t.Rehearse()
		if unread > 2 {
			n := len(text.context)
			tokens := text.context[n-unread : n-1]
			rows += len(tokens)
			batch = append(batch, model.Input{Session: text.session, Tokens: tokens, NoLogits: true})
		}
	}
	if len(batch) == 0 {
		return nil
	}
	if err := g.model.Eval(ctx, batch...); err != nil {
		return err
	}
	g.reading.add(time.Since(start).Seconds() / float64(rows))
	return nil
}

// batch returns the inputs of the i-th guess, from 0, of each text that wants one.
func (g *modelGuesser) batch(attempts []*attempt, i int) (batch []model.Input) {
	for _, t := range attempts {
		text := g.texts[t]
		ended := i > 0 && (len(text.ids) < i || slices.Contains(g.ends, text.ids[i-1]))
		if i >= t.most || ended || text.err != nil {
			continue
		}
		tokens := text.context[text.session.Len():]
		batch = append(batch, model.Input{
			Session: text.session, Tokens: tokens, NoLogits: true, VisitFrom: len(tokens) - 1,
			Visit: func(r model.Row) { text.choose(t, r.Logits) },
		})
	}
	return batch
}

// choose guesses a token, on a worker.
func (t *guessedText) choose(as Text, logits []float32) {
	id, err := as.Choose(logits, t.context)
	if t.err = err; err == nil {
		t.ids, t.context = append(t.ids, id), append(t.context, id)
	}
}

func (g *modelGuesser) release() {
	for _, text := range g.texts {
		text.session.Release()
	}
}

// Estimate sets Size and Opening for a model that is not opened yet, given its config and format,
// and the model of the text. Loading is taken to run on two processors: of a checkpoint in its own
// format it takes no time, for that is mapped.
func (d *Model) Estimate(c model.Config, format string, m *model.Model) {
	d.Size = weightsOf(c) / weightsOf(m.Config())
	bits := map[string]float64{"f32": 32, "f16": 16, "bf16": 16, "q8": 9, "q4": 5}
	if format != "auto" { // else it is taken to be of the model's format
		d.Size *= bits[format] / bits[m.Format()]
	}
	each := map[string]float64{"q8": 5, "q4": 15} // nanoseconds
	d.Opening = time.Duration(weightsOf(c) * each[format])
}

// weightsOf is about how many weights a model has.
func weightsOf(c model.Config) float64 {
	n := float64(c.Embd)
	return float64(c.Layer)*n*(4*n+2*float64(c.Inner)) + n*float64(c.VocabSize)
}
