package talk

import (
	"errors"
	"io"
	"syscall"
	"testing"
	"time"

	"picogpt/cmd/gpt/internal/terminal"
	"picogpt/dev/watchdog"
)

// brokenLines are those of a terminal that is gone.
type brokenLines struct{ scriptLines }

func (*brokenLines) next() (string, error)   { return "", syscall.EIO }
func (*brokenLines) terminal() bool          { return true }
func (*brokenLines) located(err error) error { return err }

func TestAChatEndsWhenItsTerminalIsGone(t *testing.T) {
	c := &Chat{Console: &terminal.Console{Stderr: io.Discard}, lines: &brokenLines{}}
	ended := make(chan error, 1)
	go func() { ended <- c.run() }()
	select {
	case err := <-ended:
		if !errors.Is(err, syscall.EIO) {
			t.Errorf("the chat ends with %v, want %v", err, syscall.EIO)
		}
	case <-time.After(watchdog.Wait):
		t.Error("the chat goes on")
	}
}
