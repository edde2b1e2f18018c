package terminal

// How far some work is: items or bytes done, the time left, the rate.

import (
	"fmt"
	"io"
	"sync"
	"time"

	"picogpt/internal/quote"
)

// A Bar counts items or bytes. It is set by one goroutine and read by another.
type Bar struct {
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

// NewBar counts items.
func NewBar(unit string) *Bar { return &Bar{unit: unit, start: time.Now()} }

// NewByteBar counts bytes.
func NewByteBar(title string) *Bar { return &Bar{title: title, start: time.Now()} }

// NewShareBar counts nothing: it is told the share of the work that is done.
func NewShareBar(title string) *Bar {
	return &Bar{title: title, start: time.Now(), shareOnly: true}
}

// Set says how far things are; total is 0 where that is not known.
func (b *Bar) Set(done, total int, extra string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done, b.total, b.extra = int64(done), int64(total), extra
}

// SetBytes does so for bytes.
func (b *Bar) SetBytes(done, total int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done, b.total = done, total
}

// SetFile says which file is being worked on, and how many bytes of all of them are done.
func (b *Bar) SetFile(name string, done, total int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.title, b.done, b.total = name, done, total
}

// SetShare says what is being done now, and the share of all that was done before.
func (b *Bar) SetShare(what string, share float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.title, b.share = what, share
}

// SetInput says how many bytes of the input are read, where the number of its items is not known.
func (b *Bar) SetInput(read, length int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.read, b.length = read, length
}

// Restart begins the time anew from which rates are counted.
func (b *Bar) Restart() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.start = time.Now()
}

// Done returns how much was done when the bar was last set.
func (b *Bar) Done() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.done
}

// status is the bar's state now, for a line of progress.
func (b *Bar) status() state {
	b.mu.Lock()
	defer b.mu.Unlock()
	took := time.Since(b.start)
	s := state{title: b.title, bar: true}
	switch {
	case b.shareOnly:
		s.share = b.share
	case b.total > 0:
		s.share = float64(b.done) / float64(b.total)
		s.parts = append(s.parts, b.amount(b.done, b.total))
	case b.length > 0:
		s.share = float64(b.read) / float64(b.length)
		s.parts = append(s.parts, b.amount(b.done, 0), quote.Size(b.read)+" of "+quote.Size(b.length))
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
func (b *Bar) amount(done, total int64) string {
	switch {
	case b.unit == "" && total > 0:
		return quote.Size(done) + " of " + quote.Size(total)
	case b.unit == "":
		return quote.Size(done)
	case total > 0:
		return fmt.Sprintf("%d of %d %s", done, total, b.unit)
	}
	return fmt.Sprintf("%d %s", done, b.unit)
}

func (b *Bar) rate(took time.Duration) string {
	rate := float64(b.done) / max(took.Seconds(), 1e-9)
	if b.unit == "" {
		return quote.Size(int64(rate)) + "/s"
	}
	digits := 0
	if rate > 0 && rate < 10 {
		digits = 1
	}
	return fmt.Sprintf("%.*f %s/s", digits, rate, b.unit)
}

// Counting returns a writer that shows on a bar how much of a total passes through it to w.
func (b *Bar) Counting(w io.Writer, total int64) io.Writer {
	return &countingWriter{w: w, bar: b, total: total}
}

type countingWriter struct {
	w           io.Writer
	bar         *Bar
	done, total int64
}

// Write passes on some at a time.
func (c *countingWriter) Write(b []byte) (n int, err error) {
	const atOnce = 1 << 20
	for {
		m, err := c.w.Write(b[:min(len(b), atOnce)])
		n, b = n+m, b[m:]
		c.done += int64(m)
		c.bar.SetBytes(min(c.done, c.total), c.total)
		if err != nil || len(b) == 0 {
			return n, err
		}
	}
}
