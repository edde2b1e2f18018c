package worker

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"picogpt/dev/watchdog"
)

func TestEveryEnvironment(t *testing.T) {
	server := startPrism(t)
	pool := startPool(t)
	for _, c := range []struct{ environment, config string }{
		{"LOOPBACK", ""}, {"PROCESS", command(os.Args[0])}, {"EXTERNAL", pool.Address},
	} {
		t.Run(c.environment, func(t *testing.T) {
			place := place{server.Address, c.environment, c.config}
			f := &toy{Dir: t.TempDir()}
			result, err := place.submit(t.Context(), f.pipeline())
			if err != nil {
				t.Fatal(err)
			}
			if here := f.pid(t) == os.Getpid(); here != (c.environment == "LOOPBACK") {
				t.Errorf("in the process that submits: %t", here)
			}
			counters := result.Metrics().AllMetrics().Counters()
			if len(counters) != 1 || counters[0].Result() != 1 {
				t.Errorf("counters %+v, want one of 1", counters)
			}
		})
	}
}

// TestAWorkerIsKilled: the submitter gets an error, and does not wait for ever.
func TestAWorkerIsKilled(t *testing.T) {
	server := startPrism(t)
	pool := startPool(t)
	for _, c := range []struct{ environment, config string }{
		{"PROCESS", command(os.Args[0])}, {"EXTERNAL", pool.Address},
	} {
		t.Run(c.environment, func(t *testing.T) {
			place := place{server.Address, c.environment, c.config}
			f := &toy{Dir: t.TempDir(), Forever: true}
			result := make(chan error, 1)
			go func() {
				_, err := place.submit(t.Context(), f.pipeline())
				result <- err
			}()
			if err := syscall.Kill(f.pid(t), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			select {
			case err := <-result:
				t.Log(err)
				if err == nil || !strings.Contains(err.Error(), "SDK worker disconnected") &&
					!errors.Is(err, ErrGone) {
					t.Errorf("%v, want an error that says that the worker is gone", err)
				}
			case <-time.After(watchdog.Wait):
				t.Fatal("the submitter waits for a worker that is dead")
			}
		})
	}
}

// TestAWorkerThatNeverWas: a command that cannot start is an error, not a wait without end. Where
// Prism hands the worker its first work just as it forgets it, it fails the job itself (a send on a
// closed channel), which is an error too.
func TestAWorkerThatNeverWas(t *testing.T) {
	place := place{startPrism(t).Address, "PROCESS", command("/nonexistent/corpus")}
	_, err := place.submit(t.Context(), (&toy{}).pipeline())
	failed := err != nil && strings.Contains(err.Error(), "job-001 failed")
	if !errors.Is(err, ErrGone) && !failed {
		t.Errorf("%v, want %v", err, ErrGone)
	}
}

// TestAnotherBuildIsRefused: the submitter gets the reason. A binary with one more byte is another
// build.
func TestAnotherBuildIsRefused(t *testing.T) {
	binary, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "other")
	if err := os.WriteFile(other, append(binary, 0), 0o755); err != nil {
		t.Fatal(err)
	}
	place := place{startPrism(t).Address, "PROCESS", command(other)}
	f := &toy{Dir: t.TempDir()}
	_, err = place.submit(t.Context(), f.pipeline())
	if err == nil || !strings.Contains(err.Error(), "want the same build") {
		t.Errorf("%v, want an error that names both builds", err)
	}
	if files, _ := os.ReadDir(f.Dir); len(files) > 0 {
		t.Error("another build did the work")
	}
}

func TestBuildsOfOneVersion(t *testing.T) {
	linux := build{"v1", "linux/amd64", "aa"}
	for _, c := range []struct {
		other build
		want  bool
	}{
		{linux, true},
		{build{"v2", "linux/amd64", "aa"}, true},
		{build{"v1", "linux/amd64", "bb"}, false},
		{build{"v1", "darwin/arm64", "bb"}, true},
		{build{"v2", "darwin/arm64", "bb"}, false},
	} {
		if got := linux.equal(c.other); got != c.want {
			t.Errorf("%v and %v: %t", linux, c.other, got)
		}
	}
	if (build{"", "linux/amd64", "aa"}).equal(build{"", "darwin/arm64", "bb"}) {
		t.Error("two builds without a version are equal")
	}
}

