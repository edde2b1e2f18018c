package decode

// Speculation for streams that run together: who guesses, how much, and whether it pays.

import (
	"context"
	"fmt"
	"slices"
	"time"

	"picogpt/model"
)

// A speculation drafts for the streams of a run. Nil does not.
type speculation struct {
	guesser  guesser
	always   bool // drafts are as long as they can be, whatever they cost: in tests
	pace     pace
	odds     []odds // of the guesser's kinds of guesses
	attempts []*attempt

	// Of the current step.
	rows     int
	begun    time.Time
	guessing time.Duration // until the step itself began
	pauses   time.Duration // of the caller
}

// A guesser guesses the tokens that follow some texts.
type guesser interface {
	// outlook says how many tokens it could guess for a text, at most as many as there is room for,
	// and of which kind they are.
	outlook(t *attempt, room int) (most, kind int)

	// beginning is how long guessing takes for all of the texts before the first token.
	beginning(p *pace, attempts []*attempt) float64

	// ready reports whether it can guess now. An error ends the texts.
	ready(ctx context.Context, p *pace, attempts []*attempt, always bool) (bool, error)

	// guess makes up to n guesses for each attempt, and takes note of the time. An error ends
	// speculation, and the texts only if it is the context's.
	guess(ctx context.Context, p *pace, attempts []*attempt, n int) error

	kinds() []odds
	release()
}

// An attempt is a stream and what is guessed for it.
type attempt struct {
	*Stream
	most, kind int
	ids        []int // guessed, or what would be; [0 to most]
	tokens     []int // that came
	drafted    int
	back       int // of prompt lookup: how far before its end the text was last found to be copied
}

// speculate returns the speculation that the options ask for, nil if they ask for none.
func speculate(m *model.Model, streams []*Stream) *speculation {
	if len(streams) == 0 {
		return nil
	}
	o := &streams[0].options
	s := &speculation{always: o.alwaysDraft}
	switch {
	case o.Guidance.on(): // which would need guesses for two contexts
		return nil
	case o.Draft != nil:
		s.guesser = newModelGuesser(m, o.Draft)
	case o.Lookup > 0:
		s.guesser = lookupGuesser{o.Lookup}
	default:
		return nil
	}
	s.odds = s.guesser.kinds()
	for _, st := range streams {
		s.attempts = append(s.attempts, &attempt{Stream: st})
	}
	return s
}

// checkDraft refuses models that cannot draft for each other.
func checkDraft(m *model.Model, o *Options) error {
	if o.Draft == nil || o.Draft.Model == nil {
		return nil
	}
	return checkVocabulary(o.Draft.Model, m.Config().VocabSize)
}

func checkVocabulary(draft *model.Model, want int) error {
	if got := draft.Config().VocabSize; got != want {
		return fmt.Errorf("draft model: a vocabulary of %d ids, want %d, the model's own", got, want)
	}
	return nil
}

// begin drafts for a step, in which every stream has one token to evaluate; others have no drafts.
func (s *speculation) begin(ctx context.Context) error {
	if s == nil {
		return nil
	}
	s.begun, s.guessing, s.pauses, s.rows = time.Now(), 0, 0, 0
	s.attempts = slices.DeleteFunc(s.attempts, func(t *attempt) bool { return t.Done() })
	ready := true
	var all []outlook
	for _, t := range s.attempts {
		t.ids, t.tokens, t.most, t.drafted = t.ids[:0], t.tokens[:0], 0, 0
		s.rows += max(0, t.pending())
		if ready = ready && t.pending() == 1; ready {
			t.most, t.kind = s.guesser.outlook(t, t.room())
			all = append(all, outlook{s.odds[t.kind].value(), t.most})
		}
	}
	if !ready || len(s.attempts) == 0 {
		return nil
	}
	n := s.pace.length(len(s.attempts), all, s.guesser.beginning(&s.pace, s.attempts))
	if s.always {
		n = slices.MaxFunc(s.attempts, func(a, b *attempt) int { return a.most - b.most }).most
	}
	if n == 0 {
		return nil
	}
	if ready, err := s.guesser.ready(ctx, &s.pace, s.attempts, s.always); !ready {
		s.begun = time.Now()
		return err
	}
	if err := s.guesser.guess(ctx, &s.pace, s.attempts, n); err != nil {
		s.end()
		return ctx.Err()
	}
	for _, t := range s.attempts {
		t.drafted = min(n, len(t.ids))
		t.propose(t.ids[:t.drafted])
		s.rows += t.drafted
	}
	s.guessing = time.Since(s.begun)
	return nil
}

// drop takes the drafts back, and reports whether there were any: a step may have failed because of
// them.
func (s *speculation) drop() bool {
	if s == nil {
		return false
	}
	dropped := false
	for _, t := range s.attempts {
		dropped = dropped || t.drafted > 0
		t.propose(nil)
		t.drafted = 0
	}
	return dropped
}

// took notes a token that came, and how long its caller had it.
func (s *speculation) took(st *Stream, id int, pause time.Duration) {
	if s == nil {
		return
	}
	s.pauses += pause
	for _, t := range s.attempts {
		if t.Stream == st {
			t.tokens = append(t.tokens, id)
		}
	}
}

// learn ends a step.
func (s *speculation) learn() {
	if s == nil {
		return
	}
	tokens := 0
	for _, t := range s.attempts {
		tokens += len(t.tokens)
		s.judge(t)
	}
	took := time.Since(s.begun) - s.pauses - s.guessing
	if n := len(s.attempts); n > 0 && s.rows == n+s.drafted() { // no prompts
		s.pace.observe(s.rows, n, tokens, took.Seconds(), s.guessing.Seconds())
	}
}

func (s *speculation) drafted() (n int) {
	for _, t := range s.attempts {
		n += t.drafted
	}
	return n
}

// judge counts how often the guesses for a text were right. Those of a guesser that costs nothing
// count where they were not made, too.
func (s *speculation) judge(t *attempt) {
	o := &s.odds[t.kind]
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

// end ends speculation.
func (s *speculation) end() {
	if s == nil {
		return
	}
	s.drop()
	s.guesser.release()
	s.attempts = nil
}
