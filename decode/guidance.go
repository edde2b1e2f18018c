package decode

// Guidance: a second context, away from which the text is steered.

import (
	"fmt"

	"picogpt/model"
)

// A NegativeError is an error of Guidance.Negative: it wraps a *model.ContextError if that is too
// long.
type NegativeError struct{ Err error }

func (e *NegativeError) Error() string { return "negative " + e.Err.Error() }

func (e *NegativeError) Unwrap() error { return e.Err }

// A guide is the second context of a stream. Nil means that there is none.
type guide struct {
	session *model.Session
	context []int
}

// newGuide returns the guide that options ask for.
func newGuide(m *model.Model, l limits, prompt []int, o *Options) (*guide, error) {
	if !o.Guidance.On() {
		return nil, nil
	}
	context := o.Guidance.Negative
	if len(context) == 0 {
		context = prompt[len(prompt)-1:]
	}
	for i, id := range context {
		if id < 0 || id >= l.vocabulary {
			return nil, &NegativeError{fmt.Errorf("prompt: token %d: id %d, want 0 to %d", i, id,
				l.vocabulary-1)}
		}
	}
	if o.Overflow == OverflowSlide {
		context = newest(context, l.context)
	} else if err := checkRoom(l, 0, len(context), o.MaxTokens); err != nil {
		return nil, &NegativeError{err}
	}
	return &guide{m.NewSession(), append([]int{}, context...)}, nil
}

// pending returns how many tokens of the guide are not evaluated yet.
func (g *guide) pending() int {
	if g == nil {
		return 0
	}
	return len(g.context) - g.session.Len()
}

// full reports whether the context has no room for another token.
func (g *guide) full(l *limits) bool { return g != nil && len(g.context) >= l.context }

// extend adds a token. A full context continues with its newest half.
func (g *guide) extend(id int, l *limits) {
	if g == nil {
		return
	}
	g.context = append(g.context, id)
	if len(g.context) > l.context {
		g.context = append([]int{}, newest(g.context, newestHalf(l.context))...)
		g.session.Truncate(0)
	}
}

// fork returns an independent copy of the guide.
func (g *guide) fork() *guide {
	if g == nil {
		return nil
	}
	return &guide{g.session.Fork(g.session.Len()), append([]int{}, g.context...)}
}

// forget gives back the memory of the session.
func (g *guide) forget() {
	if g != nil {
		g.session.Release()
	}
}

// Guide returns what the model is to evaluate of the second context, with Options.Guidance, in the
// Eval of the last of the Inputs before a token, or in any other before Next: at most rows tokens,
// or all if rows is 0. ok is false without guidance, and if all is evaluated.
func (s *Stream) Guide(rows int) (in model.Input, ok bool) {
	n := s.guide.pending()
	if s.done || n <= 0 {
		return model.Input{}, false
	}
	context := s.guide.context
	in = model.Input{Session: s.guide.session, Tokens: context[len(context)-n:],
		Trace: s.trace}
	if 0 < rows && rows < n {
		in.Tokens, in.NoLogits = in.Tokens[:rows], true
	}
	return in, true
}
