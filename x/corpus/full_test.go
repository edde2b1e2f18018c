//go:build unix

package main

// A disk without room: the run says so in one line, leaves nothing by half, and can be continued.

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// onAFullDisk is corpus where no file can have more than 20,000 bytes.
func onAFullDisk() {
	signal.Ignore(syscall.SIGXFSZ)
	limit := syscall.Rlimit{Cur: 20000, Max: 20000}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		panic(err)
	}
	main()
}

func TestAFullDisk(t *testing.T) {
	model, dir := byteModel(t), t.TempDir()
	f := forms[0]
	args := []string{"score", "--input", f.shards(t, makeDocuments(200), 1), "-m", model,
		"--piece-bytes", "3KiB"}
	whole, out := filepath.Join(dir, "whole"), filepath.Join(dir, "out")
	succeed(t, append(args, "-o", whole)...)
	args = append(args, "-o", out)
	e := execute(t, exec.Command("corpus-on-a-full-disk", args...))
	if e.status != 1 || e.stdout != "" || strings.Count(e.stderr, "\n") != 1 ||
		!strings.HasSuffix(e.stderr, "file too large\n") {
		t.Errorf("%+v, want status 1 and one line", e)
	}
	if left := partial(t, out); len(left) > 0 {
		t.Errorf("%q is left", left)
	}
	succeed(t, append(args, "--resume")...)
	sameFolders(t, out, whole)
}

// partial lists the files of a folder that are not whole.
func partial(t *testing.T, folder string) (names []string) {
	t.Helper()
	for name := range tree(t, folder) {
		if strings.HasSuffix(name, ".partial") {
			names = append(names, name)
		}
	}
	return names
}

// tree is what stands in a folder and below it, by name.
func tree(t *testing.T, folder string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		b, err := os.ReadFile(path)
		all[name] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// sameFolders compares two folders, byte for byte.
func sameFolders(t *testing.T, got, want string) {
	t.Helper()
	g, w := tree(t, got), tree(t, want)
	for name := range g {
		if _, ok := w[name]; !ok {
			t.Errorf("%s is too much", name)
		}
	}
	for name, bytes := range w {
		if g[name] != bytes {
			t.Errorf("%s has %d bytes, want other %d", name, len(g[name]), len(bytes))
		}
	}
}
