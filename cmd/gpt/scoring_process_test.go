//go:build unix

package main

// The scoring commands as the system sees them: Ctrl-C, and lines that are too long to hold.

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestCtrlCPrintsThePartialPerplexity(t *testing.T) {
	file := filepath.Join(t.TempDir(), "long.txt")
	if err := os.WriteFile(file, bytes.Repeat([]byte("Once upon a time there was a cat. "), 1<<17), 0o666); err != nil {
		t.Fatal(err)
	}
	// The first windows may take their time on a busy machine: what was interrupted too early is tried again.
	for wait := time.Second; wait < 20*time.Second; wait *= 2 {
		cmd, stdout, _ := started(t, "perplexity", "--json", "--batch", "1", file)
		time.Sleep(wait)
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		out, err := io.ReadAll(stdout)
		if err != nil {
			t.Fatal(err)
		}
		if got := status(cmd.Wait()); got != 130 {
			t.Fatalf("exit status %d, want 130", got)
		}
		if len(out) == 0 {
			continue
		}
		var r struct {
			Perplexity     float64
			Tokens, Scored int
			Partial        bool
		}
		if err := json.Unmarshal(out, &r); err != nil {
			t.Fatalf("%q: %v", out, err)
		}
		if !r.Partial || r.Perplexity <= 1 || r.Scored == 0 || r.Scored >= r.Tokens {
			t.Errorf("%+v", r)
		}
		return
	}
	t.Error("nothing was scored in time")
}

func TestScoreKeepsWhatIsDoneWhenItIsKilled(t *testing.T) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.txt"), filepath.Join(dir, "out.jsonl")
	if err := os.WriteFile(in, []byte(strings.Repeat("The cat sat on the mat, and the dog saw it.\n", 3000)), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd, _, _ := started(t, "score", in, "-o", out)
	for range 500 {
		if info, err := os.Stat(out); err == nil && info.Size() > 10000 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	cmd.Process.Signal(syscall.SIGKILL)
	cmd.Wait()
	half, err := os.ReadFile(out)
	if err != nil || len(half) < 1000 {
		t.Fatalf("%d bytes, %v", len(half), err)
	}
	if err := os.Truncate(out, int64(len(half)-100)); err != nil { // as if the last line were cut
		t.Fatal(err)
	}
	if b, err := exec.Command("gpt", "score", in, "-o", out, "--resume").CombinedOutput(); err != nil {
		t.Fatalf("%s, %v", b, err)
	}
	whole, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(whole)), "\n")
	if len(lines) != 3000 {
		t.Fatalf("%d lines, want 3000", len(lines))
	}
	for i, line := range lines {
		var r struct{ Line int }
		if err := json.Unmarshal([]byte(line), &r); err != nil || r.Line != i+1 {
			t.Fatalf("line %d: %q, %v", i+1, line, err)
		}
	}
}

func TestScoreReadsPastALineThatIsTooLong(t *testing.T) {
	cmd := exec.Command("gpt", "score", "--input", "lines")
	cmd.Stdin = io.MultiReader(strings.NewReader("The cat\n"), strings.NewReader(strings.Repeat("a ", longestLine)), strings.NewReader("\nThe dog\n"))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if status(err) != 1 {
		t.Errorf("exit status %d, want 1", status(err))
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != 3 || !strings.Contains(lines[1], `"error":"more than`) || !strings.Contains(lines[2], "The dog") {
		t.Errorf("%q", lines)
	}
	if !strings.Contains(stderr.String(), "stdin: line 2: more than 16777216 bytes") {
		t.Errorf("stderr %q", stderr.String())
	}
}
