package main

// How far some work is: items or bytes done, the time left, the rate.

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// A bar counts items or bytes. It is set by one goroutine and read by another.
type bar struct {
	title string // what is being done, "" where the unit says it
	unit  string // of items, "" for bytes

	mu           sync.Mutex
	start        time.Time
	done, total  int64 // items, or bytes where unit is ""
	extra        string
	read, length int64 // bytes of the input, where the number of its items is not known

	shareOnly bool // neither items nor bytes are counted
	share     float64
}

// newBar counts items.
func newBar(unit string) *bar { return &bar{unit: unit, start: time.Now()} }

// newByteBar counts bytes.
func newByteBar(title string) *bar { return &bar{title: title, start: time.Now()} }

// newShareBar counts nothing: it is told the share of the work that is done.
func newShareBar(title string) *bar {
	return &bar{title: title, start: time.Now(), shareOnly: true}
}

// set says how far things are; total is 0 where that is not known.
func (b *bar) set(done, total int, extra string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done, b.total, b.extra = int64(done), int64(total), extra
}

// setBytes does so for bytes.
func (b *bar) setBytes(done, total int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done, b.total = done, total
}

// setFile says which file is being worked on, and how many bytes of all of them are done.
func (b *bar) setFile(name string, done, total int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.title, b.done, b.total = name, done, total
}

// setShare says what is being done now, and the share of all that was done before.
func (b *bar) setShare(what string, share float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.title, b.share = what, share
}

// setInput says how many bytes of the input are read, where the number of its items is not known.
func (b *bar) setInput(read, length int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.read, b.length = read, length
}

// status is the bar's state now, for a line of progress.
func (b *bar) status() workState {
	b.mu.Lock()
	defer b.mu.Unlock()
	took := time.Since(b.start)
	s := workState{title: b.title, bar: true}
	switch {
	case b.shareOnly:
		s.share = b.share
	case b.total > 0:
		s.share = float64(b.done) / float64(b.total)
		s.parts = append(s.parts, b.amount(b.done, b.total))
	case b.length > 0:
		s.share = float64(b.read) / float64(b.length)
		s.parts = append(s.parts, b.amount(b.done, 0), shortSize(b.read)+" of "+shortSize(b.length))
	default:
		s.bar = false
		s.parts = append(s.parts, b.amount(b.done, 0))
	}
	if s.bar && s.share > 0 {
		left := time.Duration(float64(took) * (1/s.share - 1))
		s.parts = append(s.parts, max(left, 0).Round(time.Second).String()+" left")
	}
	if !b.shareOnly {
		s.parts = append(s.parts, b.rate(took))
	}
	if b.extra != "" {
		s.parts = append(s.parts, b.extra)
	}
	return s
}

// amount writes how much is done, and of how much if that is known.
func (b *bar) amount(done, total int64) string {
	switch {
	case b.unit == "" && total > 0:
		return shortSize(done) + " of " + shortSize(total)
	case b.unit == "":
		return shortSize(done)
	case total > 0:
		return fmt.Sprintf("%d of %d %s", done, total, b.unit)
	}
	return fmt.Sprintf("%d %s", done, b.unit)
}

func (b *bar) rate(took time.Duration) string {
	rate := float64(b.done) / max(took.Seconds(), 1e-9)
	if b.unit == "" {
		return shortSize(int64(rate)) + "/s"
	}
	digits := 0
	if rate > 0 && rate < 10 {
		digits = 1
	}
	return fmt.Sprintf("%.*f %s/s", digits, rate, b.unit)
}

// shortSize writes a number of bytes with three digits.
func shortSize(n int64) string {
	x, unit := float64(n), "B"
	for _, next := range []string{"kB", "MB", "GB"} {
		if x < 999.5 {
			break
		}
		x, unit = x/1000, next
	}
	digits := 0
	if unit != "B" && x < 99.95 {
		digits = 1
		if x < 9.995 {
			digits = 2
		}
	}
	return fmt.Sprintf("%.*f %s", digits, x, unit)
}

// A countingWriter shows on a bar what passes through it, some at a time.
type countingWriter struct {
	w           io.Writer
	bar         *bar
	done, total int64
}

func (c *countingWriter) Write(b []byte) (n int, err error) {
	const atOnce = 1 << 20
	for {
		m, err := c.w.Write(b[:min(len(b), atOnce)])
		n, b = n+m, b[m:]
		c.done += int64(m)
		c.bar.setBytes(min(c.done, c.total), c.total)
		if err != nil || len(b) == 0 {
			return n, err
		}
	}
}
