package decode

// The budget of a form: its text is complete within MaxTokens and the context. Near the end, ids
// after which no end would fit are shut.

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"picogpt/sample"
)

// A bounded is a Matcher that can end in time. *constrain.Text is one.
type bounded interface {
	Bounded() bool                // ends of its texts are known
	Least() (tokens int, ok bool) // they suffice to complete the text
	Within(tokens int)            // from now on; 0: any number
	Shut() []uint64               // the ids that the newest Mask shut because of that; nil: none
}

// A BudgetError says that MaxTokens, or what the context has left, holds no text of the form.
type BudgetError struct {
	Tokens int  // that may come
	Least  int  // suffice
	Sent   bool // MaxTokens says so, and not the context
}

func (e *BudgetError) Error() string {
	if e.Sent {
		return fmt.Sprintf("max tokens %d: the form needs more: %d are enough", e.Tokens, e.Least)
	}
	return fmt.Sprintf("the context has room for %d new tokens, and the form needs more: %d are enough",
		e.Tokens, e.Least)
}

// left returns how many tokens may still come; 0 if nothing bounds them, or they have no form that
// can end in time.
func (s *Stream) left() int {
	if s.bounded == nil {
		return 0
	}
	left := math.MaxInt
	if s.options.MaxTokens > 0 {
		left = s.options.MaxTokens - s.n
	}
	if s.options.Overflow != OverflowSlide {
		left = min(left, s.limits.context-len(s.context)+1) // the last one takes no position
		if s.guide != nil {
			left = min(left, s.limits.context-len(s.guide.context)+1)
		}
	}
	if left == math.MaxInt {
		return 0
	}
	return left
}

// bound tells the form how many tokens are left, before its next mask.
func (s *Stream) bound() {
	if s.bounded != nil {
		s.bounded.Within(s.left())
	}
}

// keepBudget makes the text end in time, if its form can. It returns an error if no text of the form
// can.
func (s *Stream) keepBudget() error {
	form, ok := s.constraint.(bounded)
	if !ok || s.options.MayCut || s.options.Echo == EchoOnly || !form.Bounded() {
		return nil
	}
	s.bounded = form
	left := s.left()
	if least, ok := form.Least(); ok && left > 0 && left < least {
		return &BudgetError{left, least, left == s.options.MaxTokens-s.n}
	}
	return nil
}

// ends reports whether the last token of a text ends it, if the text is then complete.
func (s *Stream) ends(complete bool) bool {
	return complete && s.options.Constraint != nil && !s.options.MayCut && len(s.limits.endOfText) > 0
}

// A narrowing is what the budget took from a mask.
type narrowing struct {
	shut []uint64 // ids that the form leaves open; nil: nothing was taken
	kept float64  // Token.Kept
	by   []string // steps of the sampler that left nothing of the rest, so that shut is open again
}

// uncut gives back what the budget took, if a sampler's error says that nothing else is left, and
// reports whether it did.
func (s *Stream) uncut(err error) bool {
	if s.narrow.shut == nil || err == nil {
		return false
	}
	none, ok := errors.AsType[*sample.NoIDError](err)
	if !ok {
		return false
	}
	for _, step := range none.Took {
		if step != "constraint" && step != "vocabulary" {
			s.narrow.by = append(s.narrow.by[:len(s.narrow.by):len(s.narrow.by)], step)
		}
	}
	for i := range s.sampler.Open {
		s.sampler.Open[i] |= s.narrow.shut[i]
	}
	s.narrow.shut, s.narrow.kept = nil, 0
	return true
}

// wideOpen returns the ids that the form leaves open, with those that the budget shut.
func (s *Stream) wideOpen() []uint64 {
	if s.narrow.shut == nil {
		return s.sampler.Open
	}
	all := slices.Clone(s.sampler.Open)
	for i := range all {
		all[i] |= s.narrow.shut[i]
	}
	return all
}

// outranked is Token.Outranked.
func (s *Stream) outranked(t *Token) string {
	if !t.Incomplete {
		return ""
	}
	return strings.Join(s.narrow.by, ", ")
}
