package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"picogpt/dev/cases"
)

// made returns a folder with a binary of that name and two manual pages, and the binary's path.
func made(t *testing.T, name string) (man, binary string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{name: "a program", "gpt.1": ".Dd", "gpt-next.1": ".Dt"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir, filepath.Join(dir, name)
}

const inside = `gpt-v1/gptEXE 755
gpt-v1/LICENSE 644
gpt-v1/LICENSES 644
gpt-v1/README.md 644
gpt-v1/docs/README.md 644
gpt-v1/docs/pictures/page.png 644
gpt-v1/examples/chat/main.go 644
gpt-v1/man/man1/gpt-next.1 644
gpt-v1/man/man1/gpt.1 644
gpt-v1/completions/gpt.bash 644
gpt-v1/completions/gpt.zsh 644
gpt-v1/completions/gpt.fish 644
`

// checkInside compares the list of an archive with what must be inside, and wants what README.md
// links to.
func checkInside(t *testing.T, list, exe string) {
	t.Helper()
	for line := range strings.Lines(strings.Replace(inside, "EXE", exe, 1)) {
		if strings.Count("\n"+list, "\n"+line) != 1 {
			t.Errorf("want once: %sgot\n%s", line, list)
		}
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	links := 0
	for _, after := range strings.Split(string(readme), "](")[1:] {
		to, _, _ := strings.Cut(after, ")")
		to, _, _ = strings.Cut(to, "#")
		if to == "" || strings.Contains(to, ":") {
			continue
		}
		links++
		if all := "\n" + list; !strings.Contains(all, "\ngpt-v1/"+to+" ") &&
			!strings.Contains(all, "\ngpt-v1/"+to+"/") {
			t.Errorf("README.md links to %s, which is not there", to)
		}
	}
	if links < 20 {
		t.Errorf("%d links, want more", links)
	}
}

func TestAnArchiveHasWhatAUserNeeds(t *testing.T) {
	man, binary := made(t, "gpt-v1")
	out, err := pack("../..", man, binary)
	if err != nil || filepath.Base(out) != "gpt-v1.tar.gz" {
		t.Fatal(out, err)
	}
	f, err := os.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var list strings.Builder
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&list, "%s %o\n", h.Name, h.Mode)
		if !h.ModTime.Equal(modified) {
			t.Errorf("%s: time %s", h.Name, h.ModTime)
		}
		b, err := io.ReadAll(r)
		if err != nil || len(b) == 0 || strings.HasSuffix(h.Name, "/gpt") && string(b) != "a program" {
			t.Errorf("%s: %d bytes, %v", h.Name, len(b), err)
		}
	}
	checkInside(t, list.String(), "")
}

func TestWindowsHasAZip(t *testing.T) {
	man, binary := made(t, "gpt-v1.exe")
	out, err := pack("../..", man, binary)
	if err != nil || filepath.Base(out) != "gpt-v1.zip" {
		t.Fatal(out, err)
	}
	z, err := zip.OpenReader(out)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	var list strings.Builder
	for _, f := range z.File {
		fmt.Fprintf(&list, "%s %o\n", f.Name, f.Mode())
	}
	checkInside(t, list.String(), ".exe")
}

// The folder, the times of the files and their modes leave no trace.
func TestTheSameFilesGiveTheSameBytes(t *testing.T) {
	cases.NotShort(t)
	for _, name := range []string{"gpt-v1", "gpt-v1.exe"} {
		var archives [2][]byte
		for i := range archives {
			man, binary := made(t, name)
			if err := os.Chtimes(binary, modified, modified.AddDate(i, 0, 0)); err != nil {
				t.Fatal(err)
			}
			out, err := pack("../..", man, binary)
			if err != nil {
				t.Fatal(err)
			}
			if archives[i], err = os.ReadFile(out); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(archives[0], archives[1]) {
			t.Errorf("%s: two archives of the same files differ", name)
		}
	}
}

func TestWithoutManualPagesThereIsNoArchive(t *testing.T) {
	_, binary := made(t, "gpt-v1")
	if _, err := pack("../..", t.TempDir(), binary); err == nil ||
		!strings.Contains(err.Error(), "no manual pages") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(binary + ".tar.gz"); err == nil {
		t.Error("an archive")
	}
}
