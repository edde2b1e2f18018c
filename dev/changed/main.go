// Command changed says which parts of .ci/run a change needs: what it touches, then what depends on
// that, the nearest first, until the time of a change is full. Part always is not among them.
//
//	go run ./dev/changed       one part a line: run or left, its name, its seconds, and why
//	go run ./dev/changed race  all packages that the race detector runs
//	go run ./dev/changed fuzz  all fuzz targets, as FOLDER:NAME
//
// A change is what differs from the base, committed or not. The base is where HEAD left $CI_BASE,
// or if that is empty origin/main, or if HEAD is there the commit before HEAD. Where there is no
// base, as in a shallow clone, everything counts as changed.
package main

import (
	"cmp"
	_ "embed"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"log"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Seconds: parts.txt says of which machine.
const (
	budget  = 12*60 - 400 // of a change, without part always
	fuzzing = 5           // of a target
)

//go:embed parts.txt
var table string

// A part is a row of parts.txt, or a fuzz target.
type part struct {
	name    string
	seconds int
	names   []string // packages and files; those with ! only if they changed themselves
	away    int      // imports, from what changed to the nearest name
	why     string   // empty if no name is above what changed
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("changed: ")
	all, err := readPackages(".")
	if err != nil {
		log.Fatal(err)
	}
	if len(os.Args) == 1 {
		base, files := changes(".", os.Getenv("CI_BASE"))
		fmt.Print(plan(all, base, files))
		return
	}
	for _, p := range readParts(all) {
		if what, ok := strings.CutPrefix(p.name, os.Args[1]+":"); ok {
			fmt.Println(what)
		}
	}
}

// changes returns the base, or "" if there is none, and the files that differ from it.
func changes(root, asked string) (base string, files []string) {
	git := func(args ...string) string {
		out, _ := exec.Command("git", append([]string{"-C", root}, args...)...).Output()
		return strings.TrimSpace(string(out)) // nothing, if git fails
	}
	head := git("rev-parse", "HEAD")
	if asked != "" {
		base = git("merge-base", "HEAD", asked)
	} else if base = git("merge-base", "HEAD", "origin/main"); base == "" || base == head {
		base = git("rev-parse", "--quiet", "--verify", "HEAD~1")
	}
	if base == "" {
		return "", nil
	}
	names := git("diff", "--name-only", "--no-renames", "-z", base) + "\x00" +
		git("ls-files", "--others", "--exclude-standard", "-z", ":/")
	return base, strings.FieldsFunc(names, func(r rune) bool { return r == 0 })
}

// readParts returns the parts: those of parts.txt, then one for each fuzz target.
func readParts(all map[string]*pkg) (parts []part) {
	for row := range strings.Lines(table) {
		if f := strings.Fields(row); len(f) > 1 && f[0] != "#" {
			seconds, err := strconv.Atoi(f[1])
			if err != nil {
				log.Fatalf("parts.txt: %s: %v", f[0], err)
			}
			parts = append(parts, part{name: f[0], seconds: seconds, names: f[2:]})
		}
	}
	for _, tests := range slices.Sorted(maps.Keys(all)) {
		for _, target := range all[tests].fuzz {
			dir := strings.TrimSuffix(tests, "_test")
			name := "fuzz:" + dir + ":" + target
			parts = append(parts, part{name: name, seconds: fuzzing, names: []string{dir}})
		}
	}
	return parts
}

// plan returns the lines for a change of files, or for one of everything if there is no base.
func plan(all map[string]*pkg, base string, files []string) string {
	away, parts := distances(all, files), readParts(all)
	for i := range parts {
		p := &parts[i]
		if base == "" {
			p.why = "no base is known"
		}
		for _, name := range slices.Sorted(maps.Keys(away)) {
			if d := away[name]; p.named(name, d) && (p.why == "" || d < p.away) {
				p.away, p.why = d, fmt.Sprintf("%s: %d imports from what changed", name, d)
			}
		}
	}
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(a.away, b.away) })
	text, left := "", budget
	for _, p := range parts {
		verdict := "left"
		if p.why == "" {
			continue
		} else if p.seconds <= left {
			verdict, left = "run", left-p.seconds
		}
		text += fmt.Sprintln(verdict, p.name, p.seconds, p.why)
	}
	return text
}

