// Command faults puts faults into the sources, one at a time, and says which test finds each:
//
//	go run ./dev/faults [-run REGEXP]
//
// A fault is an edit of faults.txt. The files stay as they are: go test reads the edited one through
// -overlay. The tests of the fault's own package come first, then those of the packages that import
// it, the nearest first, until one fails. The exit status is 1 if a fault is found by none, does not
// compile, or if its text is not in one place of the sources.
package main

import (
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

//go:embed faults.txt
var list string

// A fault is one edit.
type fault struct {
	name     string
	old, new []string // lines
}

func main() {
	only := flag.String("run", "", "only the faults whose names match `REGEXP`")
	dry := flag.Bool("n", false, "only look for the faults' texts")
	flag.Parse()
	match, err := regexp.Compile(*only)
	check(err)
	sources, err := readSources(".")
	check(err)
	imports, found, bad := readImports(), 0, 0
	for _, f := range parse(list) {
		if !match.MatchString(f.name) {
			continue
		}
		file, text, err := f.apply(sources)
		by := "" // nothing is known of it
		if err == nil && !*dry {
			by, err = find(file, text, imports)
		}
		if err != nil {
			bad++
			fmt.Printf("BAD    %s: %v\n", f.name, err)
			continue
		}
		found++
		fmt.Printf("found  %s: %s\n", f.name, by)
	}
	fmt.Printf("%d faults are found, %d are not\n", found, bad)
	if bad > 0 {
		os.Exit(1)
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// parse reads faults.txt.
func parse(text string) (faults []fault) {
	for part := range strings.SplitSeq(text, "\n\n") {
		f := fault{}
		for line := range strings.Lines(part) {
			line = strings.TrimSuffix(line, "\n")
			if rest, ok := strings.CutPrefix(line, "-"); ok {
				f.old = append(f.old, rest)
			} else if rest, ok := strings.CutPrefix(line, "+"); ok {
				f.new = append(f.new, rest)
			} else {
				if f.old != nil { // without an empty line between two
					faults = append(faults, f)
				}
				f = fault{name: line}
			}
		}
		if f.old != nil {
			faults = append(faults, f)
		}
	}
	return faults
}

// modules have faults, and tests that find them.
var modules = []string{".", "x/attention", "cmd/gpt/browser"}

// readSources reads what programs are made of, by path.
func readSources(root string) (map[string]string, error) {
	sources := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			_, module := os.Stat(filepath.Join(path, "go.mod"))
			if name == "testdata" || name == "dist" || name == "testing" || path != root &&
				(strings.HasPrefix(name, ".") || module == nil && !slices.Contains(modules, path)) {
				return filepath.SkipDir
			}
			return nil
		}
		if !slices.Contains([]string{".go", ".s", ".h", ".cl", ".js", ".css"}, filepath.Ext(name)) ||
			strings.HasSuffix(name, "_test.go") {
			return nil
		}
		b, err := os.ReadFile(path)
		sources[path] = string(b)
		return err
	})
	return sources, err
}

// apply returns the file that has the fault, and its text with it.
func (f fault) apply(sources map[string]string) (file, text string, err error) {
	old, places := strings.Join(f.old, "\n"), 0
	for path, s := range sources {
		if n := strings.Count(s, old); n > 0 {
			places += n
			file, text = path, strings.Replace(s, old, strings.Join(f.new, "\n"), 1)
		}
	}
	if places != 1 {
		return "", "", fmt.Errorf("its text is in %d places, want one", places)
	}
	return file, text, nil
}

// A pkg is what go list says of a package.
type pkg struct {
	ImportPath, Dir                                            string
	Deps, TestImports, XTestImports, TestGoFiles, XTestGoFiles []string
}

// readImports returns the packages that have tests: those with the fewest dependencies first, and
// those of the module browser last, which shows pages in Chromium.
func readImports() (all []pkg) {
	for _, module := range modules {
		out, err := exec.Command("go", "list", "-C", module, "-json", "./...").Output()
		check(err)
		begin := len(all)
		for d := json.NewDecoder(strings.NewReader(string(out))); d.More(); {
			var p pkg
			check(d.Decode(&p))
			all = append(all, p)
		}
		slices.SortStableFunc(all[begin:], func(a, b pkg) int { return len(a.Deps) - len(b.Deps) })
	}
	return all
}

// users returns the packages that can find a fault in a file: its own, and those that import it, or
// whose tests do. Scripts of pages are run in the module browser alone.
func users(file string, all []pkg) (found []pkg) {
	dir, err := filepath.Abs(filepath.Dir(file))
	check(err)
	own := pkg{}
	for _, p := range all { // of what is embedded, the package of a folder above
		if (dir == p.Dir || strings.HasPrefix(dir, p.Dir+"/")) && len(p.Dir) > len(own.Dir) {
			own = p
		}
	}
	deps := map[string][]string{}
	for _, p := range all {
		deps[p.ImportPath] = p.Deps
	}
	found = []pkg{own}
	for _, p := range all {
		uses := slices.Contains(p.Deps, own.ImportPath)
		for _, i := range slices.Concat(p.TestImports, p.XTestImports) {
			uses = uses || i == own.ImportPath || slices.Contains(deps[i], own.ImportPath)
		}
		if uses && p.ImportPath != own.ImportPath && len(p.TestGoFiles)+len(p.XTestGoFiles) > 0 {
			if filepath.Ext(file) == ".js" && strings.Contains(p.ImportPath, "/browser/") {
				found = slices.Insert(found, 1, p)
				continue
			}
			found = append(found, p)
		}
	}
	return found
}

var failed = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// find runs tests on a file with a fault until one fails, and returns its name.
func find(file, text string, all []pkg) (string, error) {
	dir, err := os.MkdirTemp("", "fault")
	check(err)
	defer os.RemoveAll(dir)
	path, err := filepath.Abs(file)
	check(err)
	edited, overlay := filepath.Join(dir, filepath.Base(file)), filepath.Join(dir, "overlay.json")
	check(os.WriteFile(edited, []byte(text), 0o666))
	b, err := json.Marshal(map[string]any{"Replace": map[string]string{path: edited}})
	check(err)
	check(os.WriteFile(overlay, b, 0o666))
	for _, p := range users(file, all) {
		cmd := exec.Command("go", "test", "-C", p.Dir, "-failfast", "-vet=off", "-timeout=5m")
		cmd.Env = append(os.Environ(), "GOFLAGS=-overlay="+overlay) // for go build in tests, too
		out, err := cmd.CombinedOutput()
		if err == nil {
			continue
		}
		if strings.Contains(string(out), "[build failed]") {
			return "", fmt.Errorf("it does not compile:\n%s", out)
		}
		if name := failed.FindStringSubmatch(string(out)); name != nil {
			return p.ImportPath + " " + name[1], nil
		}
		return p.ImportPath + ": " + firstLine(string(out)), nil // a panic, or the time is over
	}
	return "", fmt.Errorf("no test finds it")
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}
