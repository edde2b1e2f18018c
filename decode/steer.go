package decode

// What a search needs of a stream: a search sees what may follow, and chooses by itself. Package
// search is one.

import (
	"errors"

	"picogpt/sample"
)

// ErrBanned is the error of [Stream.Take] where the text now has a banned string.
var ErrBanned = errors.New("stream: the token completes a banned string")

// Sampling calls f with the stream's sampler, which knows what the constraint, the banned strings
// and guidance say of the token after the context. What f changes in the sampler's State is undone.
// It may run on a worker, for several streams at a time.
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

// prepare tells the sampler what the stream knows of the next token.
func (s *Stream) prepare() error {
	s.sampler.Barred, s.sampler.Against = s.barredHere(), nil
	if s.guide != nil {
		s.sampler.Against = s.guide.session.Logits()
	}
	return s.constrain()
}

// Take makes a candidate of the caller's the next token, as Next does with what it has chosen. What
// Next needs, Take needs. With Options.Ban, where Next would go back, the error is ErrBanned.
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

// Renew has all of the context evaluated again, what the session held before too.
func (s *Stream) Renew() { s.renew(0) }

// Shorten ends the text n tokens before MaxTokens and the context do, for a search that evaluates
// its last token too.
func (s *Stream) Shorten(n int) {
	if s.options.MaxTokens > 0 {
		s.options.MaxTokens -= n
	}
	s.limits.context -= n
}
