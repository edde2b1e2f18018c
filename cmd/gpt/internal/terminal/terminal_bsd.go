//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package terminal

import "golang.org/x/sys/unix"

const (
	getMode    = unix.TIOCGETA
	setModeNow = unix.TIOCSETA
	disabled   = 0xff // as a control character: no key has it
)

// stop stops the process group, as the terminal does for Ctrl-Z. It may return before the process
// stops: SIGCONT draws the line again.
func stop() { unix.Kill(0, unix.SIGTSTP) }
