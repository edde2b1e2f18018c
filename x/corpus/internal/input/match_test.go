package input

// Which files patterns name, and what is said of those that name none.

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
)

// inFolder makes files and a subfolder in a new directory, and goes there.
func inFolder(t *testing.T, names ...string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for _, name := range names {
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(name), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMatchKeepsTheOrderOfPatterns(t *testing.T) {
	inFolder(t, "b.jsonl", "a.jsonl", "c.txt", "d/x", "[1].txt")
	got, err := Match(t.Context(), Options{Form: "lines",
		Patterns: []string{"c.txt", "*.jsonl", "./a.jsonl", "d/*", "[1].txt", "c.txt"}})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i, s := range got {
		names = append(names, s.Name)
		if s.Order != i || s.Size != int64(len(s.Name)) || s.Form != "lines" {
			t.Errorf("source %d is %+v", i, s)
		}
	}
	if want := []string{"c.txt", "a.jsonl", "b.jsonl", "d/x", "[1].txt"}; !reflect.DeepEqual(names,
		want) {
		t.Errorf("%q, want %q", names, want)
	}
}

func TestWhatCannotBeMatchedIsOneLine(t *testing.T) {
	inFolder(t, "d/x", "a.csv")
	if err := syscall.Mkfifo("pipe", 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", "link"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ pattern, form, want string }{
		{"missing", "", "missing: no such file"},
		{"*.jsonl", "", "*.jsonl: no such file matches"},
		{"**/*.jsonl", "", "**/*.jsonl: no such file matches"},
		{"none/**", "", "none/**: no such file matches"},
		{"**/[", "", "**/[: syntax error in pattern"},
		{"memfs://b/**", "", "memfs://b/**: ** in names of memfs://, want local ones, gs:// or s3://"},
		{"gs://b*/**", "", "gs://b*/**: a wildcard in the name of a bucket"},
		{"~/x*", "", "~/x*: no such file, and ~ is known to shells only"},
		{"memfs://part-?", "", "memfs://part-?: no such file matches, and the first wildcard of a " +
			"store must be *"},
		{"[", "", "[: syntax error in pattern"},
		{"d", "", "d: a directory, want files: d/*"},
		{"*.csv", "", "a.csv: the name is of CSV, want jsonl, or a form that is given"},
		{"*", "lines", "*: d: a directory, want files: d/*"},
		{"pipe", "", "pipe: a pipe, want a regular file"},
		{"link", "", "link: no such file"},
		{"", "", `"": no name`},
		{"file:///x", "", "file:///x: no files of file:// are known, want local ones, gs:// or s3://"},
		{"x\ny://z", "", `"x\ny://z": no files of "x\ny":// are`},
		{"a.csv", "xml", "form xml, want auto, jsonl, lines, text, wikitext"},
	} {
		_, err := Match(t.Context(), Options{Patterns: []string{c.pattern}, Form: c.form})
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s", c.pattern, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: more than a line: %q", c.pattern, err)
		}
	}
	if _, err := Match(t.Context(), Options{}); err == nil {
		t.Error("no patterns: no error")
	}
}

// TestAFolderOfTwoStarsIsAnyNumberOfFolders, as in a shell with globstar.
func TestAFolderOfTwoStarsIsAnyNumberOfFolders(t *testing.T) {
	inFolder(t, "a.txt", "d/a.txt", "d/x/a.txt", "d/x/y/a.txt", "d/x/y/b.jsonl", "d/.h/a.txt",
		"d/x/.a.txt", "d/z.txt/a.txt", "e/a.txt", "[1]/a.txt")
	if err := os.Symlink("../e", "d/link"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../e/a.txt", "d/link.txt"); err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for pattern, want := range map[string]string{
		"d/**/*.txt":         "d/a.txt d/link.txt d/x/a.txt d/x/y/a.txt d/z.txt/a.txt",
		"d/**/a.txt":         "d/a.txt d/x/a.txt d/x/y/a.txt d/z.txt/a.txt",
		"d/**":               "d/a.txt d/link.txt d/x/a.txt d/x/y/a.txt d/x/y/b.jsonl d/z.txt/a.txt",
		"d/**/x/**/*.txt":    "d/x/a.txt d/x/y/a.txt",
		"d/**/**/y/*":        "d/x/y/a.txt d/x/y/b.jsonl",
		"d/x/**/y/*.jsonl":   "d/x/y/b.jsonl",
		"d/**/.h/*":          "d/.h/a.txt",
		"d/*/**/*.jsonl":     "d/x/y/b.jsonl",
		"**/e/*":             "e/a.txt",
		"?/**/y/a*":          "d/x/y/a.txt",
		here + "/d/**/b.*":   here + "/d/x/y/b.jsonl",
		"./d/**/../d/*.none": "",
	} {
		all, err := Match(t.Context(), Options{Patterns: []string{pattern}, Form: "text"})
		var names []string
		for _, s := range all {
			names = append(names, s.Name)
			if !Matches(filepath.Clean(pattern), s.Name) {
				t.Errorf("%s does not match %s, which it names", pattern, s.Name)
			}
		}
		if got := strings.Join(names, " "); got != want || (err != nil) != (want == "") {
			t.Errorf("%s: %s, %v, want %s", pattern, got, err, want)
		}
	}
	for pattern, name := range map[string]string{
		"/d/**/*.jsonl": "/d/.work/a.jsonl", "/d/**": "/e/a", "/d/*": "/d/x/a", "/d/**/a": "/d/b",
	} {
		if Matches(pattern, name) {
			t.Errorf("%s matches %s", pattern, name)
		}
	}
}
