package sample

// What is said where no id is left to draw: which of the options took the ids away.

import (
	"fmt"
	"slices"
	"strings"
)

// A NoIDError says that the options leave no id to draw.
type NoIDError struct {
	Position int // of the logits, in the context

	// Took is what took ids away, in the order in which it did: names of Steps, "vocabulary" for
	// ids that are none, "constraint", and "ban" for those that would begin a banned string.
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

// noID is the error where no id is left: it takes the steps again, and counts after each.
func (s *Sampler) noID(from Row) error {
	before, e := s.State, &NoIDError{Position: len(s.context) - 1}
	s.load(from, s.context)
	left := len(s.scores)
	take := func(step step) {
		step.do(s)
		n := s.left()
		if n < left || from.IDs != nil && step.name == "top-k" { // without what it would take
			e.Took = append(e.Took, step.name)
		}
		left = n
	}
	for _, step := range slices.Concat(s.masks, s.before) {
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
