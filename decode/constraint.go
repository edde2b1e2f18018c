package decode

// What steers the new tokens: a constraint, whose mask removes ids before each choice and which
// accepts each token that is taken; and guidance, a second context, away from which they go.

import (
	"fmt"
	"slices"

	"picogpt/decode/matcher"
	"picogpt/model"
	"picogpt/sample"
)

// A Matcher is what a text must match, and the state of that text. Package constrain has some.
type Matcher = matcher.Matcher

// A ConstraintError says that the text cannot follow its Options.Constraint any further: the form
// costs more than package constrain allows.
type ConstraintError struct{ Err error }

func (e *ConstraintError) Error() string { return "constraint: " + e.Err.Error() }

func (e *ConstraintError) Unwrap() error { return e.Err }

// formOf returns what a text must match, nil if that is nothing, given which ids end it. Of what it
// returns, the first bytes are those that healing took back.
func formOf(o *Options, ends []int) (form Matcher, healed int) {
	form = matcher.Begin(o.Constraint, ends)
	if h := o.Healing; h != nil {
		return h.Matcher(form), len(h.Bytes)
	}
	return form, 0
}

// constrain sets the ids that the constraint allows in the sampler.
func (s *Stream) constrain() error {
	if s.constraint == nil {
		s.sampler.Open = nil
		return nil
	}
	var err error
	if s.mask != nil {
		err = s.mask.take(s.sampler)
	} else {
		s.sampler.Open = s.sampler.NewMask(s.limits.vocabulary)
		s.bound()
		err = s.constraint.Mask(s.sampler.Open)
	}
	if err != nil {
		return &ConstraintError{err}
	}
	if s.narrow.shut, s.narrow.kept = nil, 0; s.bounded != nil {
		s.narrow.shut = s.bounded.Shut()
	}
	if empty(s.sampler.Open) {
		return &sample.NoIDError{Position: len(s.context) - 1, Took: []string{"constraint"}}
	}
	return nil
}

func empty(mask []uint64) bool {
	return !slices.ContainsFunc(mask, func(w uint64) bool { return w != 0 })
}

// comply makes the constraint accept a token.
func (s *Stream) comply(id int) error {
	if s.constraint == nil {
		return nil
	}
	s.mask = nil
	if err := s.constraint.Accept(id); err != nil {
		return &ConstraintError{err}
	}
	return nil
}

// finishConstraint notes whether a text that ends is of the form. Where no id ends texts, it ends a
// text that is of the form and that nothing can follow.
func (s *Stream) finishConstraint(t *Token) error {
	if s.constraint == nil {
		return nil
	}
	form, ok := s.constraint.(interface{ Complete() bool })
	complete := !ok || form.Complete()
	if t.Finish != "" {
		t.Incomplete = !complete
		t.Outranked = s.outranked(t)
		if t.Finish == FinishLength && s.ends(ok && complete) {
			t.Finish = FinishStop
		}
		return nil
	}
	if !complete || len(s.limits.endOfText) > 0 {
		return nil
	}
	mask := make([]uint64, (s.limits.vocabulary+63)/64)
	if err := s.constraint.Mask(mask); err != nil {
		return &ConstraintError{err}
	}
	if empty(mask) {
		s.endText(t)
		t.Finish = FinishStop
	}
	return nil
}

// A mask is the ids that may come next in a text, or the error where there are none. It can be
// computed before its token is chosen, so that slow masks run beside the steps of a batch:
// [Stream.FindMask].
type mask struct {
	open     []uint64
	err      error
	panicked any
}

// A quick is a Matcher that can stop a slow computation. *constrain.Text is one.
type quick interface {
	MaskWithin(open []uint64, steps int) (done bool, err error)
	Busy() bool // Accept would wait for the mask of another text
}

// FindMask computes the mask of the constraint for the next token, unless that takes more than so
// many steps of *constrain.Text. If it does, FindMask returns a function that computes it, to be
// called once, in any goroutine; until that has returned, Input, Next, Push and Fork may not be
// called. Without FindMask, and with constraints of other types, a mask is computed when the token
// is chosen.
func (s *Stream) FindMask(steps int) (rest func()) {
	form, ok := s.constraint.(quick)
	if !ok || s.access == AccessForks || s.mask != nil {
		return nil
	}
	m := &mask{open: make([]uint64, (s.limits.vocabulary+63)/64)}
	s.mask = m
	s.bound()
	m.find(func() (err error) {
		ok, err = form.MaskWithin(m.open, steps)
		return err
	})
	if ok || m.panicked != nil {
		return nil
	}
	return func() { m.find(func() error { return form.(Matcher).Mask(m.open) }) }
}

// Busy reports whether Next would have to wait for the mask of another text.
func (s *Stream) Busy() bool {
	form, ok := s.constraint.(quick)
	return ok && form.Busy()
}

// find calls f. A panic of f is raised again in the text's caller.
func (m *mask) find(f func() error) {
	defer func() { m.panicked = recover() }()
	m.err = f()
}

// take gives the computed mask to the sampler.
func (m *mask) take(s *sample.Sampler) error {
	if m.panicked != nil {
		panic(m.panicked)
	}
	s.Open = m.open
	return m.err
}

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

// newGuide returns the guide that a stream's options ask for.
func newGuide(m *model.Model, s *Stream) (*guide, error) {
	o, l := &s.options, &s.limits
	if !o.Guidance.On() || o.Echo == EchoOnly {
		return nil, nil
	}
	context := o.Guidance.Negative
	if len(context) == 0 {
		context = s.context[len(s.context)-1:]
	}
	for i, id := range context {
		if id < 0 || id >= l.vocabulary {
			return nil, &NegativeError{fmt.Errorf("prompt: token %d: id %d, want 0 to %d", i, id,
				l.vocabulary-1)}
		}
	}
	o.shrink(l.context - len(context) + 1)
	if o.Overflow == OverflowSlide {
		context = newest(context, l.context)
	} else if err := l.room(0, len(context), o.MaxTokens); err != nil {
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
