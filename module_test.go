package picogpt_test

// The module can be renamed: make module PATH=….

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"picogpt/internal/testing/cases"
)

// in runs a program in a folder and returns what it prints.
func in(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	c := exec.Command(name, args...)
	c.Dir = dir
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// copyTo copies the project, without its history.
func copyTo(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		to := filepath.Join(dir, e.Name())
		switch {
		case e.Name() == ".git" || e.Name() == "dist":
		case e.IsDir():
			err = os.CopyFS(to, os.DirFS(e.Name()))
		case e.Type().IsRegular():
			var b []byte
			if b, err = os.ReadFile(e.Name()); err == nil {
				err = os.WriteFile(to, b, 0o666)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestTheModuleCanBeRenamed renames a copy, whose imports are then found, and with -tags long builds
// it: no package of it is in the cache.
func TestTheModuleCanBeRenamed(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no shell; other machines run this test")
	}
	dir := t.TempDir()
	copyTo(t, dir)
	const path = "example.com/some-body/picogpt"
	if make, err := exec.LookPath("make"); err == nil {
		in(t, dir, make, "module", "PATH="+path)
	} else {
		in(t, dir, sh, "internal/module.sh", path)
	}
	if cases.Long {
		in(t, dir, "go", "build", "-trimpath", "-o", os.DevNull, ".")
	}
	for dep := range strings.Lines(in(t, dir, "go", "list", "-deps", "-test", "./...")) {
		if strings.HasPrefix(dep, "picogpt") {
			t.Errorf("package %s has its old name", strings.TrimSpace(dep))
		}
	}
	nested, err := filepath.Glob(filepath.Join(dir, "*/*/go.mod"))
	if err != nil || len(nested) == 0 {
		t.Fatalf("nested modules: %v, %v", nested, err)
	}
	for _, mod := range nested {
		b, err := os.ReadFile(mod)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(b), "module "+path+"/") ||
			strings.Contains(string(b), " picogpt ") {
			t.Errorf("%s:\n%s", mod, b)
		}
	}
}
