package folder_test

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"picogpt/internal/folder"
)

func TestMemoryIsAFileSystem(t *testing.T) {
	m := folder.Memory{"config.json": []byte("{}"), "model.safetensors": make([]byte, 5000),
		"empty": nil}
	if err := fstest.TestFS(m, "config.json", "model.safetensors", "empty"); err != nil {
		t.Error(err)
	}
	file, size, err := folder.Open(m, "config.json")
	if err != nil || size != 2 {
		t.Fatalf("%d bytes, %v", size, err)
	}
	if b := file.(*folder.MemoryFile).Bytes; &b[0] != &m["config.json"][0] {
		t.Error("a copy, want the bytes in place")
	}
}

func TestReadIsBounded(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "five"), []byte("12345"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, fsys := range []fs.FS{folder.Dir(dir), os.DirFS(dir),
		folder.Memory{"five": []byte("12345")}} {
		if b, err := folder.Read(fsys, "five", 5); string(b) != "12345" || err != nil {
			t.Errorf("%T: %q, %v", fsys, b, err)
		}
		if b, err := folder.Read(fsys, "five", 4); b != nil || err == nil ||
			!strings.Contains(err.Error(), "more than 4 bytes") {
			t.Errorf("%T, too long: %q, %v", fsys, b, err)
		}
		if _, err := folder.Read(fsys, "six", 4); !errors.Is(err, fs.ErrNotExist) ||
			strings.Contains(err.Error(), "six") {
			t.Errorf("%T, absent: %v", fsys, err)
		}
		if _, err := folder.Read(fsys, ".", 4); err == nil ||
			err.Error() != "a directory, want a regular file" {
			t.Errorf("%T, a directory: %v", fsys, err)
		}
	}
}

// Messages name the files of what os.DirFS returns, too.
func TestPathsForMessages(t *testing.T) {
	want := filepath.Join("models", "config.json")
	for _, fsys := range []fs.FS{folder.Dir("models"), os.DirFS("models")} {
		if got := folder.Path(fsys, "config.json"); got != want {
			t.Errorf("%T: %s, want %s", fsys, got, want)
		}
	}
	if got := folder.Path(folder.Memory{}, "config.json"); got != "config.json" {
		t.Errorf("in memory: %s", got)
	}
}

func TestNamesOfVariantsAndIndexes(t *testing.T) {
	for name, variants := range map[string]string{folder.Safetensors: "model.*.safetensors",
		folder.SafetensorsIndex: "model.safetensors.index.*.json", folder.PyTorch: "pytorch_model.*.bin"} {
		if got := folder.Variants(name); got != variants {
			t.Errorf("%s: %s, want %s", name, got, variants)
		}
	}
	for name, of := range map[string]string{
		"model.safetensors.index.json":          "model.safetensors",
		"model.safetensors.index.fp16.json":     "model.safetensors",
		"in/a.folder/x.bin.index.b-1.2.json":    "in/a.folder/x.bin",
		"pytorch_model.bin.index.fp16.json":     "pytorch_model.bin",
		"model.safetensors.index.fp16.json.txt": "",
		"model.index":                           "",
		"index.json":                            "",
		"model.safetensors":                     "",
	} {
		if got := folder.Indexed(name); got != of {
			t.Errorf("%s: of %q, want %q", name, got, of)
		}
	}
}

func TestSplit(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a\xff") // no valid UTF-8, which some systems allow in names
	if err := os.WriteFile(path, []byte("x"), 0o666); err != nil {
		path = filepath.Join(dir, "a")
		if err := os.WriteFile(path, []byte("x"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for given, want := range map[string]string{dir: "", path: filepath.Base(path)} {
		fsys, name, err := folder.Split(given)
		if err != nil || name != want || folder.Path(fsys, cmp.Or(name, ".")) != given {
			t.Errorf("%s: %q in %v, %v", given, name, fsys, err)
		}
	}
	fsys, name, _ := folder.Split(path)
	if b, err := folder.Read(fsys, name, 9); string(b) != "x" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	if _, _, err := folder.Split(""); err == nil || !strings.HasPrefix(err.Error(), `"": `) {
		t.Errorf("no path: %v", err)
	}
	if _, _, err := folder.Split(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) ||
		!strings.HasPrefix(err.Error(), filepath.Join(dir, "none")+": ") {
		t.Error(err)
	}
}

// TestALinksParentIsNotWhereTheLinkIs covers DIR/link/../file, which is beside what the link leads
// to.
func TestALinksParentIsNotWhereTheLinkIs(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "there", "below"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "there", "below"),
		filepath.Join(dir, "link")); err != nil {
		t.Skip("no links here: ", err)
	}
	for name, text := range map[string]string{"there/file": "right", "file": "wrong"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "link") + "/../file"
	fsys, name, err := folder.Split(path)
	if err != nil || folder.Path(fsys, name) != path {
		t.Fatalf("%q in %v, %v", name, fsys, err)
	}
	if b, err := folder.Read(fsys, name, 9); string(b) != "right" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
}
