package listen

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestFilesAreReadAgainWhenTheyChange(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(at(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// As Kubernetes mounts a secret: the file is a link through a link that is replaced.
	link := func(to string) {
		t.Helper()
		os.Remove(at("new"))
		if err := os.Symlink(to, at("new")); err != nil {
			t.Skip("no symbolic links; what else changes is tested where there are")
		}
		if err := os.Rename(at("new"), at("..data")); err != nil {
			t.Fatal(err)
		}
	}
	for _, folder := range []string{"one", "two"} {
		if err := os.Mkdir(at(folder), 0o700); err != nil {
			t.Fatal(err)
		}
		write(folder+"/key", folder)
	}
	link("one")
	if err := os.Symlink("..data/key", at("key")); err != nil {
		t.Fatal(err)
	}
	write("plain", "a")
	names := []string{at("key"), at("plain")}
	first, err := Read(names...)
	if err != nil || !slices.Equal(first, []string{"one", "a"}) {
		t.Fatal(first, err)
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var mu sync.Mutex // a sleep does not tell the race detector who comes first
		var seen []string
		go Watch(ctx, first, func(now []string, err error) {
			if err != nil {
				now = []string{"error"}
			}
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, fmt.Sprint(now))
		}, names...)
		step := func(about, want string) {
			t.Helper()
			time.Sleep(Every)
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if got := strings.Join(seen, " "); got != want {
				t.Errorf("%s: %s, want %s", about, got, want)
			}
			seen = nil
		}
		time.Sleep(time.Second) // looks come between the changes
		step("nothing changed", "")
		link("two")
		step("a link", "[two a]")
		write("plain", "b")
		step("the other file, at the same length", "[two b]")
		os.Remove(at("plain"))
		step("it is gone", "[error]")
		step("it is still gone", "")
		write("plain", "b")
		step("it is what it was", "")
		os.Remove(at("plain"))
		step("it is gone again", "[error]")
		write("plain", "c")
		link("one")
		step("both", "[one c]")
		// whoever writes all the time is seen when it ends; looks come between the writes
		time.Sleep(time.Millisecond)
		pieces := func(n int) {
			for i := range n {
				write("plain", fmt.Sprint(i))
				time.Sleep(Every / 40)
				synctest.Wait()
			}
		}
		pieces(400)
		step("it was written piece by piece", "[one 399]")
		os.Remove(at("plain"))
		step("it is gone for the third time", "[error]")
		pieces(40)
		os.Remove(at("plain"))
		step("it was there, and is gone for the fourth time", "[error]")
	})
}

func TestFilesThatAreNotRead(t *testing.T) {
	dir := t.TempDir()
	large := filepath.Join(dir, "large")
	if err := os.WriteFile(large, make([]byte, most+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		large: "want at most 1048576 bytes", dir: "want a file", filepath.Join(dir, "no"): "no",
	} {
		if _, err := Read(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}

// TestAChangeIsSeenInTime: also one whose second half comes between the two looks at the first.
func TestAChangeIsSeenInTime(t *testing.T) {
	name := filepath.Join(t.TempDir(), "key")
	for half := 50 * time.Millisecond; half < Every; half += 100 * time.Millisecond {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			seen := ""
			go Watch(ctx, []string{"old"}, func(now []string, err error) {
				seen += fmt.Sprintf("%q %v", now, err)
			}, name)
			for _, text := range []string{"old", "half", "new"} {
				if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				switch text {
				case "old":
					time.Sleep(half)
				case "half":
					time.Sleep(moment - time.Millisecond)
				}
			}
			time.Sleep(Every)
			synctest.Wait()
			if want := `["new"] <nil>`; seen != want {
				t.Errorf("half of it after %v: %s after %v, want %s", half, seen, Every, want)
			}
		})
	}
}
