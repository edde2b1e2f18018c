package main

// The process on a terminal.

import (
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// onTerminal runs gpt with stdout on a terminal of that many columns, and returns what it prints there.
func onTerminal(t *testing.T, columns int, args ...string) string {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err) // a machine without terminals; TestHelpFitsItsWidth needs none
	}
	defer master.Close()
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: uint16(columns)}); err != nil {
		t.Fatal(err)
	}
	terminal, err := os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("gpt", args...)
	cmd.Stdout = terminal
	err = cmd.Start()
	terminal.Close()
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(master) // ends with an error when the process closes its side
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), "\r\n", "\n")
}

func TestHelpIsAsWideAsTheTerminalAnd80InAPipe(t *testing.T) {
	for _, columns := range []int{60, 80, 120} {
		if got, want := onTerminal(t, columns, "generate", "--help"), pages(t, columns)["generate"]; got != want {
			t.Errorf("%d columns: got\n%s\nwant\n%s", columns, got, want)
		}
	}
	piped, err := exec.Command("gpt", "generate", "--help").Output()
	if want := pages(t, 80)["generate"]; err != nil || string(piped) != want {
		t.Errorf("in a pipe: %v, got\n%s\nwant\n%s", err, piped, want)
	}
}
