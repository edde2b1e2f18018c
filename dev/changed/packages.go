package main

// Packages: the folders of Go files in all modules, and how many imports away each is from what
// changed. Files are parsed, not listed by go: so those behind build tags count, and no module has
// to be downloaded.

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

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
