package terminal

// How far some work is: items or bytes done, the time left, the rate; and as a line.

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/rivo/uniseg"

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

// What a line of progress says, and how it fits a terminal of any width.

// A state is the state of some work. Its line has a bar, the title and the parts. Where there
// is no room for all of it, the bar goes first, then the title becomes shorter, then the last parts
// go, then the title.
type state struct {
	title string   // "" for none; may hold the name of a file, and so anything
	parts []string // the most important one first
	bar   bool     // draw the bar
	share float64  // of the work that is done, 0 to 1
}

// line lays it out in at most room columns.
func (s state) line(room int) string {
	const widestBar, leastBar = 20, 10
	text := s.text(room)
	width := min(widestBar, room-Width(text)-len("[] "))
	if !s.bar || width < leastBar {
		return text
	}
	full := int(float64(width) * min(max(s.share, 0), 1))
	return "[" + strings.Repeat("#", full) + strings.Repeat(".", width-full) + "] " + text
}

// text is the line without the bar.
func (s state) text(room int) string {
	const shortTitle = 8 // columns that the title keeps while there are parts to drop
	title, parts := Printable(s.title), s.parts
	least := min(Width(title), shortTitle)
	if len(parts) > 0 && (title == "" || least+Width(after(parts[:1])) > room) {
		title, parts = parts[0], parts[1:]
		least = Width(title)
	}
	for len(parts) > 0 && least+Width(after(parts)) > room {
		parts = parts[:len(parts)-1]
	}
	return Cut(title, room-Width(after(parts))) + after(parts)
}

// after joins parts, each with a comma before it.
func after(parts []string) string {
	if len(parts) == 0 {
		return ""
	}
	return ", " + strings.Join(parts, ", ")
}

// Width returns the number of columns that a terminal takes for s, where a Chinese character
// takes two and a combining accent none.
func Width(s string) int { return uniseg.StringWidth(s) }

// Cut shortens s to at most room columns, the last of them an ellipsis if something is missing.
func Cut(s string, room int) string {
	if Width(s) <= room {
		return s
	}
	if room < 1 {
		return ""
	}
	var b strings.Builder
	for used, state := 0, -1; ; {
		cluster, rest, width, next := uniseg.FirstGraphemeClusterInString(s, state)
		if used += width; used > room-1 {
			return strings.TrimRight(b.String(), " ") + "…"
		}
		b.WriteString(cluster)
		s, state = rest, next
	}
}

// Printable replaces what would move the cursor, or is no text at all.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		const joiner = '\u200d' // stands inside some emoji, and is not printable by itself
		if r == joiner || unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
}
