//go:build unix

package main

// What a signal leaves behind.

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"picogpt/dev/cases"
)

// contents lists the files of a folder with their sizes.
func contents(t *testing.T, dir string) string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		if !e.IsDir() {
			name += " " + info.ModTime().String() + " " + info.Mode().String()
		}
		all = append(all, name)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, "\n")
}

// interrupted is interruptedRun of gpt quantize.
func interrupted(t *testing.T, dir, out string, signals ...syscall.Signal) int {
	t.Helper()
	return interruptedRun(t, dir, []string{"quantize", "demo", out, "--dtype", "f32", "--force"},
		signals...)
}

// interruptedRun runs gpt until a large temporary file is there, sends the signals, and returns the
// exit status.
func interruptedRun(t *testing.T, dir string, args []string, signals ...syscall.Signal) int {
	t.Helper()
	cmd := exec.Command("gpt", args...)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for tick := time.NewTicker(200 * time.Microsecond); ; {
		select {
		case err := <-done:
			tick.Stop()
			return status(err)
		case <-tick.C:
			if largeTemporary(dir) {
				for _, s := range signals {
					cmd.Process.Signal(s)
				}
			}
		}
	}
}

func quantizeDemo(t *testing.T, out string) {
	t.Helper()
	if err := exec.Command("gpt", "quantize", "demo", out, "--dtype", "q8").Run(); err != nil {
		t.Fatal(err)
	}
}

func largeTemporary(dir string) (found bool) {
	filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && strings.HasSuffix(path, ".tmp") {
			info, err := e.Info()
			found = found || err == nil && info.Size() > 1<<16
		}
		return nil
	})
	return found
}

func TestASignalWhileACheckpointIsWrittenLeavesNothing(t *testing.T) {
	cases.NotShort(t)
	dir := t.TempDir()
	quantizeDemo(t, filepath.Join(dir, "old"))
	type interruption struct {
		out     string
		status  int
		signals []syscall.Signal
	}
	for _, c := range cases.Some([]interruption{
		{"old", 130, []syscall.Signal{syscall.SIGINT}},
		{"new", 130, []syscall.Signal{syscall.SIGINT}},
		{"x/y/new", 143, []syscall.Signal{syscall.SIGTERM}},
		{"old", 143, []syscall.Signal{syscall.SIGTERM}},
		{"new", 129, []syscall.Signal{syscall.SIGHUP}},
		{"x/y/new", 130, []syscall.Signal{syscall.SIGINT, syscall.SIGINT}},
	}, 3, 0) {
		if c.status == 129 && signal.Ignored(syscall.SIGHUP) {
			continue // under nohup: a program that is started so goes on, as it should
		}
		for try := 0; ; try++ {
			before := contents(t, dir)
			got := interrupted(t, dir, filepath.Join(dir, c.out), c.signals...)
			if got == 0 && try < 20 { // it was done before the signal came
				os.RemoveAll(filepath.Join(dir, "new"))
				os.RemoveAll(filepath.Join(dir, "x"))
				continue
			}
			if got != c.status {
				t.Errorf("%s, %v: exit status %d, want %d", c.out, c.signals, got, c.status)
			}
			if after := contents(t, dir); after != before {
				t.Errorf("%s, %v: the folder holds\n%s\nwant\n%s", c.out, c.signals, after, before)
			}
			break
		}
	}
}

func TestASignalWhileArraysAreWrittenLeavesNothing(t *testing.T) {
	cases.NotShort(t)
	tokens := strings.TrimSuffix(strings.Repeat("262,", 256), ",") // all that the demo takes
	for _, args := range [][]string{
		{"logits", "--tokens", tokens, "--positions", "all", "-o", "l.npy"},
		{"trace", "--tokens", tokens, "--points", "*", "-o", "t.safetensors"},
		{"trace", "--tokens", tokens, "--points", "*", "--npy", "x/new"},
	} {
		for try := 0; ; try++ {
			dir, last := t.TempDir(), len(args)-1
			in := append(slices.Clone(args[:last]), filepath.Join(dir, args[last]))
			got := interruptedRun(t, dir, in, syscall.SIGINT)
			if got == 0 && try < 20 {
				continue // it was done before the signal came
			}
			if after := contents(t, dir); got != 130 || after != "" {
				t.Errorf("%s: exit status %d, want 130; the folder holds %q", args[0], got, after)
			}
			break
		}
	}
}

