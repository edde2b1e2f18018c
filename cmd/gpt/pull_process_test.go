//go:build unix

package main

// gpt pull as the system sees it: killed, interrupted, and twice at once.

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"picogpt/dev/cases"
	"picogpt/dev/fakehub"
	"picogpt/dev/fixture"
	"picogpt/dev/watchdog"
)

// pullHub starts a hub with a model, a/b, whose weights come slowly, and returns the environment
// that leads to it and to a new cache.
func pullHub(t *testing.T) (h *fakehub.Hub, cache string, env []string) {
	t.Helper()
	config, weights := fixture.Checkpoint(fixture.Options{})
	h = fakehub.New(&fakehub.Repo{Name: "a/b", Files: map[string][]byte{
		"config.json": config, "model.safetensors": weights}})
	t.Cleanup(h.Close)
	h.Break(fakehub.For("files", "GET", "/model.safetensors", 0,
		fakehub.Slow(1000, 10*time.Millisecond)))
	home := t.TempDir()
	return h, filepath.Join(home, "hub"), append(os.Environ(), "HF_HOME="+home,
		"HF_ENDPOINT="+h.URL, "HF_TOKEN=", "NO_PROXY=127.0.0.1")
}

// pulling starts gpt pull a/b.
func pulling(t *testing.T, env []string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("gpt", "pull", "a/b")
	cmd.Env = env
	cmd.Stderr = new(strings.Builder)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return cmd
}

// incomplete returns the files that are on their way, once there is one with bytes in it.
func incomplete(t *testing.T, cache string) []string {
	t.Helper()
	for end := time.Now().Add(watchdog.Wait); time.Now().Before(end); {
		found := incompleteNow(cache)
		for _, path := range found {
			if info, err := os.Stat(path); err == nil && info.Size() > 2000 {
				return found
			}
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("no download began")
	return nil
}

func incompleteNow(cache string) (found []string) {
	filepath.WalkDir(cache, func(path string, e fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".incomplete") {
			found = append(found, path)
		}
		return nil
	})
	return found
}

// snapshots lists what the snapshots of a cache hold.
func snapshots(t *testing.T, cache string) (names []string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(cache, "models--*", "snapshots", "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if _, err := os.Stat(path); err == nil {
			names = append(names, filepath.Base(path))
		}
	}
	return names
}

