package main

// What is linked: drivers of GPUs only where they are asked for.

import (
	"debug/elf"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// goTool runs the go command and returns what it prints.
func goTool(t *testing.T, env []string, args ...string) string {
	t.Helper()
	c := exec.Command("go", args...)
	c.Env = append(c.Environ(), env...)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func TestOnlyDriversLinkSystemLibraries(t *testing.T) {
	module := strings.TrimSpace(goTool(t, nil, "list", "-m")) // which may have been renamed
	foreign := func(args ...string) (found []string) {
		list := goTool(t, nil, append([]string{"list", "-deps"}, args...)...)
		for dep := range strings.Lines(list) {
			dep = strings.TrimSpace(dep)
			if strings.Contains(dep, "purego") || strings.HasPrefix(dep, module+"/gpu") {
				found = append(found, dep)
			}
		}
		return found
	}
	all := strings.Fields(goTool(t, nil, "list", module+"/..."))
	all = slices.DeleteFunc(all, func(p string) bool {
		return strings.HasPrefix(p, module+"/gpu") || p == module+"/internal/ptx" ||
			p == module+"/internal/testing/testdevice"
	})
	if found := foreign(all...); len(found) > 0 {
		t.Errorf("all packages but the drivers import %v", found)
	}
	if found := foreign(module + "/gpu"); !slices.Equal(found, []string{module + "/gpu"}) {
		t.Errorf("package gpu imports %v", found)
	}
	if found := foreign("-tags", "gpu", "."); !slices.Contains(found, module+"/gpu/opencl") {
		t.Errorf("with -tags gpu the program imports %v", found)
	}
}

func TestTheProgramIsStatic(t *testing.T) {
	program := filepath.Join(t.TempDir(), "gpt")
	goTool(t, []string{"CGO_ENABLED=0", "GOOS=linux"}, "build", "-o", program, ".")
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			t.Error("the program asks for a loader")
		}
	}
	if libraries, err := f.ImportedLibraries(); len(libraries) > 0 {
		t.Errorf("the program asks for %v, error %v", libraries, err)
	}
}
