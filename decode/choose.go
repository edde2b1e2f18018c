package decode

// The choice of a token, from the logits after all of the context.

import (
	"errors"

	"picogpt/model"
	"picogpt/sample"
)

// best returns how many of the greatest logits the next choice needs; 0 means all of them.
func (s *Stream) best() int {
	if s.constraint != nil || s.bans != nil || s.guide != nil || len(s.draft.ids) > 0 {
		return 0
	}
	k := s.sampler.Decisive(s.limits.vocabulary)
	if k == 0 && s.wholeRows == 0 {
		k = s.sampler.Perhaps(s.limits.vocabulary)
	}
	s.wholeRows = max(0, s.wholeRows-1)
	if k == 0 || s.options.Top > k {
		return 0
	}
	return k
}

// mostWholeRows is for how many tokens whole rows are asked for after the best logits of one were
// not enough: likely they are not for the next ones either, and finding out takes time.
const mostWholeRows = 4

// enough says whether the best logits of a row decide, on a worker.
func (s *Stream) enough(best *model.Best) bool {
	if s.sampler.Decisive(s.limits.vocabulary) > 0 || s.sampler.Enough(best) {
		return true
	}
	s.wholeRows = mostWholeRows
	return false
}

// A choice is a token that is chosen after all of the context. It can be made in an Eval that then
// fails, and be made again: it counts when Next takes it.
type choice struct {
	made bool
	sample.Candidate
	err error

	open  float64       // Token.Open
	ahead []forcedGuess // for the tokens that follow it

	panicked any // what a worker recovered; Next panics with it
}

// here returns the logits after the context.
func (s *Stream) here() sample.Row {
	if s.draft.here != nil {
		return *s.draft.here
	}
	return sample.WholeRow(s.grows().Logits(), s.limits.leaves)
}

// prepare sets what the sampler needs to know of the next token.
func (s *Stream) prepare() error {
	s.sampler.Barred, s.sampler.Against = s.barredHere(), nil
	if s.guide != nil {
		s.sampler.Against = s.guide.session.Logits()
	}
	return s.constrain()
}

// choose makes the choice that follows the context, given the logits after it.
func (s *Stream) choose(from sample.Row) {
	before := s.sampler.State
	s.shared.Lend(s.sampler)
	defer s.shared.Return(s.sampler)
	id, err := 0, s.prepare()
	if err == nil {
		id, err = s.sampler.Choose(from, s.context)
	}
	after := s.sampler.State
	s.sampler.State = before
	if err != nil {
		s.next = choice{made: true, err: err}
		return
	}
	s.next = choice{made: true, Candidate: from.Candidate(id, s.options.Top, after)}
	if s.options.OpenMass && s.constraint != nil {
		s.next.open = from.Mass(s.sampler.Open)
	}
	s.next.ahead = s.foresee(id, from)
}

// take turns the choice into a token, and updates the stream.
func (s *Stream) take() (Token, error) {
	c := s.next
	s.next.made = false
	if c.panicked != nil {
		s.Stop()
		panic(c.panicked)
	}
	t := Token{
		Sample: s.sample, ID: c.ID, LogProb: c.LogProb, Dropped: s.dropped, Open: c.open,
		Top: named(c.Top, s.options.Vocabulary),
	}
	err := c.err
	if err == nil {
		err = s.comply(t.ID)
	}
	if err == nil {
		err = s.finish(&t)
	}
	if err != nil {
		s.Stop()
		return Token{Sample: s.sample}, err
	}
	s.sampler.State = c.After
	s.dropped = 0
	if s.bans == nil {
		s.settle(len(s.context))
	}
	s.done = t.Finish != ""
	s.forced.learn(t.ID, len(s.context), c.ahead)
	t.Guessed = s.compare(t.ID) && !s.draft.own
	if !s.done {
		s.extend(t.ID)
	}
	return t, nil
}

// Distribution returns what the next token will be drawn from, once the Inputs before it are
// evaluated. It leaves out ids that would complete a string of Options.Ban at once.
func (s *Stream) Distribution() (sample.Distribution, error) {
	if s.done || s.pending() > 0 {
		return sample.Distribution{}, errors.New("stream: there are no logits after its last " +
			"token yet")
	}
	s.sampler = s.sampler.Fork() // with memory of its own
	if err := s.prepare(); err != nil {
		return sample.Distribution{}, err
	}
	completing, err := s.completing()
	if err != nil {
		return sample.Distribution{}, err
	}
	s.sampler.Barred = append(s.sampler.Barred, completing...)
	if s.bans != nil && s.sampler.Barred == nil {
		s.sampler.Barred = []int{} // not nil: the step is listed, whatever it removes
	}
	return s.sampler.Distribution(s.here().Logits, s.context)
}
