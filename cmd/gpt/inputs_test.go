package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestFilesAreOpenedInOnePlace: what is opened elsewhere would not be guarded from outputs.
func TestFilesAreOpenedInOnePlace(t *testing.T) {
	openers := []string{"os.Open", "os.OpenFile", "os.ReadFile", "os.DirFS", "os.OpenRoot",
		"checkpoint.Open", "checkpoint.OpenTokenizer", "weights.Open", "tokenizer.Load"}
	elsewhere := map[string]string{
		"bench.go": "checkpoint.Open", // the random checkpoint that the command has written
	}
	list, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, e := range list {
		name := e.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
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
			if opener := of.Name + "." + s.Sel.Name; name != "inputs.go" && elsewhere[name] != opener {
				t.Errorf("%s: %s, want it in inputs.go", name, opener)
			}
			return true
		})
	}
	if found < 2 {
		t.Errorf("%d openers seen, want those of inputs.go and bench.go", found)
	}
}
