package outfile

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

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
