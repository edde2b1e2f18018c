package sample

// The error where no id is left to draw: it names the steps that removed the ids.

import (
	"fmt"
	"slices"
	"strings"
)

// A NoIDError says that the options leave no id to draw.
type NoIDError struct {
	Position int // of the logits, in the context

	// Took names the steps that removed ids, in their order: names of Steps, "vocabulary" for ids
	// that it does not have, "constraint", "ban" for ids that would begin a banned string, and "allowed tokens".
	Took []string
}

func (e *NoIDError) Error() string {
	s := fmt.Sprintf("logits after position %d: want at least one id to draw, found none", e.Position)
	switch last := len(e.Took) - 1; last {
	case -1:
		return s
	case 0:
		return s + ": " + e.Took[0] + " leaves none"
	default:
		return s + ": " + strings.Join(e.Took[:last], ", ") + " and " + e.Took[last] + " leave none"
	}
}

// noID returns the error where no id is left: it applies the steps again, and counts the ids after
// each.
func (s *Sampler) noID(from Row) error {
	before, e := s.State, &NoIDError{Position: len(s.context) - 1}
	s.load(from, s.context)
	left := len(s.scores)
	take := func(step step) {
		step.do(s)
		n := s.left()
		if n < left || from.IDs != nil && step.name == "top-k" { // the row lacks those
			e.Took = append(e.Took, step.name)
		}
		left = n
	}
	for _, step := range slices.Concat(s.ahead, s.masks, s.before) {
		take(step)
	}
	if left > 0 {
		s.largest, s.weighed, s.weights = s.scores[s.likeliest()], false, s.weights[:0]
	}
	for i := 0; i < len(s.steps) && left > 0; i++ {
		take(s.steps[i])
	}
	s.State = before
	return e
}
