package decode

// Choices that the caller makes: from logits of its own, or by itself, as a search does. Package
// search is one.

import (
	"errors"
	"fmt"

	"picogpt/sample"
)

// ErrBanned is the error of [Stream.Take] where the text now has a banned string.
var ErrBanned = errors.New("stream: the token completes a banned string")

// Push is Next for logits [vocabulary] of the caller's: those of the session, changed, or those of
// several models together. What Next needs, Push needs.
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

// awaits returns the error of a stream whose next token nobody can choose.
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
