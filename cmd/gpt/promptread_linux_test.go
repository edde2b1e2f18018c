package main

import (
	"bytes"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"picogpt/cmd/gpt/internal/textio"
	"picogpt/dev/cases"
)

// TestALongPromptTakesLittleMemory gives more text than is held. It comes back before what follows
// it, and not again before the second text.
func TestALongPromptTakesLittleMemory(t *testing.T) {
	cases.NotShort(t)
	const size = 3 * textio.HeldText / 2
	prompt := strings.Repeat("y\n", size/2)
	cmd := exec.Command("gpt", "generate", "--overflow", "slide", "-n", "3", "--seed", "1",
		"--samples", "2")
	cmd.Stdin = struct{ io.Reader }{strings.NewReader(prompt)}
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	after, ok := bytes.CutPrefix(out, []byte(prompt))
	if !ok || len(after) > 200 || bytes.Count(after, []byte("\n---\n")) != 1 {
		t.Errorf("%d bytes, which end in %.200q; want the prompt and two texts", len(out), after)
	}
	if most := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss; most > 180<<10 {
		t.Errorf("%d MB resident for a prompt of %d MB, want at most 180", most>>10, size>>20)
	}
}
