package show

// Lines that fit a terminal.

import (
	"strings"

	"picogpt/cmd/gpt/internal/terminal"
)

// wrapped returns a text with its pieces in lines of so many columns, 0 for one line. A piece that is
// longer has a line of its own. between stands between two pieces of a line.
func wrapped(pieces []string, between string, columns int) string {
	var b strings.Builder
	at := 0
	for i, piece := range pieces {
		width := terminal.Width(piece)
		switch room := columns - at - len(between); {
		case i == 0:
		case columns > 0 && width > room:
			b.WriteByte('\n')
			at = 0
		default:
			b.WriteString(between)
			at += len(between)
		}
		b.WriteString(piece)
		at += width
	}
	return b.String()
}

// Wrapped returns a sentence in lines of so many columns, 0 for one line.
func Wrapped(sentence string, columns int) string {
	return wrapped(strings.Split(sentence, " "), " ", columns)
}
