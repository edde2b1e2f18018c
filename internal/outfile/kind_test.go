package outfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Each kind has its own endings, those that stand for nothing, and none of another's.
func TestTheEndingOfANameMustNotDenyWhatIsWritten(t *testing.T) {
	kinds := []Kind{Text, Formed, JSONLines, JSON, HTML, SVG, GGUF, NPY, Safetensors, Packed, Session, Directory}
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
		SVG:       "a.csv: what is written is SVG: want a name that ends in .svg",
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
