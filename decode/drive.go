package decode

// What a driver of many streams needs of each, beside Input and Next. Package batch is one.

import "picogpt/sample"

// Access says who reads a stream's session beside the stream, and when. Values that nobody reads
// are neither computed nor kept.
type Access int

const (
	// AccessAlways: the caller, after any token. The session then has the logits after all that it
	// holds.
	AccessAlways Access = iota

	// AccessAtEnd: the caller, when the stream is done or stopped. The logits are nil where the
	// greatest of them decided ([model.Input].Best).
	AccessAtEnd

	// AccessNever: nobody. The session has no logits, and where the context slides it gives its
	// memory back at once.
	AccessNever

	// AccessForks: forks of the stream, which alone choose tokens. The stream evaluates the context
	// that they begin with.
	AccessForks
)

// SetAccess says who looks at the session; AccessAlways if it is not called. Call it before the
// first Input.
func (s *Stream) SetAccess(a Access) { s.access = a }

// SetPool has the stream, and forks of it that are made later, choose in the memory of p, for
// streams that run together. Without it each has memory of its own.
func (s *Stream) SetPool(p *sample.Pool) { s.shared = p }

// Context returns the tokens that the next one follows: after OverflowSlide, those that stay. The
// slice is the stream's memory: do not change it.
func (s *Stream) Context() []int { return s.context }

// Pending counts what a stream has evaluated, and what it evaluates before its next token.
type Pending struct {
	Held   int // tokens of the context that are evaluated
	Rows   int // tokens that follow them: all that Input returns
	Scored int // of these, the last, which need logits because the prompt is scored
	Guide  int // tokens of the other context, with Options.Guidance: all that Guide returns
}

// Pending returns what is evaluated before the next token, as far as it is known.
func (s *Stream) Pending() Pending {
	p := Pending{Held: s.grows().Len(), Guide: s.guide.pending()}
	p.Rows = max(0, s.timeline.pending(s.ahead()))
	p.Scored = s.echo.left(p.Held, p.Held+p.Rows)
	return p
}

// Ready reports whether Next can return something before the next evaluation.
func (s *Stream) Ready() bool { return s.bans.waiting() || !s.done && s.pending() <= 0 }

// Sample returns the i-th continuation of the stream's context: a fork whose session is its own,
// with the random numbers of Options.Seed+i, and i as the Sample of its tokens. The context should
// be evaluated: else each sample evaluates what is left of it.
func (s *Stream) Sample(i int) *Stream {
	if s.pending() <= 0 {
		s.settle(len(s.ahead()))
	}
	f := s.Fork()
	f.access, f.sample = AccessNever, i
	f.sampler.Reseed(s.options.Seed + uint64(i))
	return f
}

// Release gives back the memory of the sessions. If the stream continues, all of its context is
// evaluated again.
func (s *Stream) Release() {
	s.timeline.forget()
	s.guide.forget()
}
