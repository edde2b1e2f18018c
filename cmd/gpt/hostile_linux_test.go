package main

// Files that somebody made to do harm, given to the program.

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/watchdog"
)

// logitsOf runs gpt logits in a folder, and returns what it prints, its exit status and the memory
// that it took.
func logitsOf(dir string) (stdout, stderr string, status int, memory int64) {
	cmd := exec.Command("gpt", "logits", "-m", ".", "--tokens", "1,2", "--threads", "1")
	cmd.Dir = dir
	var out, err bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &err
	cmd.Run()
	usage, _ := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	return out.String(), err.String(), cmd.ProcessState.ExitCode(), int64(usage.Maxrss) << 10
}

func TestHostileFilesEndInOneLine(t *testing.T) {
	cases.NotShort(t)
	dir := t.TempDir()
	all, err := fixture.Hostiles("../../checkpoint/testdata/hostile.tar.gz", dir)
	if err != nil {
		t.Fatal(err)
	}
	_, _, _, least := logitsOf(filepath.Join(dir, "ok-bin"))
	var workers sync.WaitGroup
	next := make(chan fixture.Hostile)
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for h := range next {
				judge(t, h, filepath.Join(dir, h.Dir), least)
			}
		})
	}
	for _, h := range cases.Some(all, len(all)/4, 0) { // package checkpoint opens all
		next <- h
	}
	close(next)
	workers.Wait()
}

// judge holds a run of the program to a verdict: least is the memory of a file that is good.
func judge(t *testing.T, h fixture.Hostile, dir string, least int64) {
	before, _ := os.ReadDir(dir)
	stop := watchdog.Start(t, "%s", h.Dir)
	stdout, stderr, status, memory := logitsOf(dir)
	stop()
	want := map[string]int{"refuse": 1, "load": 0, "any": min(status, 1)}[h.Must]
	if status != want {
		t.Errorf("%s: exit status %d, want %d: %s\n%s", h.Dir, status, want, h.Why, stderr)
	}
	if status != 0 && (stdout != "" || strings.Count(stderr, "\n") != 1 ||
		!strings.HasPrefix(stderr, "gpt: ") || strings.Contains(stderr, "\x1b")) {
		t.Errorf("%s: stdout %q, stderr %q; want one line", h.Dir, stdout, stderr)
	}
	if memory > least+64<<20 {
		t.Errorf("%s: took %d MB, a good file %d", h.Dir, memory>>20, least>>20)
	}
	if after, _ := os.ReadDir(dir); len(after) != len(before) {
		t.Errorf("%s: files were written: %v", h.Dir, after)
	}
}
