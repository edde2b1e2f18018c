package terminal

// Lines that wait until a first line is known.

import (
	"bytes"
	"io"
	"sync"
)

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
