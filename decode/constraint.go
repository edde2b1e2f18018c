package decode

// A constraint on the new tokens: before each choice its mask shuts ids, and each token that is
// taken goes to it.

import (
	"picogpt/constrain"
	"picogpt/sample"
)

// A ConstraintError says that a text cannot follow its Options.Constraint any further: the form costs
// more than package constrain allows.
type ConstraintError struct{ Err error }

func (e *ConstraintError) Error() string { return "constraint: " + e.Err.Error() }

func (e *ConstraintError) Unwrap() error { return e.Err }

// constraintOf returns a fork of the options' constraint that knows which ids end the text, or nil.
func constraintOf(o *Options, ends []int) constrain.Matcher {
	if o.Constraint == nil {
		return nil
	}
	m := o.Constraint.Fork()
	if form, ok := m.(interface{ EndWith(ids []int) }); ok {
		form.EndWith(ends)
	}
	return m
}

// constrain tells the sampler which ids may come next.
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

// comply gives the constraint a token.
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

// finishConstraint notes whether a text that ends is of the form. Where no id ends texts, one that
// is of the form and that nothing can follow ends.
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
