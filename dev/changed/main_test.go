package main

import (
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestPartsOfAChange: what changes of this project name, and in which order.
func TestPartsOfAChange(t *testing.T) {
	all := packagesOf(t, "../..")
	for _, c := range []struct {
		name, files string
		first       string // parts to run, in this order
		only        bool   // no others
		has, hasNot string
	}{
		{"documents alone", "README.md docs/pictures/a.svg x/corpus/README.md LICENSE", "", true,
			"", ""},
		{"a leaf", "kernels/leaf.go", "kernels bytes", false,
			"race:./kernels fuzz:kernels:FuzzVariants gpu corpus", "race:./batch"},
		{"assembly", "kernels/dot_arm64.s", "kernels bytes", false,
			"gpu", ""},
		{"a kernel of the GPU", "model/gpu/kernels/linear.cl", "gpu checks", false,
			"archives", "kernels"},
		{"a driver, behind a build tag", "model/gpu/opencl/driver.go", "gpu", false,
			"", ""},
		{"a page", "serve/page/assets/main.js", "browser", false,
			"", "kernels"},
		{"pages, and all else", "cmd/gpt/internal/pages/page.js kernels/leaf.go", "browser kernels", false,
			"", ""},
		{"the pipelines", "x/corpus/main.go", "corpus checks", false,
			"", "deploy bench kernels"},
		{"what they need", "internal/rows/rows.go", "fuzz:internal/rows:FuzzRows", false,
			"corpus", ""},
		{"tests alone", "internal/rows/fuzz_test.go", "fuzz:internal/rows:FuzzRows", true,
			"", ""},
		{"what is deployed", "x/deploy/kubernetes/service.yaml", "deploy checks", true,
			"", ""},
		{"other modules", "go.mod go.sum", "browser corpus deploy bench checks", false,
			"archives", "kernels gpu"},
		{"goroutines", "batch/batcher.go", "race:./batch", false,
			"deploy", "race:./serve"},
		{"a judge", "dev/judges/quants.py", "judges:quants", true,
			"", ""},
		{"what it judges", "internal/gguf/types.go", "judges:quants", false,
			"", ""},
		{"a workflow", ".github/workflows/ci.yml", "checks", true,
			"", ""},
	} {
		text := plan(all, "base", strings.Fields(c.files))
		rest, names := text, namesOf(text)
		for _, first := range strings.Fields(c.first) {
			line, after, _ := strings.Cut(rest, "\n")
			if !strings.HasPrefix(line, "run "+first+" ") {
				t.Errorf("%s: no %s at its place:\n%s", c.name, first, text)
			}
			rest = after
		}
		if c.only && rest != "" {
			t.Errorf("%s: %s, want nothing else", c.name, rest)
		}
		for _, name := range strings.Fields(c.has) {
			if !slices.Contains(names, name) {
				t.Errorf("%s: no %s:\n%s", c.name, name, text)
			}
		}
		for _, name := range strings.Fields(c.hasNot) {
			if slices.Contains(names, name) {
				t.Errorf("%s: %s too:\n%s", c.name, name, text)
			}
		}
	}
}

// TestThePlanKeepsToItsTime, whatever changed, and loses no part.
func TestThePlanKeepsToItsTime(t *testing.T) {
	all := packagesOf(t, "../..")
	parts := readParts(all)
	var everything []string
	for _, p := range parts {
		for _, name := range p.names {
			everything = append(everything, strings.Trim(name, "!./")+"/a.go")
		}
	}
	for base, files := range map[string][]string{"": nil, "base": append(everything, "go.mod")} {
		text, seconds := plan(all, base, files), 0
		for _, p := range parts {
			switch {
			case strings.Contains(text, "run "+p.name+" "):
				seconds += p.seconds
			case !strings.Contains(text, "left "+p.name+" "):
				t.Errorf("base %q: the plan has no %s:\n%s", base, p.name, text)
			}
		}
		if seconds > budget || seconds < budget/2 {
			t.Errorf("base %q: the parts take %d seconds, want at most %d", base, seconds, budget)
		}
	}
}

// TestARepository: the base, and what differs from it.
func TestARepository(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err) // TestPartsOfAChange needs none
	}
	root := t.TempDir()
	write := func(file, text string) {
		t.Helper()
		name := filepath.Join(root, file)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	git := func(args ...string) string {
		t.Helper()
		args = append([]string{"-C", root, "-c", "user.name=a", "-c", "user.email=a@b.c"}, args...)
		c := exec.Command("git", args...)
		c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	commit := func() string {
		git("add", ".")
		git("commit", "-q", "-m", "a change")
		return git("rev-parse", "HEAD")
	}
	differ := func(asked, wantBase, wantFiles string) {
		t.Helper()
		base, files := changes(root, asked)
		if slices.Sort(files); base != wantBase || strings.Join(files, " ") != wantFiles {
			t.Errorf("base %q, files %q, want %q, %q", base, files, wantBase, wantFiles)
		}
	}

	differ("", "", "") // no repository
	write("go.mod", "module example.org/made\n")
	write("kernels/leaf.go", "package kernels\n")
	write("model/model.go", "package model\n\nimport _ \"example.org/made/kernels\"\n")
	write("decode/decode.go",
		"//go:build never\n\npackage decode\n\nimport _ `example.org/made/model`\n")
	write("decode/some_test.go", "package decode\n\nfunc FuzzStop(f *testing.F) {}\n")
	write("x/corpus/go.mod", "module example.org/made/x/corpus\n")
	write("x/corpus/main.go", "package main\n\nimport _ \"example.org/made/model\"\n")
	git("init", "-q")
	first := commit()
	differ("", "", "") // one commit alone
	want := map[string]int{"kernels": 0, "kernels_test": 1, "model": 1, "model_test": 2, "decode": 2,
		"decode_test": 3, "x/corpus": 2, "x/corpus_test": 3, "kernels/leaf.go": 0}
	got := distances(packagesOf(t, root), []string{"kernels/leaf.go", "kernels/README.md"})
	if !maps.Equal(got, want) {
		t.Errorf("distances %v, want %v", got, want)
	}
	write("kernels/leaf.go", "package kernels // in 32 bits\n")
	second := commit()
	differ("", first, "kernels/leaf.go")
	git("update-ref", "refs/remotes/origin/main", second)
	differ("", first, "kernels/leaf.go") // HEAD is there
	git("mv", "decode/decode.go", "decode/new name.go")
	commit()
	write("model/model.go", "package model\n")
	write("model/ü.txt", "")
	differ("", second, "decode/decode.go decode/new name.go model/model.go model/ü.txt")
	differ(first, first,
		"decode/decode.go decode/new name.go kernels/leaf.go model/model.go model/ü.txt")
	differ(strings.Repeat("0", 40), "", "") // as for a branch that is new
}

// TestEveryPackageThatStartsGoroutinesIsRaced, if it has tests.
func TestEveryPackageThatStartsGoroutinesIsRaced(t *testing.T) {
	starts := regexp.MustCompile(`^[^/"\n]*\bgo (func\b|[\w.]+\()|` +
		`\bsync\.WaitGroup\b|\berrgroup\.|\.AfterFunc\(`)
	likely := func(line string) bool { // the expression takes a second for all lines
		return slices.ContainsFunc([]string{"go ", "WaitGroup", "errgroup", "AfterFunc"},
			func(word string) bool { return strings.Contains(line, word) })
	}
	all := packagesOf(t, "../..")
	var raced []string
	for _, p := range readParts(all) {
		if dir, ok := strings.CutPrefix(p.name, "race:./"); ok {
			raced = append(raced, dir)
		}
	}
	found := 0
	for folder := range all {
		dir := folder
		if strings.HasPrefix(dir, "x/bench") {
			continue // programs that measure
		} else if strings.HasPrefix(dir, "x/corpus") {
			dir = "x/corpus" // all of it
		}
		files, err := filepath.Glob(filepath.Join("../..", folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		tested := slices.ContainsFunc(files, isTest)
		for _, file := range files {
			if !tested || isTest(file) {
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(text)) {
				if likely(line) && starts.MatchString(line) {
					found++
					if !slices.Contains(raced, dir) {
						t.Errorf("%s starts goroutines; parts.txt has no race:./%s", file, dir)
					}
					break
				}
			}
		}
	}
	if found < 10 {
		t.Errorf("%d files start goroutines, want more", found)
	}
}

// TestPartsAreThere: .ci/run has a function for each, and the names of parts.txt are packages,
// folders and files of the project.
func TestPartsAreThere(t *testing.T) {
	all := packagesOf(t, "../..")
	script, err := os.ReadFile("../../.ci/run")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range readParts(all) {
		function, _, _ := strings.Cut(p.name, ":")
		if !strings.Contains(string(script), "\n"+function+"() ") {
			t.Errorf(".ci/run has no part %s", function)
		}
		if p.seconds < 1 || p.seconds > budget {
			t.Errorf("%s takes %d seconds, of %d", p.name, p.seconds, budget)
		}
		for _, name := range p.names {
			name = strings.TrimSuffix(strings.TrimPrefix(name, "!"), "/...")
			if _, err := fs.Stat(os.DirFS("../.."), name); err != nil {
				t.Errorf("%s: %v", p.name, err)
			}
		}
	}
}

func isTest(file string) bool { return strings.HasSuffix(file, "_test.go") }

func packagesOf(t *testing.T, root string) map[string]*pkg {
	t.Helper()
	all, err := readPackages(root)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func namesOf(plan string) (names []string) {
	for line := range strings.Lines(plan) {
		names = append(names, strings.Fields(line)[1])
	}
	return names
}
