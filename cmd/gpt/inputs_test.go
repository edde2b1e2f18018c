package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestFilesAreOpenedInOnePlace: what is opened elsewhere would not be guarded from outputs.
func TestFilesAreOpenedInOnePlace(t *testing.T) {
	openers := []string{"os.Open", "os.OpenFile", "os.ReadFile", "os.DirFS", "os.OpenRoot",
		"checkpoint.Open", "checkpoint.OpenTokenizer", "weights.Open", "tokenizer.Load"}
	elsewhere := map[string]string{
		"bench.go":                     "checkpoint.Open",                          // the random checkpoint that the command has written
		"internal/checkpoints/open.go": "checkpoint.Open checkpoint.OpenTokenizer", // remembered before
		"version.go":                   "os.ReadFile",                              // what the system says of the process
		"internal/talk/sessionfile.go": "os.Open",                                  // an output too
		"internal/records/journal.go":  "os.Open",                                  // the output that is continued, and its journal
	}
	var names []string
	for _, folder := range []string{
		".", "internal/talk", "internal/checkpoints",
		"internal/records", "internal/show", "internal/textio",
	} {
		here, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil || len(here) == 0 {
			t.Fatalf("%s: %q, %v", folder, here, err)
		}
		names = append(names, here...)
	}
	found := 0
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			of, ok := s.X.(*ast.Ident)
			if !ok || !slices.Contains(openers, of.Name+"."+s.Sel.Name) {
				return true
			}
			found++
			if opener := of.Name + "." + s.Sel.Name; !slices.Contains(strings.Fields(elsewhere[name]), opener) {
				t.Errorf("%s: %s, want a method of textio or checkpoints", name, opener)
			}
			return true
		})
	}
	if found < 3 {
		t.Errorf("%d openers seen, want those of open.go and bench.go", found)
	}
}
