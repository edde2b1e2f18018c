// Package terminal shows the work of a program: notes on stderr, one line of progress below them on a
// terminal, and texts that fit its width. An [Editor] reads the lines that a user types there.
package terminal

// The console: stderr with notes, and at most one line of progress.

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

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

// A line of progress, for what takes more than a second.

// A progress is a line that a goroutine rewrites until it is ended.
type progress struct {
	now   func() state
	since time.Time
	wait  time.Duration // until the line appears
	every time.Duration // from one line to the next
	stop  chan struct{}
	once  sync.Once
	done  chan struct{}
}

// newProgress shows, a second from now on, what now returns.
func newProgress(now func() state) *progress {
	return &progress{
		now: now, since: time.Now(), wait: time.Second, every: 200 * time.Millisecond,
		stop: make(chan struct{}), done: make(chan struct{}),
	}
}

// end wipes the line.
func (p *progress) end() {
	p.once.Do(func() { close(p.stop) })
	<-p.done
}

func (p *progress) run(w *os.File) {
	defer close(p.done)
	written := 0 // columns that hold something
	for wait := time.NewTimer(p.wait); ; wait.Reset(p.every) {
		select {
		case <-p.stop:
			wait.Stop()
			if written > 0 {
				fmt.Fprintf(w, "\r%s\r", strings.Repeat(" ", min(written, roomOf(w))))
			}
			return
		case <-wait.C:
			now, room := p.now(), roomOf(w)
			now.parts = append(now.parts, fmt.Sprintf("%d s", int(time.Since(p.since).Seconds())))
			line := now.line(room)
			columns := Width(line)
			fmt.Fprintf(w, "\r%s%s", line, strings.Repeat(" ", max(0, min(written, room)-columns)))
			written = columns
		}
	}
}

// roomOf returns how many columns a line on the terminal may take at this moment. The last column
// stays free: writing to it makes some terminals begin a new line.
func roomOf(w *os.File) int { return Columns(w) - 1 }

// Lines that wait until a first line is known.

// Hold keeps what would go to stderr until show is called, which writes a text before it. A writer
// that was Stderr in between writes through from then on, and may be used from several goroutines.
func (c *Console) Hold() (show func(first string)) {
	h := &held{out: c.Stderr}
	c.Stderr = h
	return func(first string) {
		c.Stderr = h.out
		h.show(first)
	}
}

// held holds what is written until it is shown.
type held struct {
	mu    sync.Mutex
	out   io.Writer
	lines bytes.Buffer
	shown bool
}

func (h *held) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.shown {
		return h.out.Write(b)
	}
	return h.lines.Write(b)
}

func (h *held) show(first string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.shown = true
	io.WriteString(h.out, first+h.lines.String()) // nobody to tell, if it fails
	h.lines.Reset()
}

// Is reports whether a file is a terminal.
func Is(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// Columns returns the width of a terminal, 80 where f is none or does not say.
func Columns(f *os.File) int {
	if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
		return width
	}
	return 80
}
