//go:build unix

package outfile

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

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

// TestWhatAnotherProcessWritesStays: while a file and folders are written, each step of which others
// begin and end a work of their own.
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
