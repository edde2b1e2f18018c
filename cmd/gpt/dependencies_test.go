package main

// What is linked: drivers of GPUs only where they are asked for.

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"picogpt/dev/cases"
)

// goTool runs the go command and returns what it prints.
func goTool(t *testing.T, env []string, args ...string) string {
	t.Helper()
	c := exec.Command("go", args...)
	c.Env = append(append(c.Environ(), "GOWORK=off"), env...)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func TestOnlyDriversLinkSystemLibraries(t *testing.T) {
	cases.NotShort(t)
	module := strings.TrimSpace(goTool(t, nil, "list", "-m")) // which may have been renamed
	foreign := func(args ...string) (found []string) {
		list := goTool(t, nil, append([]string{"list", "-deps"}, args...)...)
		for dep := range strings.Lines(list) {
			dep = strings.TrimSpace(dep)
			if strings.Contains(dep, "purego") || strings.HasPrefix(dep, module+"/model/gpu") {
				found = append(found, dep)
			}
		}
		return found
	}
	all := strings.Fields(goTool(t, nil, "list", module+"/..."))
	all = slices.DeleteFunc(all, func(p string) bool {
		return strings.HasPrefix(p, module+"/model/gpu") || p == module+"/dev/ptx" ||
			p == module+"/dev/testdevice"
	})
	if found := foreign(all...); len(found) > 0 {
		t.Errorf("all packages but the drivers import %v", found)
	}
	if found := foreign(module + "/model/gpu"); !slices.Equal(found, []string{module + "/model/gpu"}) {
		t.Errorf("package gpu imports %v", found)
	}
	if found := foreign("-tags", "gpu", "."); !slices.Contains(found, module+"/model/gpu/opencl") {
		t.Errorf("with -tags gpu the program imports %v", found)
	}
}

// TestTheProgramNeedsNoCgo: without cgo, and without directives for the dynamic linker as packages
// have that load libraries, what Go links is static. TestREADMEsLineMakesAStaticProgram looks at
// it.
func TestTheProgramNeedsNoCgo(t *testing.T) {
	cases.NotShort(t)
	files := goTool(t, []string{"CGO_ENABLED=1"}, "list", "-deps", "-f",
		"{{if not .Standard}}{{$d := .Dir}}{{range .CgoFiles}}\t{{$d}}/{{.}}\n{{end}}"+
			"{{range .GoFiles}}{{$d}}/{{.}}\n{{end}}{{end}}", ".")
	n := 0
	for path := range strings.SplitSeq(strings.TrimSpace(files), "\n") {
		if strings.HasPrefix(path, "\t") {
			t.Errorf("%s uses cgo", path[1:])
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(text, []byte("\n//go:cgo_")) {
			t.Errorf("%s has a directive of cgo", path)
		}
		n++
	}
	if n < 400 {
		t.Errorf("%d files, want more", n)
	}
}

// Gonum's package mat would bring its solvers with it, 1.9 MB: the program has its BLAS only.
func TestNoSolversAreLinked(t *testing.T) {
	cases.NotShort(t)
	deps := strings.Fields(goTool(t, nil, "list", "-deps", "."))
	if !slices.Contains(deps, "gonum.org/v1/gonum/blas/gonum") ||
		slices.Contains(deps, "gonum.org/v1/gonum/mat") {
		t.Error("want gonum's BLAS and not its package mat")
	}
}

// A start compiles no regular expression: a command compiles those that it uses, in a
// sync.OnceValue. It took a millisecond, of the eight of gpt version.
func TestTheStartCompilesNoRegex(t *testing.T) {
	cases.NotShort(t)
	module := strings.TrimSpace(goTool(t, nil, "list", "-m"))
	files := goTool(t, nil, "list", "-deps", "-f", "{{$d := .}}{{range .GoFiles}}{{$d.ImportPath}}\t"+
		"{{$d.Dir}}/{{.}}\n{{end}}", ".")
	early, n := regexp.MustCompile(`(?m)^(var |\t)\w+ += regexp\.MustCompile.*`), 0
	for line := range strings.SplitSeq(strings.TrimSpace(files), "\n") {
		path, file, _ := strings.Cut(line, "\t")
		if path != module && !strings.HasPrefix(path, module+"/") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if found := early.Find(text); found != nil {
			t.Errorf("%s: %s", file, found)
		}
		n++
	}
	if n < 400 {
		t.Errorf("%d files, want more", n)
	}
}

// TestVersionNamesLibc compares what gpt version reads of this program with how Go says it built
// it.
func TestVersionNamesLibc(t *testing.T) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		t.Fatal("no build info")
	}
	dynamic := false // -tags gpu is so without cgo too
	for _, s := range info.Settings {
		dynamic = dynamic || s.Key == "CGO_ENABLED" && s.Value == "1" ||
			s.Key == "-tags" && slices.Contains(strings.Split(s.Value, ","), "gpu")
	}
	isLibc := func(name string) bool { return strings.HasPrefix(name, "libc.") }
	got := libraries()
	switch {
	case runtime.GOOS == "darwin" || runtime.GOOS == "windows":
		if got != nil {
			t.Errorf("%q, want nil where programs are no ELF files", got)
		}
	case slices.ContainsFunc(got, isLibc) != dynamic || !dynamic && len(got) > 0 || got == nil:
		t.Errorf("%q of a program of which Go says %v", got, info.Settings)
	}
}

// TestLicencesAreOfAllModules: gpt version --licenses has the text of each module that a build for any
// system has. make licenses writes it.
func TestLicencesAreOfAllModules(t *testing.T) {
	cases.NotShort(t)
	names, n := strings.Fields(licenses), 0
	plain := strings.Join(names, " ")
	for _, system := range []string{"linux", "darwin", "windows"} {
		list := goTool(t, []string{"GOOS=" + system, "CGO_ENABLED=0"}, "list", "-deps", "-tags", "gpu", "-f",
			"{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Dir}}{{end}}{{end}}", ".")
		for line := range strings.SplitSeq(strings.TrimSpace(list), "\n") {
			path, dir, ok := strings.Cut(line, "\t")
			if !ok {
				continue
			}
			n++
			texts, err := filepath.Glob(filepath.Join(dir, "[LC][IiOo][CcPp][EeYy]*"))
			if err != nil || len(texts) == 0 || !slices.Contains(names, path) {
				t.Errorf("%s: not in LICENSES, or without a licence (%v)", path, err)
				continue
			}
			text, err := os.ReadFile(texts[0])
			if err != nil || !strings.Contains(plain, strings.Join(strings.Fields(string(text)), " ")) {
				t.Errorf("%s: LICENSES has not the text of %s (%v)", path, texts[0], err)
			}
		}
	}
	if n < 60 {
		t.Errorf("%d modules of three systems, want more", n)
	}
}
