package sample

// What is refused, by name.

import (
	"math"

	"picogpt/internal/option"
)

// An OptionError is a mistake in the options: the caller's, whatever the model and the prompt are.
type OptionError struct{ Err error }

func (e *OptionError) Error() string { return e.Err.Error() }

func (e *OptionError) Unwrap() error { return e.Err }

// Check returns an *OptionError of what no sampler could follow, by name, or nil.
func (p *Params) Check() error {
	if err := option.Check(p.Table()); err != nil {
		return &OptionError{err}
	}
	return nil
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
