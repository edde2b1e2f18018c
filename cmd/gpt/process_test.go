//go:build unix

package main

// The process as the system sees it: Ctrl-C, closed pipes, output as it comes.

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"picogpt/dev/cases"
	"picogpt/dev/watchdog"
)

// started runs gpt with its streams at hand. Reading stops after a minute, whatever happens.
func started(
	t *testing.T, args ...string,
) (cmd *exec.Cmd, stdout io.ReadCloser, stderr *strings.Builder) {
	t.Helper()
	cmd = exec.Command("gpt", args...)
	stderr = new(strings.Builder)
	cmd.Stderr = stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	startWatched(t, cmd)
	return cmd, stdout, stderr
}

// startWatched starts a process that ends with the test, and after a minute at the latest.
func startWatched(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	watchdog := time.AfterFunc(watchdog.Wait, func() { cmd.Process.Kill() })
	t.Cleanup(func() {
		watchdog.Stop()
		cmd.Process.Kill()
		cmd.Wait()
	})
}

func status(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return 0
}

// endless is a generation that would take minutes.
var endless = []string{"--threads", "1", "-n", "20", "--seed", "1", "--samples", "1000000", "Once upon a time"}

func TestCtrlCKeepsTheTextSoFarAndExits130(t *testing.T) {
	cases.NotShort(t)
	want, err := exec.Command("gpt", "-n", "20", "--seed", "1", "--samples", "50", "Once upon a time").Output()
	if err != nil {
		t.Fatal(err)
	}
	cmd, stdout, stderr := started(t, endless...)
	smallPipe(t, stdout.(*os.File)) // what is written on meanwhile is not much
	head := make([]byte, 60)
	if _, err := io.ReadFull(stdout, head); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(stdout)
	if err != nil {
		t.Fatal(err)
	}
	if got := status(cmd.Wait()); got != 130 {
		t.Errorf("exit status %d, want 130", got)
	}
	if stderr.Len() > 0 {
		t.Errorf("stderr: %q, want nothing", stderr)
	}
	got := string(head) + string(rest)
	if len(got) > len(want) {
		t.Skipf("%d bytes came before the signal: too quick to compare", len(got))
	}
	if body, ok := strings.CutSuffix(got, "\n"); !ok || !strings.HasPrefix(string(want), body) {
		t.Errorf("got %q, want the beginning of %q and a newline", got, want)
	}
}

func TestCtrlCPrintsAnObjectForTheTextSoFar(t *testing.T) {
	cmd, stdout, _ := started(t, append([]string{"--output", "json"}, endless...)...)
	r := bufio.NewReader(stdout)
	if _, err := r.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	cmd.Process.Signal(os.Interrupt)
	rest, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if got := status(cmd.Wait()); got != 130 {
		t.Errorf("exit status %d, want 130", got)
	}
	lines := strings.SplitAfter(string(rest), "\n")
	for _, line := range lines[:len(lines)-1] {
		if !strings.HasPrefix(line, `{"sample":`) || !strings.HasSuffix(line, "\"}\n") {
			t.Errorf("line %q, want an object", line)
		}
	}
	if last := lines[len(lines)-1]; last != "" {
		t.Errorf("half a line: %q", last)
	}
}

