//go:build unix

package outfile

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestDevicesAndPipesNeedNoForce(t *testing.T) {
	for way, write := range ways {
		t.Run(way, func(t *testing.T) {
			if err := write(os.DevNull, Options{Inputs: reads(os.DevNull)}, "x"); err != nil {
				t.Error(err)
			}
			dir := t.TempDir()
			pipe := filepath.Join(dir, "pipe")
			if err := syscall.Mkfifo(pipe, 0o666); err != nil {
				t.Fatal(err)
			}
			got := make(chan string)
			go func() {
				b, _ := os.ReadFile(pipe)
				got <- string(b)
			}()
			if err := write(pipe, Options{}, "through"); err != nil {
				t.Error(err)
			}
			if s := <-got; s != "through" {
				t.Errorf("read %q from the pipe", s)
			}
			names(t, dir, "pipe")
		})
	}
}

// TestWhatTheShellHasOpenedIsAppendedTo: > and >> have already decided what happens to the old
// contents.
func TestWhatTheShellHasOpenedIsAppendedTo(t *testing.T) {
	path := put(t, t.TempDir(), "out", "old ")
	for way, write := range ways {
		t.Run(way, func(t *testing.T) {
			os.WriteFile(path, []byte("old "), 0o666)
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			name := "/dev/fd/" + itoa(f.Fd())
			if _, err := os.Stat(name); err != nil {
				t.Skip("no /dev/fd here")
			}
			if err := write(name, Options{}, "new"); err != nil {
				t.Error(err)
			}
			holds(t, path, "old new")
			o := Options{Inputs: reads(path)}
			if err := write(name, o, "x"); !errors.Is(err, ErrInput) {
				t.Errorf("error %v, want that it is the input", err)
			}
			holds(t, path, "old new")
		})
	}
}

func itoa(n uintptr) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + string(rune('0'+n%10))
}

func TestALinkStaysALink(t *testing.T) {
	for way, write := range ways {
		t.Run(way, func(t *testing.T) {
			dir := t.TempDir()
			sub := filepath.Join(dir, "sub")
			old := put(t, dir, "old", "old")
			err := errors.Join(os.Mkdir(sub, 0o777),
				os.Symlink("../old", filepath.Join(sub, "link")),
				os.Symlink("sub/fresh", filepath.Join(dir, "dangling")),
				os.Symlink("round", filepath.Join(dir, "round")))
			if err != nil {
				t.Fatal(err)
			}
			if err := write(filepath.Join(sub, "link"), Options{Force: true}, "new"); err != nil {
				t.Error(err)
			}
			holds(t, old, "new")
			if err := write(filepath.Join(dir, "dangling"), Options{}, "fresh"); err != nil {
				t.Error(err)
			}
			holds(t, filepath.Join(sub, "fresh"), "fresh")
			if err := write(filepath.Join(dir, "round"), Options{Force: true}, "x"); err == nil {
				t.Error("a link to itself was written to")
			}
			names(t, dir, "dangling", "old", "round", "sub")
			names(t, sub, "fresh", "link")
		})
	}
}

func TestPermissions(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o027))
	dir := t.TempDir()
	path := filepath.Join(dir, "out")
	mode := func(want fs.FileMode) {
		t.Helper()
		if got := stat(t, path).Mode(); got != want {
			t.Errorf("mode %v, want %v", got, want)
		}
	}
	for way, write := range ways {
		os.Remove(path)
		if err := write(path, Options{}, "x"); err != nil {
			t.Error(way, err)
		}
		mode(0o640)
		os.Chmod(path, 0o604)
		if err := write(path, Options{Force: true}, "y"); err != nil {
			t.Error(way, err)
		}
		mode(0o604)
	}
}

// TestAFullDisk uses the process's limit on a file's size, which fails a write half-way as a full
// disk does. It leaves room for the log that go test keeps of the files that tests open.
func TestAFullDisk(t *testing.T) {
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	limit := old
	limit.Cur = 4 << 20
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	defer syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old)
	dir := t.TempDir()
	path := put(t, dir, "out", "old")
	large := text(strings.Repeat("x", 12<<20))
	err := WriteFile(context.Background(), path, Options{Force: true}, large)
	if !errors.Is(err, syscall.EFBIG) || !strings.HasPrefix(err.Error(), path+": ") {
		t.Errorf("error %v, want that %s is too large", err, path)
	}
	holds(t, path, "old")
	names(t, dir, "out")

	w := &Output{path: "/dev/full"}
	if _, err := os.Stat(w.path); err == nil {
		if _, err := io.WriteString(w, "x"); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("error %v, want that the device is full", err)
		}
	}
}
