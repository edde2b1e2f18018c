package decode

// Constraints on the new tokens: the constraint's mask removes ids before each choice, and the
// constraint accepts each token that is taken.

import (
	"picogpt/decode/matcher"
	"picogpt/sample"
)

// A Matcher is what a text must match, and the state of that text. Package constrain has some.
type Matcher = matcher.Matcher

// A ConstraintError says that the text cannot follow its Options.Constraint any further: the form
// costs more than package constrain allows.
type ConstraintError struct{ Err error }

func (e *ConstraintError) Error() string { return "constraint: " + e.Err.Error() }

func (e *ConstraintError) Unwrap() error { return e.Err }

// constraintOf returns a fork of the options' constraint that knows which ids end the text, or nil.
func constraintOf(o *Options, ends []int) Matcher {
	if o.Constraint == nil {
		return nil
	}
	m := o.Constraint.Fork()
	if form, ok := m.(interface{ EndWith(ids []int) }); ok {
		form.EndWith(ends)
	}
	return m
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
		err = s.constraint.Mask(s.sampler.Open)
	}
	if err != nil {
		return &ConstraintError{err}
	}
	if empty(s.sampler.Open) {
		return &sample.NoIDError{Position: len(s.context) - 1, Took: []string{"constraint"}}
	}
	return nil
}

func empty(mask []uint64) bool {
	for _, w := range mask {
		if w != 0 {
			return false
		}
	}
	return true
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
