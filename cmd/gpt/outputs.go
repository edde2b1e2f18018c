package main

// Files that a command writes: what they may overwrite, and what they never do.

import (
	"errors"

	"picogpt/internal/fault"
	"picogpt/internal/outfile"
)

// writing returns the rules for an output file of this command. What it reads is never written over:
// the checkpoint, and the files that were opened or that willRead has named.
func (a *app) writing(force bool) outfile.Options {
	if a.Model != nil {
		if path, err := a.modelPath(); err == nil { // else opening it reports the error
			a.willReadCheckpoint(path, "")
		}
	}
	return outfile.Options{Force: force, Inputs: &a.inputs, Temps: &a.temps}
}

// outputError is an error of package outfile about the file that a flag names.
func outputError(flag string, err error) error {
	switch {
	case errors.Is(err, outfile.ErrInput):
		return usagef("%s %w", flag, err)
	case errors.Is(err, outfile.ErrNoName):
		return usagef("%s: %w", flag, err)
	case errors.Is(err, outfile.ErrExists):
		return fault.Hint(err, "--force writes over it")
	}
	return err
}