func TestWhatSIGKILLLeavesIsNoCheckpoint(t *testing.T) {
	cases.NotShort(t)
	dir := t.TempDir()
	killed := false
	for try := 0; try < 20 && !killed; try++ {
		killed = interrupted(t, dir, filepath.Join(dir, "out"), syscall.SIGKILL) != 0
		if !killed {
			os.RemoveAll(filepath.Join(dir, "out"))
		}
	}
	left, _ := filepath.Glob(filepath.Join(dir, ".picogpt-*.tmp"))
	if !killed || len(left) == 0 {
		t.Fatalf("killed %v, left %q: want a temporary folder", killed, left)
	}
	for _, path := range append(left, dir) {
		if exec.Command("gpt", "inspect", path).Run() == nil {
			t.Errorf("%s was taken for a checkpoint", path)
		}
	}
	named, _ := filepath.Glob(filepath.Join(left[0], "*.safetensors"))
	if len(named) > 0 {
		t.Errorf("%q has a checkpoint's name", named)
	}
	// The next run removes it, and nothing else.
	notes := filepath.Join(dir, ".picogpt-notes.tmp")
	if err := os.WriteFile(notes, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	quantizeDemo(t, filepath.Join(dir, "out"))
	if after, _ := filepath.Glob(filepath.Join(dir, ".picogpt-*")); len(after) != 1 ||
		after[0] != notes {
		t.Errorf("%q are left, want %s", after, notes)
	}
}

func TestSIGKILLWhileASessionIsWrittenLeavesTheOldOne(t *testing.T) {
	cases.NotShort(t)
	dir := t.TempDir()
	path, killed := filepath.Join(dir, "s"), 0
	run := []string{"--session", path, "--temp", "0", "-n", "240", "--eos", "none", "Lily"}
	if err := exec.Command("gpt", "--session", path, "-n", "3", "Tom").Run(); err != nil {
		t.Fatal(err)
	}
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for try := 0; try < 20 && killed < cases.Of(1, 10); try++ {
		if interruptedRun(t, dir, run, syscall.SIGKILL) != 0 {
			killed++
		}
		now, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(now, old) && exec.Command("gpt", "inspect", path).Run() != nil {
			t.Fatalf("%v: the file is neither the old one nor a new one", err)
		}
		os.WriteFile(path, old, 0o600)
	}
	if killed == 0 {
		t.Error("no process was killed while it wrote")
	}
	if err := exec.Command("gpt", run...).Run(); err != nil {
		t.Fatal(err)
	}
	if left := contents(t, dir); strings.Contains(left, "\n") {
		t.Errorf("the folder holds\n%s", left)
	}
}

func TestSIGTERMIsLikeCtrlC(t *testing.T) {
	cmd, stdout, stderr := started(t, endless...)
	head := make([]byte, 60)
	if _, err := io.ReadFull(stdout, head); err != nil {
		t.Fatal(err)
	}
	cmd.Process.Signal(syscall.SIGTERM)
	rest, err := io.ReadAll(stdout)
	if err != nil {
		t.Fatal(err)
	}
	if got := status(cmd.Wait()); got != 143 {
		t.Errorf("exit status %d, want 143", got)
	}
	if stderr.Len() > 0 {
		t.Errorf("stderr: %q, want nothing", stderr)
	}
	if !strings.HasSuffix(string(rest), "\n") {
		t.Errorf("the text ends %q, want a newline", rest)
	}
}

// TestNohupKeepsItsMeaning: a process that was started with SIGHUP ignored does not end by it.
func TestNohupKeepsItsMeaning(t *testing.T) {
	const script = `trap "" HUP; gpt "$@" & sleep 0.15; kill -HUP $!; kill -TERM $!; wait $!`
	cmd := exec.Command("sh", append([]string{"-c", script, "sh", "--output", "ids"},
		endless...)...)
	if got := status(cmd.Run()); got != 143 {
		t.Errorf("exit status %d, want SIGTERM's 143", got)
	}
}

// TestASecondCtrlCRemovesTheWeightsOfBench: they may take gigabytes.
func TestASecondCtrlCRemovesTheWeightsOfBench(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command("gpt", "bench", "--random", "gpt2")
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for begun := false; ; {
		select {
		case err := <-done:
			if left := contents(t, dir); status(err) != 130 || left != "" {
				t.Errorf("exit status %d, want 130; the folder holds %q, want nothing", status(err),
					left)
			}
			return
		case <-time.After(5 * time.Millisecond):
			made, _ := filepath.Glob(filepath.Join(dir, "gpt-bench-*", "*.safetensors"))
			if begun = begun || len(made) > 0; begun {
				cmd.Process.Signal(os.Interrupt)
			}
		}
	}
}