func wantPulled(t *testing.T, env []string) {
	t.Helper()
	cmd := exec.Command("gpt", "-m", "a/b", "--tokens", "1,2,3", "-n", "3", "--temp", "0")
	cmd.Env = env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func TestTwoPullsAtOnceDownloadOnce(t *testing.T) {
	cases.NotShort(t)
	h, cache, env := pullHub(t)
	var all sync.WaitGroup
	for range 3 {
		cmd := pulling(t, env)
		all.Go(func() {
			if err := cmd.Wait(); err != nil {
				t.Errorf("%v: %s", err, cmd.Stderr)
			}
		})
	}
	all.Wait()
	gets := 0
	for _, r := range h.Requests() {
		if r.Host == "files" {
			gets++
		}
	}
	if gets != 1 {
		t.Errorf("%d downloads of the weights, want 1", gets)
	}
	if left := incompleteNow(cache); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	wantPulled(t, env)
}

// TestTwoPullsWithoutLocks has a file where the folder of locks should be.
func TestTwoPullsWithoutLocks(t *testing.T) {
	cases.NotShort(t)
	_, cache, env := pullHub(t)
	if err := os.MkdirAll(cache, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(cache, ".locks"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	one, two := pulling(t, env), pulling(t, env)
	for _, cmd := range []*exec.Cmd{one, two} {
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %s", err, cmd.Stderr)
		}
	}
	if left := incompleteNow(cache); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	wantPulled(t, env)
}

func TestAKilledPullLeavesNothingThatLooksWhole(t *testing.T) {
	h, cache, env := pullHub(t)
	cmd := pulling(t, env)
	left := incomplete(t, cache)
	cmd.Process.Kill()
	cmd.Wait()
	if got := snapshots(t, cache); len(got) != 1 || got[0] != "config.json" {
		t.Errorf("the snapshot holds %v", got)
	}
	run := exec.Command("gpt", "-m", "a/b", "--tokens", "1")
	run.Env = env
	if out, err := run.CombinedOutput(); status(err) != 1 {
		t.Errorf("-m a/b: %v, %s", err, out)
	}
	// The next one continues after what was left, past the lock of the dead.
	h.Break(nil)
	next := pulling(t, env)
	if err := next.Wait(); err != nil || !strings.Contains(next.Stderr.(*strings.Builder).String(),
		" are there: the download continues\n") {
		t.Errorf("%v: %s", err, next.Stderr)
	}
	wantPulled(t, env)
	if now := incompleteNow(cache); len(left) != 1 || len(now) > 0 {
		t.Errorf("%v were left, and %v are", left, now)
	}
}

func TestCtrlCEndsAPullCleanly(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		_, cache, env := pullHub(t)
		cmd := pulling(t, env)
		incomplete(t, cache)
		if err := cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		if got := status(cmd.Wait()); got != 128+int(s) {
			t.Errorf("%v: exit status %d", s, got)
		}
		if left := incompleteNow(cache); len(left) != 1 {
			t.Errorf("%v: left %v, want what has come", s, left)
		}
		if got := snapshots(t, cache); len(got) != 1 || got[0] != "config.json" {
			t.Errorf("%v: the snapshot holds %v", s, got)
		}
		if text := cmd.Stderr.(*strings.Builder).String(); strings.Contains(text, "cancel") {
			t.Errorf("%v: stderr %q", s, text)
		}
	}
}

// TestAWaitForALockEndsWithCtrlC has a process that holds the lock of the weights.
func TestAWaitForALockEndsWithCtrlC(t *testing.T) {
	cases.NotShort(t)
	_, cache, env := pullHub(t)
	first := pulling(t, env)
	incomplete(t, cache)
	if err := first.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	second := exec.Command("gpt", "pull", "a/b")
	second.Env = env
	stderr, err := second.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Start(); err != nil {
		t.Fatal(err)
	}
	text := make([]byte, 0, 1000)
	for !strings.Contains(string(text), "another process downloads it: waiting\n") {
		n, err := stderr.Read(text[len(text):cap(text)])
		text = text[:len(text)+n]
		if err != nil {
			t.Fatalf("%v: %q", err, text)
		}
	}
	second.Process.Signal(os.Interrupt)
	if got := status(second.Wait()); got != 130 {
		t.Errorf("exit status %d, want 130", got)
	}
	first.Process.Signal(syscall.SIGCONT)
	if err := first.Wait(); err != nil {
		t.Errorf("%v: %s", err, first.Stderr)
	}
}

func TestACacheThatCannotBeWritten(t *testing.T) {
	h, cache, env := pullHub(t)
	h.Break(nil)
	if err := pulling(t, env).Wait(); err != nil {
		t.Fatal(err)
	}
	readOnly := func(is bool) {
		mode := fs.FileMode(0o777)
		if is {
			mode = 0o555
		}
		filepath.WalkDir(cache, func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.IsDir() {
				return os.Chmod(path, mode)
			}
			return err
		})
	}
	readOnly(true)
	defer readOnly(false)
	wantPulled(t, env)
	if err := pulling(t, env).Wait(); err != nil { // all of it is there: nothing is written
		t.Errorf("%v", err)
	}
	if os.Geteuid() == 0 {
		return // root writes everywhere
	}
	h.Put(&fakehub.Repo{Name: "a/c", Files: map[string][]byte{"config.json": []byte("{}")}})
	cmd := exec.Command("gpt", "pull", "a/c")
	cmd.Env = env
	if out, err := cmd.CombinedOutput(); status(err) != 1 ||
		!strings.Contains(string(out), "models--a--c: permission denied\n") {
		t.Errorf("%v, %s", err, out)
	}
}
