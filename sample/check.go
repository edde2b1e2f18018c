package sample

// Checks of the options.

import (
	"math"

	"picogpt/internal/option"
)

// An OptionError is a mistake in the options: they are wrong for every model and every prompt.
type OptionError struct{ Err error }

func (e *OptionError) Error() string { return e.Err.Error() }

func (e *OptionError) Unwrap() error { return e.Err }

// Check returns an *OptionError that names the first option no sampler accepts, or nil.
func (p *Params) Check() error {
	if err := option.Check(p.table()); err != nil {
		return &OptionError{err}
	}
	return nil
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
