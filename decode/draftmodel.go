package decode

// A model that guesses for another.

import (
	"context"
	"fmt"
	"slices"
	"time"

	"picogpt/constrain"
	"picogpt/model"
)

// A DraftModel guesses for another model of the same vocabulary.
type DraftModel struct {
	Model *model.Model // nil if Open is to open it

	// Open is called once, when guessing seems to be worth it; an error of it ends the text. Whoever
	// gave it closes the model.
	Open func(context.Context) (*model.Model, error)

	// Size is about how many bytes the model of Open has, in parts of the one that writes, and
	// Opening about how long Open takes: they tell what guessing may cost. A size of 0 means that
	// nobody knows, and stands for a quarter.
	Size    float64
	Opening time.Duration
}

// mostGuessed bounds how many tokens a model guesses at a time.
const mostGuessed = 12

// window is how many of a context's newest tokens a guesser reads where reading all of them would
// not pay.
const window = 64

// A modelGuesser guesses what a model would choose: with the text's own sampler and with the random
// numbers that the text will use, so that two models that nearly agree choose the same tokens.
type modelGuesser struct {
	draft   *DraftModel
	model   *model.Model // nil until it is opened
	config  model.Config
	size    float64 // of the model, in parts of the one that writes
	texts   map[*Stream]*guessedText
	reading average // of a row of what it reads
}

// A guessedText is a guesser's own view of a text.
type guessedText struct {
	session *model.Session
	from    int // where in the context it begins to read
	sampler Sampler
	context []int // the context and the guesses, from where it begins
	ids     []int
	err     error // why there is no further guess

	constraint constrain.Matcher // a fork of the text's, nil: none
	mask       []uint64
}

func newModelGuesser(m *model.Model, draft *DraftModel) *modelGuesser {
	g := &modelGuesser{
		draft: draft, model: draft.Model, size: draft.Size, texts: map[*Stream]*guessedText{},
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

// ready implements guesser. It opens the model when what guessing promises for the rest of the
// texts is well more than opening takes.
func (g *modelGuesser) ready(
	ctx context.Context, p *pace, attempts []*attempt, always bool,
) (bool, error) {
	if g.model != nil {
		return true, nil
	}
	rest := 0
	for _, t := range attempts {
		rest = max(rest, t.room())
	}
	saved := float64(rest) * (1 - 1/p.promise) * p.step(len(attempts))
	if !always && saved < 1.5*g.draft.Opening.Seconds() {
		return false, nil
	}
	draft, err := g.draft.Open(ctx)
	if err != nil {
		return false, fmt.Errorf("draft model: %w", err)
	}
	if err := checkVocabulary(draft, attempts[0].limits.vocabulary); err != nil {
		return false, err
	}
	g.model, g.config = draft, draft.Config()
	return false, nil // from the next step on: this one would be measured with the opening
}

func (g *modelGuesser) kinds() []odds { return []odds{{prior: 0.7}} }

func (g *modelGuesser) outlook(t *attempt, room int) (most, kind int) {
	most = min(room, mostGuessed)
	if g.model != nil {
		most = min(most, g.config.Positions/2)
	}
	return most, 0
}

// text returns the guesser's view of a stream, and how many tokens it has yet to read.
func (g *modelGuesser) text(t *attempt, p *pace) (text *guessedText, unread int) {
	text = g.texts[t.Stream]
	if text == nil {
		text = &guessedText{session: g.model.NewSession(), from: -1}
		text.sampler.scratch = &scratch{}
		g.texts[t.Stream] = text
	}
	whole := len(t.context) + mostGuessed
	least := max(0, len(t.context)-min(window, g.config.Positions/2))
	same := 0
	if text.from >= 0 && text.from <= least {
		same = common(text.session.Tokens(), t.context[text.from:])
	}
	affordable := float64(len(t.context))*g.row(p) < p.saved/2
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
	return text, len(t.context) - text.from - same
}

// row is how long reading a token takes, when it reads many.
func (g *modelGuesser) row(p *pace) float64 {
	if g.reading.n > 0 {
		return g.reading.mean
	}
	return p.step(1) * g.size / 8
}

func (g *modelGuesser) beginning(p *pace, attempts []*attempt) float64 {
	if p.guess.n == 0 { // a rough idea, until there is a better one
		p.guess.mean = p.step(len(attempts)) * g.size
	}
	unread := 0
	for _, t := range attempts {
		n := min(window, len(t.context))
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
		t.ids = append(t.ids[:0], g.texts[t.Stream].ids...)
	}
	return nil
}

// read reads what is new in the texts, but for the last tokens.
func (g *modelGuesser) read(ctx context.Context, p *pace, attempts []*attempt) error {
	start, rows := time.Now(), 0
	var batch []model.Input
	for _, t := range attempts {
		text, unread := g.text(t, p)
		text.context = append(text.context[:0], t.context[text.from:]...)
		text.ids, text.err = text.ids[:0], nil
		scratch := text.sampler.scratch
		text.sampler = *t.sampler
		text.sampler.scratch = scratch
		if text.constraint = nil; t.constraint != nil {
			text.constraint = t.constraint.Fork()
		}
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

// batch is what is to be evaluated for the i-th guess, from 0, of each text that wants one.
func (g *modelGuesser) batch(attempts []*attempt, i int) (batch []model.Input) {
	for _, t := range attempts {
		text := g.texts[t.Stream]
		ended := i > 0 && (len(text.ids) < i || slices.Contains(t.limits.endOfText, text.ids[i-1]))
		if i >= t.most || ended || text.err != nil {
			continue
		}
		tokens := text.context[text.session.Len():]
		batch = append(batch, model.Input{
			Session: text.session, Tokens: tokens, NoLogits: true, VisitFrom: len(tokens) - 1,
			Visit: func(r model.Row) { text.choose(r.Logits) },
		})
	}
	return batch
}

// choose guesses a token, on a worker.
func (t *guessedText) choose(logits []float32) {
	t.sampler.open = nil
	if t.constraint != nil {
		t.mask = resized(t.mask, (len(logits)+63)/64)
		t.sampler.open = t.mask
		if t.err = t.constraint.Mask(t.mask); t.err != nil {
			return
		}
	}
	id, err := t.sampler.Next(logits, t.context)
	if err == nil && t.constraint != nil {
		err = t.constraint.Accept(id)
	}
	if t.err = err; err == nil {
		t.ids, t.context = append(t.ids, id), append(t.context, id)
	}
}

// common returns how many tokens a and b have in common at the beginning.
func common(a, b []int) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

func (g *modelGuesser) release() {
	for _, text := range g.texts {
		text.session.Release()
	}
}
