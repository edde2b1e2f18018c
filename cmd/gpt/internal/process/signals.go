// Package process handles a program's standard streams, and the signals that end it.
package process

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// Signals are Ctrl-C, SIGTERM and the signal of a terminal that is closed. The methods may be
// called from several goroutines.
type Signals struct {
	mu     sync.Mutex
	cancel context.CancelFunc // what the next signal calls, if not nil
	ended  os.Signal          // the last one that came
}

// Watch makes signals end the process with their Status: at once, unless Graceful has said
// otherwise, and at once if a second one comes. end is called before that. A closed pipe and a file
// that grows too large become errors of Write.
func (s *Signals) Watch(end func()) {
	signal.Ignore(errorsInstead()...)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, endings()...)
	go func() {
		for came := range signals {
			s.mu.Lock()
			cancel := s.cancel
			s.cancel = nil
			s.ended = came
			s.mu.Unlock()
			if cancel == nil {
				end()
				os.Exit(s.Status())
			}
			cancel()
		}
	}()
}

// Status returns the exit status after a signal, 128 and its number: 130 for Ctrl-C, 143 for
// SIGTERM.
func (s *Signals) Status() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if number, ok := s.ended.(syscall.Signal); ok {
		return 128 + int(number)
	}
	return 130
}

// CtrlC reports whether the last signal was Ctrl-C.
func (s *Signals) CtrlC() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended == os.Interrupt
}

// Graceful returns a context that the next signal cancels, so that what is there can be printed.
// Call release when the work is done.
func (s *Signals) Graceful() (ctx context.Context, release func()) {
	ctx, cancel := context.WithCancel(context.Background())
	s.SetCancel(cancel)
	return ctx, func() {
		s.SetCancel(nil)
		cancel()
	}
}

// SetCancel sets what the next signal does: it calls cancel, or ends the process if that is nil.
func (s *Signals) SetCancel(cancel context.CancelFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancel = cancel
}
