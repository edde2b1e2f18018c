package decode

// The session of a stream: where its context grows, and how it goes back.

import "picogpt/model"

// A timeline is a session that a stream extends. The zero value stands for no session: in tests,
// logits come without one.
type timeline struct {
	session *model.Session
	base    int            // the session's length when the last token came: undo returns to it
	anew    *model.Session // where a context grows that does not begin as the session does, or nil
}

// grows returns the session that the context grows in.
func (t *timeline) grows() *model.Session {
	if t.anew != nil {
		return t.anew
	}
	return t.session
}

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
		if t.anew != nil {
			t.anew.Release()
		}
		t.anew = t.session.Fork(n)
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
		t.anew.Release()
		t.anew = nil
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
	if t.anew != nil {
		t.anew.Release()
		t.anew = nil
	}
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
