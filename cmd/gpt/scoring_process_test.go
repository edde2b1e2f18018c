//go:build unix

package main

// The scoring commands as the system sees them: Ctrl-C, and lines that are too long to hold.

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"picogpt/dev/cases"
	"picogpt/dev/watchdog"
)

func TestCtrlCPrintsThePartialPerplexity(t *testing.T) {
	cases.NotShort(t)
	file := filepath.Join(t.TempDir(), "long.txt")
	if err := os.WriteFile(file, bytes.Repeat([]byte("Once upon a time there was a cat. "), 1<<14), 0o666); err != nil {
		t.Fatal(err)
	}
	// The first windows may take their time on a busy machine: what was interrupted too early is
	// tried again.
	for wait := 200 * time.Millisecond; wait < 20*time.Second; wait *= 2 {
		cmd, stdout, _ := started(t, "perplexity", "--json", "--window", "64", "--batch", "1", "--threads",
			"1", file)
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

func TestScoreContinuesHoweverItEnds(t *testing.T) {
	cases.NotShort(t)
	line := "The cat number %d sat on the mat, and the dog saw it.\n"
	continuesHoweverItEnds(t, line, "--batch 4", "score", "IN")
}

func TestGenerateContinuesHoweverItEnds(t *testing.T) {
	cases.NotShort(t)
	line := `{"prompt":"The cat number %d","id":"x"}` + "\n"
	continuesHoweverItEnds(t, line, "--threads 1", "--prompts", "IN", "-n", "4", "--seed", "1")
}

// continuesHoweverItEnds runs a command on many lines, once without an interruption and once with
// several, where it is given more arguments that change nothing. IN stands for the file of the
// lines.
func continuesHoweverItEnds(t *testing.T, line, more string, args ...string) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out.jsonl")
	want := filepath.Join(dir, "want.jsonl")
	text := ""
	for i := range cases.Of(100, 200) {
		text += fmt.Sprintf(line, i)
	}
	if err := os.WriteFile(in, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	args[slices.Index(args, "IN")] = in
	with := func(more ...string) []string { return slices.Concat(args, more) }
	if b, err := exec.Command("gpt", with("-o", want)...).CombinedOutput(); err != nil {
		t.Fatalf("%s, %v", b, err)
	}
	ends := []syscall.Signal{syscall.SIGKILL, syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL}
	ends = ends[:cases.Of(2, 4)]
	part, stopped := fileSize(want)/12, 0
	interrupted := append(with("-o", out, "--resume"), strings.Fields(more)...)
	for _, end := range ends {
		before := fileSize(out)
		cmd, _, _ := started(t, interrupted...)
		for range 500 {
			if fileSize(out) > before+part {
				break
			}
			time.Sleep(2 * time.Millisecond)
		}
		cmd.Process.Signal(end)
		err := cmd.Wait()
		killed := cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
		switch {
		case killed, status(err) == 128+int(end):
			stopped++
		case status(err) != 0: // else it was quicker than the signal
			t.Errorf("after %v: exit status %d", end, status(err))
		}
	}
	if stopped == 0 {
		t.Error("the command was never stopped: the lines are too few")
	}
	if b, err := exec.Command("gpt", with("-o", out, "--resume")...).CombinedOutput(); err != nil {
		t.Fatalf("%s, %v", b, err)
	}
	got, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if whole, err := os.ReadFile(want); err != nil || !bytes.Equal(got, whole) {
		t.Errorf("%d bytes that are not the %d of a run without an interruption", len(got), len(whole))
	}
}

// fileSize is 0 for a file that is not there.
func fileSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

func TestScoreAnswersALineBeforeTheNextOneComes(t *testing.T) {
	for name, lines := range map[string][]string{
		"lines": {"The cat\n", "The dog\n"}, "jsonl": {"{\"text\":\"The cat\"}\n", "{\"text\":\"The dog\"}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			r, w := io.Pipe()
			cmd := exec.Command("gpt", "score")
			cmd.Stdin = r
			stdout, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			watchdog := time.AfterFunc(watchdog.Wait, func() { cmd.Process.Kill() })
			defer watchdog.Stop()
			answers := bufio.NewReader(stdout)
			for i, line := range lines {
				if _, err := io.WriteString(w, line); err != nil {
					t.Fatal(err)
				}
				if got, err := answers.ReadString('\n'); err != nil || !strings.HasPrefix(got, fmt.Sprintf(`{"line":%d,`, i+1)) {
					t.Fatalf("%q, %v, want the answer to line %d", got, err, i+1)
				}
			}
			w.Close()
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestScoreReadsPastALineThatIsTooLong(t *testing.T) {
	cases.NotShort(t)
	cmd := exec.Command("gpt", "score", "--input", "lines")
	cmd.Stdin = io.MultiReader(strings.NewReader("The cat\n"), strings.NewReader(strings.Repeat("a ", 16<<20)), strings.NewReader("\nThe dog\n"))
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
