//go:build unix

package main

// Runs that are ended in their middle: what is there is whole, and --resume leaves what a run
// without an interruption would have left.

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// slowly are the flags of a run of many small pieces, of which each takes a while.
func slowly(t *testing.T) []string {
	t.Helper()
	return []string{"score", "--input", forms[0].shards(t, makeDocuments(300), 3), "--piece-bytes", "1KiB",
		"--threads", "1"}
}

// start runs a command until a few pieces are done.
func start(t *testing.T, cmd *exec.Cmd, out string) {
	t.Helper()
	before := done(out)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	for range 3000 {
		if done(out) >= before+3 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("no piece is done")
}

// done counts the pieces of a run that are done.
func done(out string) int {
	marks, _ := filepath.Glob(filepath.Join(out, ".work", "done-*"))
	return len(marks)
}

func TestCtrlC(t *testing.T) {
	dir, args := t.TempDir(), slowly(t)
	whole, out := filepath.Join(dir, "whole"), filepath.Join(dir, "out")
	succeed(t, append(args, "-o", whole)...)
	args = append(args, "-o", out)
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL} {
		var stderr strings.Builder
		cmd := exec.Command("corpus", args...)
		cmd.Stderr = &stderr
		start(t, cmd, out)
		cmd.Process.Signal(signal)
		cmd.Wait()
		if m, _ := filepath.Glob(filepath.Join(out, "manifest.json")); len(m) > 0 {
			t.Fatal("the run had ended before it was interrupted")
		}
		if signal == syscall.SIGKILL {
			break
		}
		if cmd.ProcessState.ExitCode() != 130 || stderr.String() !=
			"corpus: interrupted; --resume continues\n" {
			t.Errorf("%v: %v, %q", signal, cmd.ProcessState, &stderr)
		}
		if left := partial(t, out); len(left) > 0 {
			t.Errorf("%v: %q is left", signal, left)
		}
		args = append(args[:len(args):len(args)], "--resume")
	}
	succeed(t, append(args, "--resume")...)
	sameFolders(t, out, whole)
}

// TestTwoRunsInOneFolder: the second one is refused, whatever it wants, and the first ends as if alone.
func TestTwoRunsInOneFolder(t *testing.T) {
	dir, args := t.TempDir(), slowly(t)
	whole, out := filepath.Join(dir, "whole"), filepath.Join(dir, "out")
	succeed(t, append(args, "-o", whole)...)
	args = append(args, "-o", out)
	var stderr strings.Builder
	first := exec.Command("corpus", args...)
	first.Stderr = &stderr
	start(t, first, out)
	for _, more := range [][]string{nil, {"--resume"}, {"--force"}, {"--share", "1/2"}} {
		refused(t, 1, out+": another run is at work there", append(args[:len(args):len(args)], more...)...)
	}
	if err := first.Wait(); err != nil {
		t.Errorf("%v: %s", err, &stderr)
	}
	sameFolders(t, out, whole)

	shared := filepath.Join(dir, "shared")
	args[len(args)-1] = shared
	share := exec.Command("corpus", append(args[:len(args):len(args)], "--share", "1/2")...)
	start(t, share, shared)
	refused(t, 1, shared+": another run is at work there", append(args[:len(args):len(args)], "--resume")...)
	succeed(t, append(args[:len(args):len(args)], "--share", "2/2")...)
	if err := share.Wait(); err != nil {
		t.Error(err)
	}
	succeed(t, append(args, "--resume")...)
	sameFolders(t, shared, whole)
}

// TestAnInputThatChanges: pieces whose rows are others now are done again, though the file has its
// old size.
func TestAnInputThatChanges(t *testing.T) {
	model, dir := byteModel(t), t.TempDir()
	input := forms[0].shards(t, makeDocuments(30), 1)
	args := []string{"score", "--input", input, "-m", model, "--piece-bytes", "512"}
	out, fresh := filepath.Join(dir, "out"), filepath.Join(dir, "fresh")
	for _, share := range []string{"1/2", "2/2"} {
		succeed(t, append(args, "-o", out, "--share", share)...)
	}
	names, err := filepath.Glob(input)
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	b, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	changed := bytes.Replace(b, []byte("the"), []byte("teh"), 1)
	if bytes.Equal(changed, b) {
		t.Fatal("there is nothing to change")
	}
	if err := os.WriteFile(names[0], changed, 0o666); err != nil {
		t.Fatal(err)
	}
	succeed(t, append(args, "-o", out, "--resume")...)
	succeed(t, append(args, "-o", fresh)...)
	sameFolders(t, out, fresh)
}
