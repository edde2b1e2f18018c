package terminal

// What a line of progress says, and how it fits a terminal of any width.

import (
	"strings"
	"unicode"

	"github.com/rivo/uniseg"
)

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
