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

// leftovers makes what a process that was killed leaves in dir.
func leftovers(t *testing.T, dir string) {
	t.Helper()
	put(t, dir, tempName(beside, 1), "half")
	put(t, dir, tempName(beside, 2)+"~", "a backup")
	folder := filepath.Join(dir, tempName(beside, 3))
	if err := os.Mkdir(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	put(t, folder, tempName(beside, 4), "half")
}

func TestWhatAKilledProcessLeftIsRemovedByTheNext(t *testing.T) {
	dir := t.TempDir()
	users := []string{".picogpt-0123456789abcdef-00000000.tmp", ".picogpt-0123456789abcdef.tmp",
		".picogpt-notes.tmp", "a", tempName("picogpt-", 5)}
	for _, name := range users {
		put(t, dir, name, "mine")
	}
	if err := os.Symlink("a", filepath.Join(dir, tempName(beside, 6))); err != nil {
		t.Fatal(err)
	}
	mine := append([]string{}, users...)
	mine = append(mine, tempName(beside, 6))
	for _, write := range []func() error{
		func() error {
			return WriteFile(context.Background(), filepath.Join(dir, "out"), Options{}, text("new"))
		},
		func() error { return writePair(filepath.Join(dir, "folder"), Options{}) },
		func() error { return writePair(dir, Options{Force: true}) },
	} {
		leftovers(t, dir)
		if err := write(); err != nil {
			t.Fatal(err)
		}
		for n := range uint64(5) {
			for _, end := range []string{"", "~"} {
				path := filepath.Join(dir, tempName(beside, n)+end)
				if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("%s is left: %v", path, err)
				}
			}
		}
		for _, name := range mine {
			if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestWhatAnotherProcessWritesStays: while a file and folders are written, each step of which
// others begin and end a work of their own.
func TestWhatAnotherProcessWritesStays(t *testing.T) {
	dir := t.TempDir()
	there := filepath.Join(dir, "there")
	put(t, filepath.Dir(there), "x", "x")
	if err := writePair(there, Options{}); err != nil {
		t.Fatal(err)
	}
	others := func() {
		t.Helper()
		for _, in := range []string{dir, there} {
			if err := WriteFile(context.Background(), filepath.Join(in, "other"),
				Options{Force: true}, text("other")); err != nil {
				t.Error(err)
			}
		}
	}
	slow := func(s string) func(w io.Writer) error {
		return func(w io.Writer) error {
			for i := range s {
				others()
				if _, err := io.WriteString(w, s[i:i+1]); err != nil {
					return err
				}
			}
			others()
			return nil
		}
	}
	if err := WriteFile(context.Background(), filepath.Join(dir, "file"), Options{},
		slow("new")); err != nil {
		t.Error(err)
	}
	holds(t, filepath.Join(dir, "file"), "new")
	for _, path := range []string{filepath.Join(dir, "fresh"), there} {
		f, err := NewFolder(path, pair, Options{Force: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range pair {
			if err := f.Write(context.Background(), name, slow("new "+name)); err != nil {
				t.Error(err)
			}
			others() // between two files
		}
		// During Commit, which has made a backup of a file that is there.
		if path == there {
			lock, _ := lockTemp(filepath.Join(there, "a"))
			backup := filepath.Join(there, tempName(beside, 9)+"~")
			if err := os.Link(filepath.Join(there, "a"), backup); err != nil {
				t.Fatal(err)
			}
			others()
			if _, err := os.Lstat(backup); err != nil {
				t.Error(err)
			}
			os.Remove(backup)
			lock.Close()
		}
		if err := f.Commit(context.Background()); err != nil {
			t.Error(err)
		}
		f.Close()
		holdsPair(t, path)
	}
}
