package terminal

// The console: stderr with notes, and at most one line of progress.

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"picogpt/internal/quote"
)

// A Console is a program's stderr. Its methods may be called from several goroutines, but for Hold.
type Console struct {
	Stderr  io.Writer // a quote.Shown, if it may be a terminal
	Program string    // stands before notes

	// Tell, if not nil, takes notes in place of Stderr: where each line has a form.
	Tell func(note string)

	mu       sync.Mutex
	progress *progress // on the terminal, nil if there is none
}

// Notef writes a line that users need to see. A line break, as the name of a file may have, is no
// end of it.
func (c *Console) Notef(format string, args ...any) {
	note := strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", `\n`)
	if c.Tell != nil {
		c.Tell(note)
		return
	}
	fmt.Fprintf(c.Stderr, "%s: %s\n", c.Program, note)
}

// NoteDuring writes a line while a bar may be on the terminal.
func (c *Console) NoteDuring(b *Bar, format string, args ...any) {
	c.mu.Lock()
	shown := c.progress != nil
	c.mu.Unlock()
	c.EndProgress()
	c.Notef(format, args...)
	if shown {
		c.ShowBar(b)
	}
}

// Terminal returns the terminal that progress is shown on, nil if there is none.
func (c *Console) Terminal() *os.File {
	if shown, ok := c.Stderr.(*quote.Shown); ok {
		if file, ok := shown.Out().(*os.File); ok && Is(file) {
			return file
		}
	}
	return nil
}

// ShowProgress shows, a second from now on, what label returns and how long it has taken. label is
// called from another goroutine. Call end before anything else is written to the terminal. There is
// at most one line at a time.
func (c *Console) ShowProgress(label func() string) (end func()) {
	return c.show(func() state { return state{title: label()} })
}

// ShowBar shows a bar in the same way.
func (c *Console) ShowBar(b *Bar) (end func()) { return c.show(b.status) }

func (c *Console) show(now func() state) (end func()) {
	file := c.Terminal()
	if file == nil {
		return func() {}
	}
	p := newProgress(now)
	c.mu.Lock()
	c.progress = p
	c.mu.Unlock()
	go p.run(file)
	return c.EndProgress
}

// EndProgress wipes the line of progress, if there is one.
func (c *Console) EndProgress() {
	c.mu.Lock()
	p := c.progress
	c.progress = nil
	c.mu.Unlock()
	if p != nil {
		p.end()
	}
}
