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
)

// started runs gpt with its streams at hand. Reading stops after a minute, whatever happens.
func started(t *testing.T, args ...string) (cmd *exec.Cmd, stdout io.ReadCloser, stderr *strings.Builder) {
	t.Helper()
	cmd = exec.Command("gpt", args...)
	stderr = new(strings.Builder)
	cmd.Stderr = stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	watchdog := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
	t.Cleanup(func() {
		watchdog.Stop()
		cmd.Process.Kill()
		cmd.Wait()
	})
	return cmd, stdout, stderr
}

func status(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return 0
}

// endless is a generation that would take minutes.
var endless = []string{"--seed", "1", "--samples", "1000000", "Once upon a time"}

func TestCtrlCKeepsTheTextSoFarAndExits130(t *testing.T) {
	want, err := exec.Command("gpt", "--seed", "1", "--samples", "16", "Once upon a time").Output()
	if err != nil {
		t.Fatal(err)
	}
	cmd, stdout, stderr := started(t, endless...)
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
