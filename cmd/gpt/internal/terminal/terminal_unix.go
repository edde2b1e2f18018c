//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package terminal

import (
	"os"
	"os/signal"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// A unixTerminal is a terminal with termios.
type unixTerminal struct {
	in, out *os.File
	was     unix.Termios

	mu     sync.Mutex
	closed bool
}

// leastColumns is the least width of a terminal for editing.
const leastColumns = 10

func openTerminal(in, out *os.File) (terminal, error) {
	if slices.Contains([]string{"", "dumb", "cons25"}, os.Getenv("TERM")) {
		return nil, ErrUnsupported
	}
	was, err := unix.IoctlGetTermios(int(in.Fd()), getMode)
	if err != nil {
		return nil, ErrUnsupported
	}
	size, err := unix.IoctlGetWinsize(int(out.Fd()), unix.TIOCGWINSZ)
	if err != nil || size.Col < leastColumns {
		return nil, ErrUnsupported
	}
	return &unixTerminal{in: in, out: out, was: *was}, nil
}

func (t *unixTerminal) Read(b []byte) (int, error)  { return t.in.Read(b) }
func (t *unixTerminal) Write(b []byte) (int, error) { return t.out.Write(b) }

func (t *unixTerminal) size() (columns, rows int) {
	size, err := unix.IoctlGetWinsize(int(t.out.Fd()), unix.TIOCGWINSZ)
	if err != nil || size.Col < leastColumns {
		return leastColumns, 1
	}
	if rows = int(size.Row); rows == 0 {
		rows = 24
	}
	return int(size.Col), rows
}

func (t *unixTerminal) setMode(m mode) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil
	}
	t.closed = m == closed
	now := t.was
	if m == quiet || m == edited {
		now.Iflag &^= unix.ICRNL | unix.INLCR | unix.IGNCR | unix.INPCK | unix.ISTRIP | unix.IXON
		now.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.IEXTEN
		now.Cc[unix.VMIN], now.Cc[unix.VTIME] = 1, 0
		now.Cc[unix.VSUSP] = disabled // read receives it as a key, and restores the terminal first
	}
	if m == edited {
		now.Lflag &^= unix.ISIG
	}
	return unix.IoctlSetTermios(int(t.in.Fd()), setModeNow, &now)
}

func (t *unixTerminal) suspend() { stop() }

// watch takes the terminal again when the process continues after another process has stopped it.
func (e *Editor) watch() {
	goesOn := make(chan os.Signal, 1)
	signal.Notify(goesOn, unix.SIGCONT)
	go func() {
		for range goesOn {
			e.continued()
		}
	}()
}
