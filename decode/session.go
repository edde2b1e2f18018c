package decode

// The session of a stream: where its context grows, how it goes back, who reads it,
// and with which texts it is shared.

import (
	"cmp"
	"picogpt/model"
	"picogpt/sample"
)

// A timeline is a session that a stream extends. The zero value stands for no session: in tests,
// logits come without one.
type timeline struct {
	session *model.Session
	base    int            // the session's length when the last token came: undo returns to it
	anew    *model.Session // where a context grows that does not begin as the session does, or nil
}

// grows returns the session that the context grows in.
func (t *timeline) grows() *model.Session { return cmp.Or(t.anew, t.session) }

// pending returns how many of a context's tokens are not evaluated yet: below 0 where a draft is
// evaluated beyond it.
func (t *timeline) pending(context []int) int {
	if t.session == nil {
		return 0
	}
	return len(context) - t.grows().Len()
}

// renew prepares for a context that has only its first n tokens in common with the session, which
// does not change until settle.
func (t *timeline) renew(n int) {
	if t.session != nil {
		t.drop()
		t.anew = t.session.Fork(n)
	}
}

// drop gives back the session of a context that does not begin as the session does.
func (t *timeline) drop() {
	if t.anew != nil {
		t.anew.Release()
		t.anew = nil
	}
}

// settle makes the first n tokens the state to which undo returns. They are evaluated, or they have
// to be evaluated again because the session's memory was given back.
func (t *timeline) settle(n int) {
	if t.anew != nil {
		t.session.Take(t.anew)
		t.anew = nil
	}
	if t.base = n; t.session != nil {
		t.base = min(n, t.session.Len())
	}
}

// cut removes the evaluated tokens after the first n.
func (t *timeline) cut(n int) {
	if t.session != nil {
		t.grows().Truncate(min(n, t.grows().Len()))
	}
}

// goBackTo makes the timeline grow a context again whose last token is to be evaluated again.
func (t *timeline) goBackTo(context []int) {
	if t.session == nil {
		return
	}
	last := len(context) - 1
	if t.anew != nil && t.anew.Matches(context) < min(last, t.anew.Len()) {
		t.drop()
	}
	same := min(last, t.grows().Matches(context))
	if t.anew == nil && same < t.base {
		t.renew(same)
		return
	}
	t.grows().Truncate(same)
}

// undo makes the session hold the tokens that it held when settle was last called.
func (t *timeline) undo() {
	t.drop()
	if t.session != nil {
		t.session.Truncate(t.base)
	}
}

// forget gives the session's memory back: all of the context is pending.
func (t *timeline) forget() {
	t.undo()
	if t.session != nil {
		t.session.Release()
	}
	t.base = 0
}

// leave returns the session that the context grows in, and removes it from the timeline: all of the
// context is pending.
func (t *timeline) leave() *model.Session {
	left := t.grows()
	if t.anew != nil {
		t.session.Release()
		t.anew = nil
	}
	t.session, t.base = left.Model().NewSession(), 0
	return left
}

// fork returns a copy on forks of the sessions.
func (t *timeline) fork() timeline {
	f := *t
	if t.session != nil {
		f.session = t.session.Fork(t.session.Len())
	}
	if t.anew != nil {
		f.anew = t.anew.Fork(t.anew.Len())
	}
	return f
}

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

// An Evaluated is the evaluated part of a text. A stream whose context begins with the same tokens
// can begin with it: [Stream.TakeOver].
type Evaluated struct {
	Session *model.Session // holds the tokens
	scores  []scored       // of the prompt's tokens, some yet unknown; nil: it is not scored
	top     int            // alternatives that each of scores has
}

// Evaluated returns what is evaluated of the context. The session belongs to the stream until the
// context slides: fork it, and do not change it.
func (s *Stream) Evaluated() Evaluated {
	e := Evaluated{Session: s.grows()}
	if s.echo != nil && s.echo.from == 0 {
		e.scores, e.top = s.echo.scores, s.options.Top
	}
	return e
}

// HandOver is Evaluated for a stream that no longer needs it: the session is then the caller's. If
// the stream continues, all of its context is evaluated again.
func (s *Stream) HandOver() Evaluated {
	e := s.Evaluated()
	s.leave()
	return e
}

// Usable returns how many tokens the stream could begin with, given that the first n of its context
// are those of e, evaluated or yet to be. The context's last token is not among them, because its
// logits are not kept; nor are tokens of a scored prompt whose next token is not scored in e, nor
// those whose hidden states are wanted.
func (s *Stream) Usable(e Evaluated, n int) int {
	n = min(n, len(s.context)-1)
	if s.reading != nil {
		n = min(n, s.reading.from)
	}
	if !s.echo.waiting() {
		return n
	}
	if e.top != s.options.Top {
		return 0
	}
	same := 0 // the session of a text that slid holds others than the tokens that were scored
	for same < min(n+1, len(e.scores)) && e.scores[same].id == s.context[same] {
		same++
	}
	return max(0, min(n, same-1))
}

// TakeOver makes a stream that has evaluated nothing begin with the first n tokens of e, which are
// Usable and evaluated. It takes a fork of the session, and the scores of a scored prompt.
func (s *Stream) TakeOver(e Evaluated, n int) {
	s.grows().Take(e.Session.Fork(n))
	s.echo.take(e.scores, n)
}
