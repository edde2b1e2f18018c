//go:build !unix

package process

import (
	"os"
	"syscall"
)

// endings are the signals that end the process.
func endings() []os.Signal { return []os.Signal{os.Interrupt, syscall.SIGTERM} }

// errorsInstead are the signals that are ignored, for the error of the Write that caused them says
// the same.
func errorsInstead() []os.Signal { return []os.Signal{syscall.SIGPIPE} }