// named says whether the part is one of a file, a package or its tests that are so far away.
func (p part) named(name string, away int) bool {
	name = strings.TrimSuffix(name, "_test")
	return slices.ContainsFunc(p.names, func(own string) bool {
		own, touched := strings.CutPrefix(own, "!")
		folder, all := strings.CutSuffix(own, "/...")
		return (away == 0 || !touched) &&
			(name == folder || all && strings.HasPrefix(name, folder+"/"))
	})
}

// Packages: the folders of Go files in all modules, and how many imports away each is from what
// changed. Files are parsed, not listed by go: so those behind build tags count, and no module has
// to be downloaded.

// A pkg is a folder of Go files, or with _test behind its name the tests of one: these import it,
// and nothing imports them.
type pkg struct {
	imports []string // folders
	fuzz    []string // targets
}

var fuzzTarget = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(`)

// readPackages reads the modules below root. A nested one is named by its folder below the root's,
// so that all names lead to folders.
func readPackages(root string) (map[string]*pkg, error) {
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return nil, err
	}
	module := strings.Fields(string(mod))[1] + "/"
	all := map[string]*pkg{}
	err = fs.WalkDir(os.DirFS(root), ".", func(file string, e fs.DirEntry, err error) error {
		if e.Name() == "testdata" || len(e.Name()) > 1 && e.Name()[0] == '.' && e.IsDir() {
			return fs.SkipDir
		} else if err != nil || e.IsDir() || path.Ext(file) != ".go" {
			return err
		}
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ImportsOnly)
		if err != nil {
			return err
		}
		dir, test := owner(file)
		if all[dir+test] == nil {
			all[dir], all[dir+"_test"] = &pkg{}, &pkg{imports: []string{dir}}
		}
		p := all[dir+test]
		for _, spec := range parsed.Imports {
			name := strings.Trim(spec.Path.Value, "`\"") + "/"
			if dir, own := strings.CutPrefix(name, module); own {
				p.imports = append(p.imports, path.Clean(dir)) // the root is "."
			}
		}
		for _, target := range fuzzTarget.FindAllStringSubmatch(string(text), -1) {
			p.fuzz = append(p.fuzz, target[1])
		}
		return nil
	})
	return all, err
}

// owner returns the folder of a file, and "_test" if it is one of tests.
func owner(file string) (dir, test string) {
	if strings.HasSuffix(file, "_test.go") {
		test = "_test"
	}
	return path.Dir(file), test
}

// distances returns how many imports away packages are from files that changed, for those that are
// above one, and 0 for the files. What is not Go belongs to the package of the nearest folder above
// it, but not to the root's; documents count for nothing.
func distances(all map[string]*pkg, files []string) map[string]int {
	away, next := map[string]int{}, []string{}
	for _, file := range files {
		if path.Ext(file) == ".md" {
			continue
		}
		away[file] = 0
		dir, test := owner(file)
		for all[dir] == nil && dir != "." {
			dir = path.Dir(dir)
		}
		if dir != "." || path.Ext(file) == ".go" {
			away[dir+test], next = 0, append(next, dir+test)
		}
	}
	above := map[string][]string{}
	for dir, p := range all {
		for _, i := range p.imports {
			above[i] = append(above[i], dir)
		}
	}
	for ; len(next) > 0; next = next[1:] { // breadth first: the first way is the shortest
		for _, dir := range above[next[0]] {
			if _, known := away[dir]; !known {
				away[dir] = away[next[0]] + 1
				next = append(next, dir)
			}
		}
	}
	return away
}
