package talk

// Ctrl-C in a chat: it stops the answer and not the program.

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
)

// errEnded says that a signal ends the program, in an orderly way.
var errEnded = fmt.Errorf("ended by a signal: %w", context.Canceled)

// A interrupt is what signals do at the moment.
type interrupt struct {
	mu     sync.Mutex
	cancel context.CancelFunc // of the answer that is being made, or nil
	end    bool               // the program ends when the answer has stopped

	prompting bool // for a line
	warned    bool // Ctrl-C has come since the last line
}

// begin returns the context of an answer. Call done after it.
func (i *interrupt) begin() (ctx context.Context, done func()) {
	ctx, cancel := context.WithCancel(context.Background())
	i.set(cancel)
	return ctx, func() {
		i.set(nil)
		cancel()
	}
}

func (i *interrupt) set(cancel context.CancelFunc) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.cancel = cancel
}

// stop stops the answer, if there is one.
func (i *interrupt) stop(end bool) (stopped bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.cancel == nil || i.end { // a second signal does not wait
		return false
	}
	i.end = end
	i.cancel()
	return true
}

func (i *interrupt) ended() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.end
}

// prompts says that a line is waited for, or that it came.
func (i *interrupt) prompts(on bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.prompting = on
	i.warned = i.warned && on
}

// warn reports whether Ctrl-C comes for the first time since the last line, and whether a line is
// waited for.
func (i *interrupt) warn() (first, prompting bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	first = !i.warned
	i.warned = true
	return first, i.prompting
}

// watch makes signals stop answers. Ctrl-C stops the answer alone where a person types the lines;
// in a script, and other signals everywhere, it ends the program. Where there is no answer to stop,
// a second Ctrl-C ends it.
func (c *Chat) watch() {
	c.Signals.SetCancel(func() {
		c.watch()
		stays := c.Signals.CtrlC() && c.lines.terminal()
		if c.interrupt.stop(!stays) {
			return
		}
		first, prompting := c.interrupt.warn()
		if stays && first {
			fmt.Fprintln(c.Console.Stderr) // after ^C
			c.Console.Notef(endsAgain)
			if prompting {
				io.WriteString(c.Console.Stderr, prompt)
			}
			return
		}
		c.Console.EndProgress()
		if c.busy.TryLock() { // a line is waited for
			if err := c.keep(); err != nil {
				c.Report(err)
			}
		}
		c.lines.close()
		c.AtEnd()
		if stays { // as at a prompt where lines can be edited
			fmt.Fprintln(c.Console.Stderr)
			os.Exit(0)
		}
		os.Exit(c.Signals.Status())
	})
}
