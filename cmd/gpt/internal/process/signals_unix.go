//go:build unix

package process

import (
	"os"
	"os/signal"
	"syscall"
)

// endings are the signals that end the process. nohup, which has SIGHUP ignored, keeps its meaning.
func endings() []os.Signal {
	all := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		all = append(all, syscall.SIGHUP)
	}
	return all
}

// errorsInstead are the signals that are ignored, for the error of the Write that caused them says
// the same.
func errorsInstead() []os.Signal { return []os.Signal{syscall.SIGPIPE, syscall.SIGXFSZ} }
