package main

// A progress bar with a rate and the time left, as the label of a progress line.

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// A bar is a progress bar. It is set by one goroutine and read by another.
type bar struct {
	mu          sync.Mutex
	unit, extra string
	done, total int
	start       time.Time
}

func newBar(unit string) *bar { return &bar{unit: unit, start: time.Now()} }

// set says how far things are; total is 0 where that is not known.
func (b *bar) set(done, total int, extra string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done, b.total, b.extra = done, total, extra
}

func (b *bar) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	rate := float64(b.done) / time.Since(b.start).Seconds()
	if b.total == 0 || b.done == 0 {
		return fmt.Sprintf("%d %s, %.0f %s/s", b.done, b.unit, rate, b.unit)
	}
	const width = 20
	full := width * b.done / b.total
	left := time.Duration(float64(b.total-b.done) / rate * float64(time.Second)).Round(time.Second)
	s := fmt.Sprintf("[%s%s] %d of %d %s, %.0f %s/s, %s left", strings.Repeat("#", full), strings.Repeat(".", width-full),
		b.done, b.total, b.unit, rate, b.unit, left)
	if b.extra != "" {
		s += ", " + b.extra
	}
	return s
}

// noteDuring writes a line to stderr while b may be on the terminal.
func (a *app) noteDuring(b *bar, format string, args ...any) {
	a.mu.Lock()
	shown := a.progress != nil
	a.mu.Unlock()
	a.endProgress()
	a.notef(format, args...)
	if shown {
		a.showProgress(b.String)
	}
}
