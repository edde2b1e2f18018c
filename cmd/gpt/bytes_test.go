package main

import (
	"os/exec"
	"strings"
	"testing"

	"picogpt/dev/cases"
)

// TestArgumentsKeepTheirBytes: what is typed need not be UTF-8.
func TestArgumentsKeepTheirBytes(t *testing.T) {
	cases.NotShort(t)
	text := gpt(t)("generate", "caf\xe9", "-n", "1", "--temp", "0")
	if !strings.HasPrefix(text, "caf\xe9") {
		t.Errorf("text %q, want the prompt's bytes first", text)
	}
	for _, flag := range []string{"--choice", "--regex"} {
		cmd := exec.Command("gpt", flag, "\xff", "-p", "x")
		out, err := cmd.CombinedOutput()
		if err == nil || cmd.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), "UTF-8") {
			t.Errorf("%s: %v, %q, want an error of usage", flag, err, out)
		}
	}
}
