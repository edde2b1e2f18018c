package decode

// Choices that the caller makes, from logits of its own or by itself, as package search does.

import (
	"errors"
	"fmt"

	"picogpt/kernels"
	"picogpt/model"
	"picogpt/sample"
)

// ErrBanned is the error of [Stream.Take] where the text then contains a banned string.
var ErrBanned = errors.New("stream: the token completes a banned string")

// NewDetached returns a stream without a session, for logits that no session has: those after
// [Stream.Context] go to Push, until the stream is done. c has the context's length, the vocabulary
// and the ids that begin and end texts. Errors are those of NewStream, and one for an option that
// needs a session: Ban, Echo, Guidance, Lookup, Draft.
func NewDetached(c model.Config, prompt []int, o Options) (*Stream, error) {
	if len(o.Ban) > 0 || o.Echo != "" || o.Guidance.On() || o.Lookup > 0 || o.Draft != nil {
		return nil, errors.New("detached stream: want no banned strings, echo, guidance or guesses, " +
			"which need a session")
	}
	return newStream(limitsBy(c, kernels.Leaves{}, &o), nil, prompt, o)
}

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

// Sampling calls f with the stream's sampler, prepared with the constraint, the banned strings and
// the guidance of the next token. Changes that f makes to the sampler's State are undone. It may
// run on a worker, for several streams at a time.
func (s *Stream) Sampling(f func(*sample.Sampler) error) error {
	before := s.sampler.State
	s.shared.Lend(s.sampler)
	defer s.shared.Return(s.sampler)
	err := s.prepare()
	if err == nil {
		err = f(s.sampler)
	}
	s.sampler.State = before
	return err
}

// Renew makes the stream evaluate all of its context again, with the tokens that the session held
// before.
func (s *Stream) Renew() { s.renew(0) }

// Shorten ends the text n tokens before MaxTokens and the context do, for a search that evaluates
// its last token too.
func (s *Stream) Shorten(n int) {
	if s.options.MaxTokens > 0 {
		s.options.MaxTokens -= n
	}
	s.limits.context -= n
}
