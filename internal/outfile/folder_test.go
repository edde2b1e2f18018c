package outfile

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// pair are the files of the tests' folders, the second one the one that counts.
var pair = []string{"a", "b"}

// writePair writes a folder with both files, which hold new.
func writePair(path string, o Options) error {
	f, err := NewFolder(path, pair, o)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, name := range pair {
		if err := f.Write(context.Background(), name, text("new "+name)); err != nil {
			return err
		}
	}
	return f.Commit(context.Background())
}

func holdsPair(t *testing.T, path string) {
	t.Helper()
	for _, name := range pair {
		holds(t, filepath.Join(path, name), "new "+name)
	}
}

func TestANewFolderAppearsComplete(t *testing.T) {
	for name, path := range map[string]string{
		"beside": "out", "with folders above it": "x/y/out", "slashes at its end": "out//",
		"a dot at its end": "out/./",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			f, err := NewFolder(dir+"/"+path, pair, Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			names(t, dir)
			for _, name := range pair {
				if err := f.Write(context.Background(), name, text("new "+name)); err != nil {
					t.Fatal(err)
				}
				if _, err := os.Stat(filepath.Join(dir, path)); err == nil {
					t.Error("the folder is there before Commit")
				}
			}
			if err := f.Commit(context.Background()); err != nil {
				t.Fatal(err)
			}
			f.Close()
			holdsPair(t, filepath.Join(dir, path))
			names(t, filepath.Join(dir, path), pair...)
			names(t, filepath.Dir(filepath.Join(dir, path)), "out")
		})
	}
}

func TestInAFolderThatIsThereOtherFilesStay(t *testing.T) {
	dir := t.TempDir()
	if err := writePair(dir, Options{}); err != nil { // empty: nothing is overwritten
		t.Fatal(err)
	}
	put(t, dir, "other", "other")
	put(t, dir, "a", "old")
	err := writePair(dir, Options{})
	if b := filepath.Join(dir, "b"); !errors.Is(err, ErrExists) ||
		!strings.HasPrefix(err.Error(), b) {
		t.Errorf("error %v, want that %s is there", err, b)
	}
	holds(t, filepath.Join(dir, "a"), "old")
	if err := writePair(dir, Options{Force: true}); err != nil {
		t.Fatal(err)
	}
	holdsPair(t, dir)
	holds(t, filepath.Join(dir, "other"), "other")
	names(t, dir, "a", "b", "other")
}

// TestAFailureLeavesNothing ends the work in each way and at each place.
func TestAFailureLeavesNothing(t *testing.T) {
	broken := errors.New("broken")
	fail := func(w io.Writer) error {
		io.WriteString(w, "half")
		return broken
	}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	background := context.Background()
	for name, work := range map[string]func(f *Folder) error{
		"the first file fails": func(f *Folder) error { return f.Write(background, "a", fail) },
		"the second file fails": func(f *Folder) error {
			return errors.Join(f.Write(background, "a", text("new")),
				f.Write(background, "b", fail))
		},
		"the first file is cancelled": func(f *Folder) error {
			return f.Write(cancelled, "a", text("new"))
		},
		"Commit is cancelled": func(f *Folder) error {
			return errors.Join(f.Write(background, "a", text("new")), f.Commit(cancelled))
		},
		"nobody commits": func(f *Folder) error {
			return errors.Join(f.Write(background, "a", text("new")), broken)
		},
		"the process ends": func(f *Folder) error {
			f.Write(background, "a", text("new"))
			f.options.Temps.RemoveAll()
			f.options.Temps.mu.Unlock()
			return broken
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			old := filepath.Join(dir, "old")
			os.Mkdir(old, 0o777)
			put(t, old, "a", "old a")
			put(t, old, "b", "old b")
			put(t, old, "other", "other")
			for _, path := range []string{old, filepath.Join(dir, "new"),
				filepath.Join(dir, "x/y/new")} {
				var temps Temps
				f, err := NewFolder(path, pair, Options{Force: true, Temps: &temps})
				if err != nil {
					t.Fatal(err)
				}
				if work(f) == nil {
					t.Errorf("%s: no error", path)
				}
				if name != "the process ends" {
					f.Close()
					if len(temps.locks)+len(temps.parents) > 0 {
						t.Errorf("%v %v is remembered", temps.locks, temps.parents)
					}
				}
				names(t, dir, "old")
				names(t, old, "a", "b", "other")
				holds(t, filepath.Join(old, "a"), "old a")
				holds(t, filepath.Join(old, "b"), "old b")
			}
		})
	}
}

