package main

// Progress: one line on a terminal, of a run in this process.

import (
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"picogpt/x/corpus/internal/work"
)

// progress shows how far the run has come, until end is called.
func (f *runFlags) progress(a *app) (end func()) {
	file, ok := a.stderr.(*os.File)
	if f.Quiet || !ok || !term.IsTerminal(int(file.Fd())) || !here() {
		return func() {}
	}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		start := time.Now()
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				width, _, _ := term.GetSize(int(file.Fd()))
				fmt.Fprintf(file, "\r\x1b[K%s", fitted(state(work.This, time.Since(start)), width))
			case <-stop:
				fmt.Fprint(file, "\r\x1b[K")
				return
			}
		}
	}()
	return func() { close(stop); <-done }
}

// fitted is a line that does not wrap.
func fitted(line string, width int) string {
	if width > 1 && len(line) >= width {
		return line[:width-1]
	}
	return line
}

// state says how far a process has come.
func state(p *work.Process, took time.Duration) string {
	all := p.All.Load()
	if all == 0 {
		return "reading the input"
	}
	parts := []string{fmt.Sprintf("%d of %d pieces", p.Pieces.Load(), all)}
	if n := p.Resumed.Load(); n > 0 {
		parts = append(parts, fmt.Sprintf("%d of them from before", n))
	}
	if n := p.Selected.Load(); n > 0 {
		parts = append(parts, fmt.Sprintf("of %d is written what is kept", n))
	}
	parts = append(parts, fmt.Sprintf("%d records", p.Records.Load()))
	if n := p.Errors.Load(); n > 0 {
		parts = append(parts, fmt.Sprintf("%d errors", n))
	}
	tokens := p.Tokens.Load()
	return strings.Join(append(parts, fmt.Sprintf("%d tokens", tokens),
		fmt.Sprintf("%.0f tokens/s", float64(tokens)/took.Seconds())), ", ")
}
