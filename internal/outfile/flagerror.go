package outfile

// What a command line answers where a file cannot be written.

import (
	"errors"

	"picogpt/internal/fault"
)

// FlagError is an error of this package about the file that a flag names, for the command line. It
// is nil for nil.
func FlagError(flag string, err error) error {
	switch {
	case errors.Is(err, ErrInput), errors.Is(err, ErrEnding):
		return fault.Usagef("%s %w", flag, err)
	case errors.Is(err, ErrNoName):
		return fault.Usagef("%s: %w", flag, err)
	case errors.Is(err, ErrExists):
		return fault.Hint(err, "--force writes over it")
	}
	return err
}