func TestCtrlCWhileStdinIsReadExits130(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	cmd := exec.Command("gpt", "tokenize")
	cmd.Stdin = r
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r.Close()
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for { // until the process is far enough to listen
		cmd.Process.Signal(os.Interrupt)
		select {
		case err := <-done:
			if got := status(err); got != 130 && got != -1 { // -1: the signal came before main
				t.Errorf("exit status %d, want 130", got)
			}
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func TestTextComesAsItIsMade(t *testing.T) {
	_, stdout, _ := started(t, "--samples", "1000000", "--output", "ids", "Once upon a time")
	if _, err := bufio.NewReader(stdout).ReadString(','); err != nil {
		t.Fatal(err)
	}
}

func TestAClosedPipeEndsItQuietly(t *testing.T) {
	cases.NotShort(t)
	for _, output := range []string{"text", "ids", "json"} {
		cmd, stdout, stderr := started(t, append([]string{"--output", output}, endless...)...)
		if _, err := io.ReadFull(stdout, make([]byte, 5)); err != nil {
			t.Fatal(err)
		}
		stdout.Close()
		err := cmd.Wait()
		if got := status(err); got != 0 {
			t.Errorf("--output %s: exit status %d, want 0", output, got)
		}
		if s := cmd.ProcessState.Sys().(syscall.WaitStatus); s.Signaled() {
			t.Errorf("--output %s: ended by %v", output, s.Signal())
		}
		if stderr.Len() > 0 {
			t.Errorf("--output %s: stderr %q, want nothing", output, stderr)
		}
	}
}

func TestBytesOnStdinThatAreNotReadAreNoticed(t *testing.T) {
	cases.NotShort(t)
	pipe := func(held string, open bool) *os.File {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close(); w.Close() })
		io.WriteString(w, held)
		if !open {
			w.Close()
		}
		return r
	}
	file := func(at int64) *os.File {
		f, err := os.Create(t.TempDir() + "/notes")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		f.WriteString("notes")
		f.Seek(at, io.SeekStart)
		return f
	}
	lily, notes := []string{"-n", "1", "Lily"}, "notes"
	for _, c := range []struct {
		name  string
		stdin *os.File // nil is /dev/null
		args  []string
		left  string // what must still be there, with a note of it
	}{
		{"a full pipe", pipe(notes, true), lily, notes},
		{"a full pipe whose writer is gone", pipe(notes, false), lily, notes},
		{"a full pipe and -p", pipe(notes, false), []string{"-n", "1", "-p", "Lily"}, notes},
		{"a full pipe and ids", pipe(notes, false), []string{"-n", "1", "--tokens", "1"}, notes},
		{"a full pipe and tokenize", pipe(notes, false), []string{"tokenize", "Lily"}, notes},
		{"a file", file(0), lily, notes},
		{"a file at its end", file(5), lily, ""},
		{"an empty pipe", pipe("", true), lily, ""},
		{"an empty pipe whose writer is gone", pipe("", false), lily, ""},
		{"nothing", nil, lily, ""},
		{"a pipe that is read", pipe(notes, false), []string{"-n", "1", "-f", "-", "Lily"}, ""},
	} {
		cmd := exec.Command("gpt", c.args...)
		if c.stdin != nil {
			cmd.Stdin = c.stdin
		}
		var stderr strings.Builder
		cmd.Stderr = &stderr
		if err := cmd.Run(); err != nil {
			t.Fatalf("%s: %v: %s", c.name, err, &stderr)
		}
		want := ""
		if c.left != "" {
			want = "gpt: stdin is not read, because the text was given in the arguments; -f - reads stdin\n"
		}
		if stderr.String() != want {
			t.Errorf("%s: stderr %q, want %q", c.name, stderr.String(), want)
		}
		if left := make([]byte, len(c.left)); c.left != "" {
			if io.ReadFull(c.stdin, left); string(left) != c.left {
				t.Errorf("%s: %q is left, want %q", c.name, left, c.left)
			}
		}
	}
}

func TestBytesThatComeLateAreNoticedAtTheEnd(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	cmd := exec.Command("gpt", "-n", "20", "--seed", "1", "--samples", "3", "Once upon a time")
	var stderr strings.Builder
	cmd.Stdin, cmd.Stderr = r, &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// the prompt was looked for before
	if _, err := io.ReadFull(stdout, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	io.WriteString(w, "notes")
	io.Copy(io.Discard, stdout)
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if strings.Count(stderr.String(), "gpt: stdin is not read") != 1 {
		t.Errorf("stderr: %q, want one line on stdin", stderr.String())
	}
}
