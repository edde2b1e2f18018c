// Package fault has the errors of a command line: mistakes of its user, and hints, which say what
// may be done about an error.
package fault

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// A Usage is a mistake in the command line. It ends a process with status 2.
type Usage struct{ Err error }

func (e Usage) Error() string { return e.Err.Error() }

// Unwrap returns the error without its meaning for the status.
func (e Usage) Unwrap() error { return e.Err }

// Usagef makes a Usage.
func Usagef(format string, args ...any) error { return Usage{fmt.Errorf(format, args...)} }

// NotNegative returns a Usage for a flag whose value is below 0.
func NotNegative(flag string, n int) error {
	if n < 0 {
		return Usagef("%s %d: want 0 or more", flag, n)
	}
	return nil
}

// NoneEmpty returns a Usage for a flag with an empty string among its values.
func NoneEmpty(flag string, list []string) error {
	if slices.Contains(list, "") {
		return Usagef("%s: want at least one byte, found none", flag)
	}
	return nil
}

// hinted is an error with a hint.
type hinted struct {
	error
	hint string
}

func (e hinted) Unwrap() error { return e.error }

// Hint adds a hint to an error. It takes the place of one that the error has.
func Hint(err error, hint string) error { return hinted{err, hint} }

// HintOf returns the hint of an error, "" if it has none.
func HintOf(err error) string {
	if h, ok := errors.AsType[hinted](err); ok {
		return h.hint
	}
	return ""
}

// Hinted reports whether an error has a hint at its outside.
func Hinted(err error) bool {
	_, ok := err.(hinted)
	return ok
}

// First returns the first error that is one.
func First(errs ...error) error { return cmp.Or(errs...) }
