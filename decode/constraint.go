package decode

// A constraint on the new tokens: before each choice its mask shuts ids, and each token that is
// taken goes to it.

import (
	"math"

	"picogpt/constrain"
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
		s.sampler.open = nil
		return nil
	}
	var err error
	if s.mask != nil {
		err = s.mask.take(s.sampler)
	} else {
		scratch := s.sampler.scratch
		scratch.mask = resized(scratch.mask, (s.limits.vocabulary+63)/64)
		s.sampler.open = scratch.mask
		err = s.constraint.Mask(scratch.mask)
	}
	if err != nil {
		return &ConstraintError{err}
	}
	if empty(s.sampler.open) {
		return &NoIDError{len(s.context) - 1, []string{"constraint"}}
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

// shut takes the ids that the constraint does not leave out of the scores.
func (s *Sampler) shut() {
	if s.open == nil {
		return
	}
	s.holes = true
	for i, word := range s.open {
		if word == math.MaxUint64 || 64*i >= len(s.scores) {
			continue
		}
		scores := s.scores[64*i : min(64*i+64, len(s.scores))]
		for j := range scores {
			if word&1 == 0 {
				scores[j] = math.Inf(-1)
			}
			word >>= 1
		}
	}
}
