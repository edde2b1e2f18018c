package picogpt_test

// The Go that README.md and docs/ show compiles.

import (
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/docs"
)

// usual are the variables and types that the documents' Go uses without declaring them.
var usual = map[string]string{
	"service": "struct{ gpt *picogpt.GPT }", "files": "embed.FS", "t": "*testing.T",
	"ctx": "context.Context", "err": "error", "gpt": "*picogpt.GPT", "c": "*checkpoint.Checkpoint",
	"m": "*model.Model", "tok": "*tokenizer.Tokenizer", "s": "*model.Session", "text": "string",
	"story": "string", "prompt": "string", "ids": "[]int", "mux": "*http.ServeMux",
}

// standard are packages of the standard library that the documents' Go uses without importing them,
// and nested ones of this module.
var standard = []string{"bufio", "bytes", "context", "embed", "encoding/json", "errors", "fmt", "io",
	"io/fs", "iter", "log", "math", "net/http", "net/http/httptest", "os", "slices", "strings", "sync", "testing",
	"time"}

// nested are packages of this module that are no folders of its root.
var nested = []string{"check/reference", "checkpoint/hub", "decode/guess", "inside/sae", "inside/steer",
	"model/gpu", "model/gpu/cuda", "model/gpu/drivers", "model/gpu/opencl", "serve/page", "weights/demo",
	"x/textzip"}

// pathOf returns the path of the package with a name, "" if there is none.
func pathOf(module, name string) string {
	is := func(p string) bool { return path.Base(p) == name }
	if i := slices.IndexFunc(standard, is); i >= 0 {
		return standard[i]
	}
	if i := slices.IndexFunc(nested, is); i >= 0 {
		return module + "/" + nested[i]
	}
	if name == "picogpt" {
		return module
	}
	if files, err := os.ReadDir(name); err == nil && slices.ContainsFunc(files,
		func(f os.DirEntry) bool { return strings.HasSuffix(f.Name(), ".go") }) {
		return module + "/" + name
	}
	return ""
}

var packageName = regexp.MustCompile(`[a-z]+\.`)

// complete makes a file of a block: a file, declarations, or statements. What it uses of usual
// variables and of packages is declared and imported.
func complete(module string, b *docs.Block) (*token.FileSet, *ast.File, error) {
	fset, code := token.NewFileSet(), strings.Join(b.Code, "\n")
	line := fmt.Sprintf("//line %s:%d\n", b.File, b.Line)
	if strings.HasPrefix(code, "package ") {
		f, err := parser.ParseFile(fset, "block.go", line+code, 0)
		return fset, f, err
	}
	body := line + code
	f, err := parser.ParseFile(fset, "block.go", "package p\n"+body, 0)
	if err != nil {
		body = "func _() error {\n" + line + code + "\n}"
		if f, err = parser.ParseFile(fset, "block.go", "package p\n"+body, 0); err != nil {
			return nil, nil, err
		}
	}
	var imports, variables strings.Builder
	done := map[string]bool{}
	need := func(name string) {
		if p := pathOf(module, name); p != "" && !done[name] {
			fmt.Fprintf(&imports, "import %s %q\n", name, p)
			done[name] = true
		}
	}
	for _, i := range f.Imports {
		p, _ := strconv.Unquote(i.Path.Value)
		done[path.Base(p)] = true
	}
	for _, unknown := range f.Unresolved {
		kind, found := usual[unknown.Name]
		if !found {
			need(unknown.Name)
		} else if !done[unknown.Name] {
			done[unknown.Name] = true
			what, name := "var", packageName.FindString(kind)
			if strings.HasPrefix(kind, "struct") {
				what = "type"
			}
			fmt.Fprintf(&variables, "\n%s %s %s", what, unknown.Name, kind)
			need(strings.TrimSuffix(name, "."))
		}
	}
	f, err = parser.ParseFile(fset, "block.go", "package p\n"+imports.String()+body+variables.String(), 0)
	return fset, f, err
}

// exports returns the files with what packages export, for the type checker.
func exports(t *testing.T, paths []string) importer.Lookup {
	t.Helper()
	files := map[string]string{}
	list := in(t, ".", "go", append([]string{"list", "-export", "-deps", "-f",
		"{{.ImportPath}} {{.Export}}"}, paths...)...)
	for line := range strings.Lines(list) {
		name, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		files[name] = file
	}
	return func(path string) (io.ReadCloser, error) {
		if files[path] == "" {
			return nil, fmt.Errorf("no package %s", path)
		}
		return os.Open(files[path])
	}
}

func TestTheDocumentsGoCompiles(t *testing.T) {
	cases.NotShort(t)
	files, err := docs.Files(".")
	if err != nil {
		t.Fatal(err)
	}
	var blocks []docs.Block
	for _, file := range files {
		if path.Base(filepath.ToSlash(file)) == "embedding.md" {
			continue // TestTheRecipesAreExamples finds its blocks in programs
		}
		all, err := docs.Read(file)
		if err != nil {
			t.Fatal(err)
		}
		blocks = append(blocks, slices.DeleteFunc(all,
			func(b docs.Block) bool { return b.Lang != "go" })...)
	}
	wrong := docs.Block{File: "wrong", Line: 1, Code: []string{"m.NoSuchMethod(ctx)"}}
	sources := []source{}
	module := modulePath(t)
	for _, b := range append(blocks, wrong) {
		fset, f, err := complete(module, &b)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		sources = append(sources, source{&b, fset, f})
	}
	var paths []string
	for _, s := range sources {
		for _, i := range s.file.Imports {
			p, _ := strconv.Unquote(i.Path.Value)
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	lookup := exports(t, slices.Compact(paths))
	for _, s := range sources {
		found := s.check(lookup)
		if s.block.File != "wrong" {
			for _, err := range found {
				t.Error(err)
			}
		} else if len(found) != 1 || !strings.Contains(found[0].Error(), "NoSuchMethod") {
			t.Errorf("an unknown method gives the errors %v", found)
		}
	}
}

// modulePath is the path of this module, which can be renamed.
func modulePath(t *testing.T) string {
	t.Helper()
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	_, name, _ := strings.Cut(string(mod), "module ")
	name, _, _ = strings.Cut(name, "\n")
	return name
}

// A source is a block as a file.
type source struct {
	block *docs.Block
	fset  *token.FileSet
	file  *ast.File
}

// check returns the errors of a file. A part of a function may leave variables unused and not return.
func (s *source) check(lookup importer.Lookup) (found []error) {
	part := !strings.HasPrefix(s.block.Code[0], "package ")
	c := types.Config{
		Importer: importer.ForCompiler(s.fset, "gc", lookup),
		Error: func(err error) {
			var e types.Error
			if part && errors.As(err, &e) && (e.Soft || e.Msg == "missing return") {
				return
			}
			found = append(found, err)
		},
	}
	c.Check(s.block.File, s.fset, []*ast.File{s.file}, nil)
	return found
}

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
