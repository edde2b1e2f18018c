package outfile

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// put writes a file and returns its path.
func put(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func holds(t *testing.T, path, want string) {
	t.Helper()
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s holds %q (%v), want %q", filepath.Base(path), got, err, want)
	}
}

// names fails unless the folder holds these names and no others.
func names(t *testing.T, dir string, want ...string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range list {
		got = append(got, e.Name())
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("the folder holds %q, want %q", got, want)
	}
}

func stat(t *testing.T, path string) fs.FileInfo {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// reads are the inputs at these paths.
func reads(paths ...string) *Inputs {
	in := &Inputs{}
	for _, path := range paths {
		in.Add(path, "")
	}
	return in
}

// text is a function for WriteFile that writes s.
func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

// ways are the two ways to write a file.
var ways = map[string]func(path string, o Options, s string) error{
	"WriteFile": func(path string, o Options, s string) error {
		return WriteFile(context.Background(), path, o, text(s))
	},
	"Output": func(path string, o Options, s string) error {
		w := &Output{path: path, options: o} // without the check of NewOutput
		_, err := io.WriteString(w, s)
		return errors.Join(err, w.Close())
	},
}

func TestARegularFileIsOverwrittenOnlyWithForce(t *testing.T) {
	for way, write := range ways {
		t.Run(way, func(t *testing.T) {
			dir := t.TempDir()
			for _, old := range []string{"old", ""} {
				path := put(t, dir, "out", old)
				for name, err := range map[string]error{
					"Check": Check(path, Options{}), way: write(path, Options{}, "new"),
				} {
					if !errors.Is(err, ErrExists) || err.Error() != path+": there already" {
						t.Errorf("%s: error %v, want that the file is there", name, err)
					}
				}
				holds(t, path, old)
				if err := write(path, Options{Force: true}, "new"); err != nil {
					t.Error(err)
				}
				holds(t, path, "new")
			}
			fresh := filepath.Join(dir, "fresh")
			if err := write(fresh, Options{}, "first"); err != nil {
				t.Error(err)
			}
			holds(t, fresh, "first")
			names(t, dir, "fresh", "out")
		})
	}
}

func TestAnInputIsNeverOverwritten(t *testing.T) {
	for way, write := range ways {
		t.Run(way, func(t *testing.T) {
			dir := t.TempDir()
			in := put(t, dir, "in", "text")
			sub := filepath.Join(dir, "sub")
			hard, soft := filepath.Join(dir, "hard"), filepath.Join(dir, "soft")
			err := errors.Join(os.Mkdir(sub, 0o777), os.Link(in, hard))
			if err != nil {
				t.Fatal(err)
			}
			paths := []string{in, hard, filepath.Join(sub, "..") + string(filepath.Separator) +
				"in"}
			if os.Symlink(in, soft) == nil {
				paths = append(paths, soft)
			}
			for _, path := range paths {
				for _, force := range []bool{false, true} {
					o := Options{Force: force, Inputs: reads(sub, in)}
					errs := map[string]error{"Check": Check(path, o), way: write(path, o, "new")}
					for name, err := range errs {
						if !errors.Is(err, ErrInput) {
							t.Errorf("%s %s, force %v: error %v, want that it is the input",
								name, path, force, err)
						}
					}
					holds(t, in, "text")
				}
			}
		})
	}
}

func TestAnOutputIsOpenedByItsFirstResult(t *testing.T) {
	dir := t.TempDir()
	path := put(t, dir, "out", "old")
	w, err := NewOutput(path, Options{Force: true})
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := NewOutput(filepath.Join(dir, "fresh"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	holds(t, path, "old")
	names(t, dir, "out")
	if err := errors.Join(w.Close(), fresh.Close()); err != nil {
		t.Error(err)
	}
	holds(t, path, "old")
	names(t, dir, "out")

	w, _ = NewOutput(path, Options{Force: true})
	for _, s := range []string{"a", "b"} {
		if _, err := io.WriteString(w, s); err != nil {
			t.Error(err)
		}
		holds(t, path, map[string]string{"a": "a", "b": "ab"}[s])
	}
	fresh, _ = NewOutput(filepath.Join(dir, "fresh"), Options{})
	if err := errors.Join(w.Close(), fresh.Open(), fresh.Close()); err != nil {
		t.Error(err)
	}
	holds(t, filepath.Join(dir, "fresh"), "")
}

func TestAnOutputLooksAgainWhenItIsOpened(t *testing.T) {
	dir := t.TempDir()
	path, in := filepath.Join(dir, "out"), put(t, dir, "in", "text")
	w, err := NewOutput(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	forced, err := NewOutput(path, Options{Force: true, Inputs: reads(in)})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Link(in, path); err != nil { // it came while the model was loaded
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, "new"); !errors.Is(err, ErrExists) {
		t.Errorf("error %v, want that the file is there", err)
	}
	if _, err := io.WriteString(forced, "new"); !errors.Is(err, ErrInput) {
		t.Errorf("error %v, want that it is the input", err)
	}
	holds(t, in, "text")
}

func TestAFileIsWrittenWholeOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	path := put(t, dir, "out", "old")
	broken := errors.New("broken")
	var cancel context.CancelFunc
	for name, c := range map[string]struct {
		write func(io.Writer) error
		want  error
	}{
		"an error after some bytes": {func(w io.Writer) error {
			io.WriteString(w, "new")
			holds(t, path, "old")
			return broken
		}, broken},
		"cancelled between two writes": {func(w io.Writer) error {
			io.WriteString(w, "new")
			cancel()
			_, err := w.Write([]byte("more"))
			return err
		}, context.Canceled},
		"cancelled after the last write": {func(w io.Writer) error {
			io.WriteString(w, "new")
			cancel()
			return nil
		}, context.Canceled},
	} {
		for _, path := range []string{path, filepath.Join(dir, "fresh")} {
			var temps Temps
			var ctx context.Context
			ctx, cancel = context.WithCancel(context.Background())
			err := WriteFile(ctx, path, Options{Force: true, Temps: &temps}, c.write)
			if !errors.Is(err, c.want) {
				t.Errorf("%s: error %v, want %v", name, err, c.want)
			}
			cancel()
			holds(t, filepath.Join(dir, "out"), "old")
			names(t, dir, "out")
			if len(temps.locks) > 0 {
				t.Errorf("%s: %v is remembered", name, temps.locks)
			}
		}
	}
}

func TestALargeWriteEndsWhenItIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	var b bytes.Buffer
	n, err := Cancellable(ctx, writerFunc(func(p []byte) (int, error) {
		cancel()
		return b.Write(p)
	})).Write(make([]byte, 10<<20))
	if !errors.Is(err, context.Canceled) || n != b.Len() || n > 1<<20 {
		t.Errorf("%d bytes and error %v, want at most 1 MB and that it was cancelled", n, err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestWhatIsTemporaryIsRemovedAtTheEndOfTheProcess(t *testing.T) {
	dir := t.TempDir()
	var temps Temps
	path, o := filepath.Join(dir, "out"), Options{Temps: &temps}
	err := WriteFile(context.Background(), path, o, func(w io.Writer) error {
		list, _ := os.ReadDir(dir)
		if len(list) != 1 || filepath.Ext(list[0].Name()) != ".tmp" || list[0].Name()[0] != '.' {
			t.Errorf("the folder holds %v, want one hidden name that ends in .tmp", list)
		}
		temps.RemoveAll()
		names(t, dir)
		temps.mu.Unlock() // in a process, nothing follows
		return errors.New("the end")
	})
	if err == nil {
		t.Error("no error")
	}
}

func TestANameThatCannotBeAFileIsRefused(t *testing.T) {
	dir := t.TempDir()
	file := put(t, dir, "file", "text")
	for path, want := range map[string]string{
		"":  "want a path",
		dir: "want a file, found a directory",
		filepath.Join(dir, "none", "out"): "directory " + filepath.Join(dir, "none") +
			": no such",
		filepath.Join(dir, "none") + "/":      "want a file, found the name of a directory",
		filepath.Join(file, "out"):            "not a directory",
		filepath.Join(dir, "none", "..", "x"): "", // Join cleans it: a good name
	} {
		err := Check(path, Options{})
		if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", path, err, want)
		}
		for way, write := range ways {
			if err := write(path, Options{Force: true}, ""); (err != nil) != (want != "") {
				t.Errorf("%s %q: error %v, want %q", way, path, err, want)
			}
		}
	}
	names(t, dir, "file", "x")
}

// Each kind has its own endings, those that stand for nothing, and none of another's.
func TestTheEndingOfANameMustNotDenyWhatIsWritten(t *testing.T) {
	kinds := []Kind{Text, Formed, JSONLines, JSON, HTML, GGUF, NPY, Safetensors, Packed, Session, Directory}
	for _, k := range kinds {
		for _, name := range []string{"a", "a.out", "a.v1.5", "a.gguf/", "a.b/c", ".", "..", "-", "a."} {
			if err := k.Check(name); err != nil {
				t.Error(err)
			}
		}
		for ending := range strings.FieldsSeq(formats + " session") {
			want := true
			for _, own := range k.Endings() {
				want = want && own != ending
			}
			want = want && ending != "session"
			for _, name := range []string{"a." + ending, "dir/.b." + strings.ToUpper(ending), "." + ending} {
				if err := k.Check(name); errors.Is(err, ErrEnding) != want {
					t.Errorf("%s: %q: %v, want one: %v", k, name, err, want)
				}
			}
		}
	}
	if err := Any.Check("a.gguf"); err != nil {
		t.Error(err)
	}
	for k, want := range map[Kind]string{
		JSONLines: "a.csv: what is written is JSON lines: want a name that ends in .jsonl, .ndjson, " +
			".json or .txt",
		GGUF:      "a.csv: what is written is GGUF: want a name that ends in .gguf",
		Directory: "a.csv: what is written is a directory: want a name without .csv",
	} {
		if got := k.Check("a.csv").Error(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// What writes asks for the kind, and a pipe of the shell has any name.
func TestNoFileIsWrittenUnderAnEndingThatDeniesIt(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a.csv")
	nothing := func(io.Writer) error { return nil }
	_, folder := NewFolder(name, nil, Options{Kind: Directory})
	_, output := NewOutput(name, Options{Kind: JSONLines})
	for _, err := range []error{
		Check(name, Options{Kind: JSONLines}), folder, output,
		WriteFile(t.Context(), name, Options{Kind: JSONLines, Force: true}, nothing),
	} {
		if !errors.Is(err, ErrEnding) {
			t.Error(err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
	in := filepath.Join(dir, "in.csv")
	if err := os.WriteFile(in, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := Check(in, Options{Kind: JSONLines, Inputs: reads(in)}); !errors.Is(err, ErrInput) {
		t.Errorf("an input: %v", err)
	}
	if err := os.Mkdir(name, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := NewFolder(name, nil, Options{Kind: Directory, Force: true}); !errors.Is(err, ErrEnding) {
		t.Errorf("a directory that is there: %v", err)
	}
	if _, err := NewFolder(name+"/", nil, Options{Kind: Directory, Force: true}); err != nil {
		t.Error(err)
	}
}

func TestAFileThatWasOpenedIsAnInput(t *testing.T) {
	for way, write := range ways {
		dir := t.TempDir()
		path := put(t, dir, "form", "old")
		in := &Inputs{}
		f, err := in.Open(path, "--grammar")
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		o := Options{Force: true, Inputs: in}
		err = write(path, o, "new")
		if want := path + ": that is the input of --grammar"; !errors.Is(err, ErrInput) ||
			err.Error() != want {
			t.Errorf("%s: error %v, want %s", way, err, want)
		}

		// Somebody replaces the file: the path is the input's still, and so is the old file.
		os.Rename(path, filepath.Join(dir, "moved"))
		put(t, dir, "form", "edited")
		for name, content := range map[string]string{"form": "edited", "moved": "old"} {
			if err := write(filepath.Join(dir, name), o, "new"); !errors.Is(err, ErrInput) {
				t.Errorf("%s: %s: error %v, want that it is the input", way, name, err)
			}
			holds(t, filepath.Join(dir, name), content)
		}
	}
}

func TestAFileThatIsContinuedMayBeWritten(t *testing.T) {
	for way, write := range ways {
		path := put(t, t.TempDir(), "chat", "old")
		in := &Inputs{}
		in.Add(path, Continued)
		o := Options{Force: true, Inputs: in}
		if err := write(path, o, "new"); err != nil {
			t.Errorf("%s: %v", way, err)
		}
		holds(t, path, "new")
		in.Add(path, "--grammar") // read for something else, too
		if err := write(path, o, "newer"); !errors.Is(err, ErrInput) {
			t.Errorf("%s: error %v, want that it is the input", way, err)
		}
		holds(t, path, "new")
	}
}
