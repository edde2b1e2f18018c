package main

// The default number of threads: the processors that the process may use.

import (
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// threadsOf returns what a run says of its threads.
func threadsOf(t *testing.T, environment []string, args ...string) string {
	t.Helper()
	cmd := exec.Command("gpt", append(args, "-v", "-n", "1", "Once")...)
	cmd.Env = append(cmd.Environ(), environment...)
	var report strings.Builder
	cmd.Stderr = &report
	if err := cmd.Run(); err != nil {
		t.Fatal(err, report.String())
	}
	found := regexp.MustCompile(`, (\d+) threads`).FindStringSubmatch(report.String())
	if found == nil {
		t.Fatalf("no number of threads in %q", report.String())
	}
	return found[1]
}

func TestThreadsFollowTheAffinity(t *testing.T) {
	runtime.LockOSThread() // a child has the affinity of the thread that starts it
	defer runtime.UnlockOSThread()
	var all, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		t.Fatal(err)
	}
	for cpu := 0; one.Count() == 0; cpu++ {
		if all.IsSet(cpu) {
			one.Set(cpu)
		}
	}
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		t.Fatal(err)
	}
	defer unix.SchedSetaffinity(0, &all)
	unset := []string{"GOMAXPROCS="}
	if got := threadsOf(t, unset); got != "1" {
		t.Errorf("on one processor: %s threads, want 1", got)
	}
	if got := threadsOf(t, unset, "--threads=16"); got != "4" {
		t.Errorf("--threads 16 on one processor: %s threads, want 4", got)
	}
}

func TestThreadsFollowGOMAXPROCS(t *testing.T) {
	for _, n := range []string{"1", "3"} {
		if got := threadsOf(t, []string{"GOMAXPROCS=" + n}); got != n {
			t.Errorf("GOMAXPROCS=%s: %s threads", n, got)
		}
	}
}
