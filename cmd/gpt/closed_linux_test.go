package main

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"

	"picogpt/dev/cases"
)

func TestAClosedStdoutIsAnError(t *testing.T) {
	cases.NotShort(t)
	const line = "gpt: writing to stdout: it is closed\n"
	for _, args := range []string{"--version", "--help", "-n 2 -p Hi", "tokenize Hi", "next Hi",
		"completion bash", "score --text Hi", "score --text Hi --summary", "help"} {
		cmd := exec.Command("sh", "-c", "gpt "+args+" >&-")
		out, err := cmd.CombinedOutput()
		if status(err) != 1 || string(out) != line {
			t.Errorf("gpt %s >&-: exit status %d, %q, want 1 and %q", args, status(err), out, line)
		}
	}
	for _, where := range []string{">/dev/null", ">>/dev/null", "<>/dev/null >&0 2>&0", "2>&-"} {
		cmd := exec.Command("sh", "-c", "gpt --version "+where)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("gpt --version %s: %v: %s", where, err, out)
		}
	}
	// A shell that was given what throws its output away hands it down.
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for end, want := range map[string]int{"": 0, " >&-": 1} {
		cmd := exec.Command("sh", "-c", "gpt --version"+end+"; exit $?")
		cmd.Stdout = null
		if got := status(cmd.Run()); got != want {
			t.Errorf("gpt --version%s with a stdout for reading and writing: exit status %d, want %d",
				end, got, want)
		}
	}
}

func TestAFullStdoutIsAnError(t *testing.T) {
	for _, args := range []string{"--version", "--help", "chat --help", "-n 2 -p Hi", "tokenize Hi"} {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		var stderr bytes.Buffer
		cmd := exec.Command("gpt", strings.Fields(args)...)
		cmd.Stdout, cmd.Stderr = full, &stderr
		err = cmd.Run()
		full.Close()
		if want := "gpt: writing to stdout: no space left on device\n"; status(err) != 1 ||
			stderr.String() != want {
			t.Errorf("gpt %s: exit status %d, %q, want 1 and %q", args, status(err),
				stderr.String(), want)
		}
	}
}
