//go:build gpu && unix

package main

// Ctrl-C while the device of $GPT_DEVICE computes.

import (
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"picogpt/dev/watchdog"
)

func TestCtrlCOnADevice(t *testing.T) {
	device := os.Getenv("GPT_DEVICE")
	if device == "" || device == "cpu" {
		t.Skip("GPT_DEVICE names no GPU, such as pocl or cuda")
	}
	// The processor's text is the device's, and is there sooner.
	want, err := exec.Command("gpt", "--device", "cpu", "--seed", "1", "--samples", "16",
		"Once upon a time").Output()
	if err != nil {
		t.Fatal(err)
	}
	cmd, stdout, stderr := started(t, endless...)
	head := make([]byte, 60)
	if _, err := io.ReadFull(stdout, head); err != nil {
		t.Fatal(err, stderr)
	}
	defer watchdog.Start(t, "after Ctrl-C")()
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(stdout)
	if err != nil {
		t.Fatal(err)
	}
	if got := status(cmd.Wait()); got != 130 || stderr.Len() > 0 {
		t.Errorf("exit status %d, want 130; stderr %q", got, stderr)
	}
	got, ended := strings.CutSuffix(string(head)+string(rest), "\n")
	if !ended || !strings.HasPrefix(string(want), got[:min(len(got), len(want))]) {
		t.Errorf("got %q, want the beginning of %q and a newline", got, want)
	}
}
