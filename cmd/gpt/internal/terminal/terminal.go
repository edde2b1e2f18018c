// Package terminal shows the work of a program: notes on stderr, one line of progress below them on a
// terminal, and texts that fit its width. An [Editor] reads the lines that a user types there.
package terminal

import (
	"os"

	"golang.org/x/term"
)

// Is reports whether a file is a terminal.
func Is(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// Columns returns the width of a terminal, 80 where f is none or does not say.
func Columns(f *os.File) int {
	if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
		return width
	}
	return 80
}