// TestTheJobOfOneWhoLeavesIsCancelled, so that the cluster does not work for a job without a
// submitter.
func TestTheJobOfOneWhoLeavesIsCancelled(t *testing.T) {
	place := place{startPrism(t).Address, "EXTERNAL", startPool(t).Address}
	f := &toy{Dir: t.TempDir(), Forever: true}
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() {
		_, err := place.submit(ctx, f.pipeline())
		result <- err
	}()
	pid := f.pid(t)
	cancel()
	if err := <-result; err == nil || err.Error() != "context canceled" {
		t.Errorf("%v, want nothing but the context's error", err)
	}
	gone(t, pid)
}

func TestThePoolTakesItsWorkersAlong(t *testing.T) {
	pool := startPool(t)
	place := place{startPrism(t).Address, "EXTERNAL", pool.Address}
	f := &toy{Dir: t.TempDir(), Forever: true}
	result := make(chan error, 1)
	go func() {
		_, err := place.submit(t.Context(), f.pipeline())
		result <- err
	}()
	pid := f.pid(t)
	pool.Cmd.Process.Signal(syscall.SIGTERM)
	if err := pool.Cmd.Wait(); err != nil {
		t.Errorf("the pool after SIGTERM: %v, want status 0", err)
	}
	gone(t, pid)
	if err := <-result; err == nil {
		t.Error("a job whose worker was stopped: no error")
	}
}

// gone waits until there is no process, not even one that nobody waited for.
func gone(t *testing.T, pid int) {
	t.Helper()
	for range 100 {
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Errorf("process %d is still there", pid)
}

// TestThePoolSaysWhoDied, and keeps no zombie.
func TestThePoolSaysWhoDied(t *testing.T) {
	pool := startPool(t)
	place := place{startPrism(t).Address, "EXTERNAL", pool.Address}
	f := &toy{Dir: t.TempDir(), Forever: true}
	go place.submit(t.Context(), f.pipeline())
	pid := f.pid(t)
	syscall.Kill(pid, syscall.SIGKILL)
	for line := range pool.Lines {
		if strings.Contains(line, "signal: killed") {
			break
		}
	}
	gone(t, pid)
}

func TestSIGTERMEndsAWorkerInPeace(t *testing.T) {
	place := place{startPrism(t).Address, "EXTERNAL", startPool(t).Address}
	f := &toy{Dir: t.TempDir(), Forever: true}
	result := make(chan error, 1)
	go func() {
		_, err := place.submit(t.Context(), f.pipeline())
		result <- err
	}()
	pid := f.pid(t)
	syscall.Kill(pid, syscall.SIGTERM)
	gone(t, pid)
	if err := <-result; err == nil {
		t.Error("a job whose worker was stopped: no error")
	}
}

func TestWhatIsNoWorker(t *testing.T) {
	for _, args := range [][]string{nil, {"score", "--id=1"}, {"--help"}, {"pool"}} {
		if handled, _ := Main(testVersion, args, os.Stderr); handled {
			t.Errorf("%q is taken for a worker's arguments", args)
		}
	}
	for _, args := range [][]string{{"--id="}, {"--id=1"}, {"--id=1", "--provision=localhost:1"}} {
		var stderr strings.Builder
		handled, status := Main(testVersion, args, &stderr)
		if !handled || status != 1 || strings.Count(stderr.String(), "\n") != 1 {
			t.Errorf("%q: %t, status %d, %q; want one line", args, handled, status, &stderr)
		}
	}
	for _, id := range []string{"7", "'7'"} {
		c, err := parse([]string{"--id=" + id, "--provision_endpoint=localhost:1"})
		if err != nil || c.id != "7" || c.provision != "localhost:1" {
			t.Errorf("%s: %+v, %v", id, c, err)
		}
	}
}

func TestPlacesThatAreRefused(t *testing.T) {
	for _, c := range []struct {
		place place
		want  string
	}{
		{place{"x:1", "", ""}, "want LOOPBACK"},
		{place{"x:1", "CLOUD", ""}, `"CLOUD"`},
		{place{"x:1", "LOOPBACK", "y:2"}, "has none"},
		{place{"x:1", "DOCKER", ""}, "an image"},
		{place{"", "LOOPBACK", ""}, "--endpoint"},
		{place{"x", "LOOPBACK", ""}, "want HOST:PORT"},
		{place{"x:", "LOOPBACK", ""}, "want HOST:PORT"},
	} {
		_, err := c.place.submit(t.Context(), (&toy{}).pipeline())
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %s", c.place, err, c.want)
		}
	}
}
