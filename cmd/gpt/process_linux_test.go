package main

// The process on a terminal.

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// openTerminal returns both ends of a pseudo-terminal.
func openTerminal(t *testing.T) (screen, terminal *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no pseudo-terminals here:", err)
	}
	t.Cleanup(func() { screen.Close() })
	fd := int(screen.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	terminal, err = os.OpenFile(fmt.Sprint("/dev/pts/", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { terminal.Close() })
	return screen, terminal
}

// resize gives a terminal that many columns.
func resize(t *testing.T, terminal *os.File, columns uint16) {
	t.Helper()
	size := unix.Winsize{Row: 24, Col: columns}
	if err := unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ, &size); err != nil {
		t.Fatal(err)
	}
}

// onTerminal runs gpt with stdout on a terminal of that many columns, and returns what it prints
// there.
func onTerminal(t *testing.T, columns uint16, args ...string) string {
	t.Helper()
	screen, terminal := openTerminal(t)
	resize(t, terminal, columns)
	cmd := exec.Command("gpt", args...)
	cmd.Stdout = terminal
	err := cmd.Start()
	terminal.Close()
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(screen) // ends with an error when the process closes its side
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), "\r\n", "\n")
}

func TestHelpIsAsWideAsTheTerminalAnd80InAPipe(t *testing.T) {
	for _, columns := range []uint16{60, 80, 120} {
		want := pages(t, int(columns))["generate"]
		if got := onTerminal(t, columns, "generate", "--help"); got != want {
			t.Errorf("%d columns: got\n%s\nwant\n%s", columns, got, want)
		}
	}
	piped, err := exec.Command("gpt", "generate", "--help").Output()
	if want := pages(t, 80)["generate"]; err != nil || string(piped) != want {
		t.Errorf("in a pipe: %v, got\n%s\nwant\n%s", err, piped, want)
	}
}
