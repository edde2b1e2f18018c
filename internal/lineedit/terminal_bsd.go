//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package lineedit

import "golang.org/x/sys/unix"

const (
	getMode    = unix.TIOCGETA
	setModeNow = unix.TIOCSETA
	disabled   = 0xff // of a control character: no key is it
)

// stop stops the process group, as the terminal does at Ctrl-Z. It may return before that: SIGCONT
// begins anew.
func stop() { unix.Kill(0, unix.SIGTSTP) }