// TestACommitThatFailsIsUndone puts something in the way after the check.
func TestACommitThatFailsIsUndone(t *testing.T) {
	for _, first := range []string{"old", ""} {
		dir := t.TempDir()
		if first != "" {
			put(t, dir, "a", first)
		}
		f, err := NewFolder(dir, pair, Options{Force: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range pair {
			if err := f.Write(context.Background(), name, text("new")); err != nil {
				t.Fatal(err)
			}
		}
		os.MkdirAll(filepath.Join(dir, "b/c"), 0o777)
		if err := f.Commit(context.Background()); err == nil {
			t.Error("a folder was replaced by a file")
		}
		f.Close()
		if first != "" {
			names(t, dir, "a", "b")
			holds(t, filepath.Join(dir, "a"), first)
		} else {
			names(t, dir, "b")
		}
	}
	dir := t.TempDir()
	f, err := NewFolder(filepath.Join(dir, "out"), pair, Options{Force: true})
	if err != nil {
		t.Fatal(err)
	}
	f.Write(context.Background(), "a", text("new"))
	os.Mkdir(filepath.Join(dir, "out"), 0o777)
	put(t, dir, "out/mine", "mine")
	if err := f.Commit(context.Background()); !errors.Is(err, ErrExists) {
		t.Errorf("error %v, want that the folder is there", err)
	}
	f.Close()
	names(t, dir, "out")
	names(t, filepath.Join(dir, "out"), "mine")
}

func TestAFolderThatIsReadIsNotWrittenTo(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "in")
	linked, inside := filepath.Join(dir, "linked"), filepath.Join(in, "inside")
	err := errors.Join(os.Mkdir(in, 0o777), os.Mkdir(linked, 0o777))
	if err != nil {
		t.Fatal(err)
	}
	a, b := put(t, in, "a", "old"), put(t, in, "b", "old")
	// One file of the input is enough, under any name.
	if err := os.Link(a, filepath.Join(linked, "something")); err != nil {
		t.Fatal(err)
	}
	o := Options{Force: true, Inputs: reads(in, a, b)}
	paths := []string{in, in + "/", in + "/.", dir + "/linked/../in", linked, a}
	if soft := filepath.Join(dir, "soft"); os.Symlink(in, soft) == nil {
		paths = append(paths, soft, soft+"/")
	}
	if err := os.Symlink(b, filepath.Join(dir, "b")); err == nil {
		paths = append(paths, dir)
	}
	for _, path := range paths {
		if err := writePair(path, o); !errors.Is(err, ErrInput) {
			t.Errorf("%s: error %v, want that it is the input", path, err)
		}
		holds(t, a, "old")
		holds(t, b, "old")
	}
	// A folder in the input's, or one that holds the input's, is another folder.
	os.Remove(filepath.Join(dir, "b"))
	for _, path := range []string{inside, dir} {
		if err := writePair(path, o); err != nil {
			t.Error(err)
		}
		holdsPair(t, path)
	}
	names(t, in, "a", "b", "inside")
}

func TestANameThatCannotBeAFolderIsRefused(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "file", "text")
	os.MkdirAll(filepath.Join(dir, "odd/b"), 0o777)
	want := map[string]string{
		"":              "want a path",
		dir + "/file":   "want a directory, found a regular file",
		dir + "/odd":    "b: want a regular file, found a directory",
		dir + "/file/":  "",
		dir + "/file/x": "",
	}
	if os.Symlink("nowhere", filepath.Join(dir, "dangling")) == nil {
		want[dir+"/dangling"] = "want a directory, found a link to nothing"
	}
	for path, want := range want {
		err := writePair(path, Options{Force: true})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", path, err, want)
		}
	}
	holds(t, filepath.Join(dir, "file"), "text")
}

// TestALinkInAFolderIsReplaced: what it leads to may be shared, as in the cache of Hugging Face.
func TestALinkInAFolderIsReplaced(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	os.Mkdir(out, 0o777)
	shared := put(t, dir, "shared", "shared")
	if err := os.Symlink(shared, filepath.Join(out, "b")); err != nil {
		t.Skip("no symbolic links here")
	}
	if err := writePair(out, Options{Force: true}); err != nil {
		t.Fatal(err)
	}
	holdsPair(t, out)
	holds(t, shared, "shared")
}
