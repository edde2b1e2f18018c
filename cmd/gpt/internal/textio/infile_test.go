package textio

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"picogpt/internal/outfile"
)

func TestTextsLoseTheirMarkAndAreInputs(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.txt")
	if err := os.WriteFile(name, []byte("\ufeffHi\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	var f Files
	for mark, want := range map[bool]string{false: "Hi\n", true: "\ufeffHi\n"} {
		r, err := f.OpenText(name, "", mark)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := Whole(r); text != want || err != nil {
			t.Errorf("mark %v: %q, %v, want %q", mark, text, err, want)
		}
		r.Close()
	}
	if text, err := f.Text(name, ""); text != "Hi\n" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := f.Limited(name, "", 2); fmt.Sprint(err) != name+": more than 2 bytes" {
		t.Errorf("3 bytes where 2 are allowed: %v", err)
	}
	if err := outfile.Check(name, outfile.Options{Force: true, Inputs: &f.Inputs}); err == nil {
		t.Error("what was read may be written over")
	}
}

func TestErrorsNameTheFileAndNoCall(t *testing.T) {
	var f Files
	_, err := f.Open("gone", "")
	if !errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), "open") {
		t.Errorf("%v, want the name and the reason", err)
	}
	if err := Error("", io.ErrUnexpectedEOF); fmt.Sprint(err) != `"": unexpected EOF` {
		t.Error(err)
	}
}

// Bytes that wait in a pipe are told of once, when they are there.
func TestStdinThatIsNotRead(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	notes := 0
	f := Files{Stdin: r, Note: func(string, ...any) { notes++ }}
	f.LeaveStdin()
	if notes != 0 {
		t.Error("a note of an empty pipe")
	}
	io.WriteString(w, "x")
	f.NoteStdinLeft()
	f.NoteStdinLeft()
	if notes > 1 {
		t.Errorf("%d notes of one byte, want 1 at most", notes)
	}
}
