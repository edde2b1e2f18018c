package picogpt_test

// Imports run one way: down the list of packages in ARCHITECTURE.md.

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// floors returns the packages of ARCHITECTURE.md's tables, with their positions. Those for tests
// are above all others.
func floors(t *testing.T) map[string]int {
	t.Helper()
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	places := map[string]int{}
	for _, table := range []string{"\n| package for tests |", "\n| package |"} {
		_, rows, _ := strings.Cut(string(text), table)
		rows, _, _ = strings.Cut(rows, "\n\n")
		for row := range strings.Lines(rows) {
			first := strings.Split(row+"|", "|")[1]
			for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(first, -1) {
				if _, twice := places[name[1]]; twice {
					t.Errorf("ARCHITECTURE.md has %s twice", name[1])
				}
				places[name[1]] = len(places)
			}
		}
	}
	return places
}

// placeOf returns the position of a package, or of the nearest folder above it that has one.
func placeOf(places map[string]int, name string) (int, bool) {
	for ; name != "."; name = path.Dir(name) {
		if place, ok := places[name]; ok {
			return place, true
		}
	}
	place, ok := places["."]
	return place, ok
}

// imports returns which packages of the module each of its packages imports, without those of
// tests.
func imports(t *testing.T) map[string][]string {
	t.Helper()
	module := modulePath(t)
	all := map[string][]string{}
	err := filepath.WalkDir(".", func(file string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			if _, err := os.Stat(filepath.Join(file, "go.mod")); err == nil && file != "." ||
				strings.HasPrefix(e.Name(), ".") && file != "." || e.Name() == "testdata" {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		from := filepath.ToSlash(filepath.Dir(file))
		if all[from] == nil {
			all[from] = []string{}
		}
		for _, i := range parsed.Imports {
			name, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			if name == module {
				name += "/."
			}
			if to, ours := strings.CutPrefix(name, module+"/"); ours {
				all[from] = append(all[from], to)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestGrammarsAndSchemasDoNotKnowEachOther(t *testing.T) {
	all := imports(t)
	const grammar, schema = "constrain/internal/grammar", "constrain/internal/schema"
	for from, other := range map[string]string{grammar: schema, schema: grammar} {
		if all[from] == nil || slices.Contains(all[from], other) {
			t.Errorf("%s imports %q, want it there and without %s", from, all[from], other)
		}
	}
}

func TestImportsRunDownTheListOfPackages(t *testing.T) {
	places, all := floors(t), imports(t)
	for from, imported := range all {
		own, ok := placeOf(places, from)
		if !ok || own == places["."] && from != "." {
			t.Errorf("package %s is not in the tables of ARCHITECTURE.md", from)
			continue
		}
		for _, to := range imported {
			if place, _ := placeOf(places, to); place < own {
				t.Errorf("%s imports %s, which stands above it in ARCHITECTURE.md", from, to)
			}
		}
	}
	for name := range places {
		if _, ok := all[name]; !ok {
			t.Errorf("ARCHITECTURE.md has %s, which is no package", name)
		}
	}
}
