package decode

// The choice of a token, from the logits after all of the context: by package sample, or by the
// caller, as package search does.

import (
	"errors"
	"fmt"

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
	c := choice{made: true}
	c.err = s.Sampling(from, s.options.Temperature, func(sampler *sample.Sampler) error {
		id, err := sampler.Choose(from, s.context)
		if err != nil {
			return err
		}
		c.Candidate = from.Candidate(id, s.options.Top, sampler.State)
		if s.options.OpenMass && s.constraint != nil {
			c.open = from.Mass(s.wideOpen())
		}
		c.ahead = s.foresee(id, from)
		return nil
	})
	s.next = c
}

// Sampling calls f with the stream's sampler, prepared with the constraint, the banned strings and
// the guidance of the next token. Changes that f makes to the sampler's State are undone. The row is
// the logits after the context; Token.Kept is at the temperature. It may run on a worker, for
// several streams at a time.
func (s *Stream) Sampling(from sample.Row, temperature float64, f func(*sample.Sampler) error) error {
	before := s.sampler.State
	s.shared.Lend(s.sampler)
	defer s.shared.Return(s.sampler)
	err := s.prepare()
	if err == nil {
		if err = f(s.sampler); s.uncut(err) {
			s.sampler.State = before
			err = f(s.sampler)
		}
	}
	if err == nil && s.narrow.shut != nil {
		s.narrow.kept = from.Share(s.sampler.Open, s.narrow.shut, temperature)
	}
	s.sampler.State = before
	return err
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
		Narrowed: s.narrow.shut != nil, Kept: s.narrow.kept,
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

// ErrBanned is the error of [Stream.Take] where the text then contains a banned string.
var ErrBanned = errors.New("stream: the token completes a banned string")

// Push is Next for logits [vocabulary] of the caller: those of the session, changed, or those of
// several models together. It has the same conditions as Next.
func (s *Stream) Push(logits []float32) (Token, error) {
	err := s.awaits()
	if s.bans != nil && !s.done {
		err = errors.New("stream: want no banned strings with Push, which cannot go back")
	}
	if err != nil {
		return Token{Sample: s.sample}, err
	}
	s.choose(sample.WholeRow(logits, s.limits.leaves))
	return s.take()
}

// Take makes a candidate of the caller the next token, as Next does with its own choice. It has the
// same conditions as Next. With Options.Ban, where Next would go back, the error is ErrBanned.
func (s *Stream) Take(c sample.Candidate) (Token, error) {
	if err := s.awaits(); err != nil {
		return Token{Sample: s.sample}, err
	}
	s.next = choice{made: true, Candidate: c}
	t, err := s.take()
	if err == nil && s.bans != nil && s.bans.began >= 0 {
		s.Stop()
		return Token{Sample: s.sample}, ErrBanned
	}
	return t, err
}

// awaits returns an error if no token can be chosen now.
func (s *Stream) awaits() error {
	if s.done {
		return errors.New("stream: it is done, and takes no more logits")
	}
	if s.echo != nil {
		return ErrNoEcho
	}
	if n := s.pending(); n > 0 {
		return fmt.Errorf("stream: logits before %d of its tokens are evaluated, want them after", n)
	}
	return nil
}

// Renew makes the stream evaluate all of its context again, with the tokens that the session held
// before.
func (s *Stream) Renew() { s.renew(0) }

// Shorten ends the text n tokens before MaxTokens and the context do, for a search that evaluates
// its last token too. It returns an error if no text of the form is so short.
func (s *Stream) Shorten(n int) error {
	if s.options.MaxTokens > 0 {
		s.options.MaxTokens -= n
	}
	s.limits.context -= n
	return s.keepBudget()
}
