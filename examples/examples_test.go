package examples

// Each program runs on the demo, and writes what is wanted; all are one build.

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"picogpt/dev/cases"
)

// sources returns the main.go of each program, by its name.
func sources(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("*/main.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d programs, %v", len(files), err)
	}
	all := map[string]string{}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Dir(file)] = string(b)
	}
	return all
}

// build returns a program whose first argument names the one of the programs that it runs: to link
// each takes seconds. To the compiler they are packages of a folder that is not there.
func build(t *testing.T) string {
	t.Helper()
	goCommand, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	module, _, _ := strings.Cut(strings.TrimPrefix(string(mod), "module "), "\n")
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	dir, overlay := t.TempDir(), map[string]string{}
	place := func(name, source string) {
		file := filepath.Join(dir, strings.ReplaceAll(name, "/", "-"))
		if err := os.WriteFile(file, []byte(source), 0o666); err != nil {
			t.Fatal(err)
		}
		overlay[filepath.Join(here, "all", filepath.FromSlash(name))] = file
	}
	var imports, cases strings.Builder
	for name, source := range sources(t) {
		source = strings.Replace(source, "\npackage main\n", "\npackage "+name+"\n", 1)
		place(name+"/main.go", strings.Replace(source, "\nfunc main()", "\nfunc Main()", 1))
		fmt.Fprintf(&imports, "import %q\n", module+"/examples/all/"+name)
		fmt.Fprintf(&cases, "%q: %s.Main,\n", name, name)
	}
	place("main.go", "package main\nimport \"os\"\n"+imports.String()+`
func main() {
	os.Args = os.Args[1:]
	map[string]func(){`+cases.String()+`}[os.Args[0]]()
}`)
	list, err := json.Marshal(map[string]any{"Replace": overlay})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay"), list, 0o666); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "all.exe")
	out, err := exec.Command(goCommand, "build", "-overlay", filepath.Join(dir, "overlay"), "-o",
		program, "./all").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

func TestThePrograms(t *testing.T) {
	cases.NotShort(t)
	program := build(t)
	command := func(args ...string) *exec.Cmd {
		c := exec.CommandContext(t.Context(), program, args...)
		c.Dir = ".."
		return c
	}
	saved := filepath.Join(t.TempDir(), "chat.session")
	chat := []string{"chat", "-seed", "3", "-save", saved}
	const answer = `"Look, Lily, I'm a cute ball. It is a cat!" she cried. ` +
		`"What are you doing?"` + "\n"
	tested := map[string]bool{"service": true}
	for _, c := range []struct {
		args        []string
		stdin, want string
	}{
		{[]string{"classify"}, "", " happy (0.97): Lily got a new toy.\n" +
			" sad (0.78): Lily lost her toy.\n" +
			" happy (0.99): Mom gave Lily a big hug.\n"},
		{[]string{"rerank"}, "", "-1.46 A boy gave the dog a bone.\n" +
			"-2.82 The bird flew up to its nest in the tree.\n" +
			"-3.81 Lily went to the beach and saw the sea.\n"},
		{[]string{"search"}, "", "1.000 The puppy ran after the ball.\n" +
			"0.360 Mom baked a cake for the party.\n" +
			"0.305 It was a dark and rainy day.\n" +
			"0.599 The dog likes to run and play with his toy.\n"},
		{[]string{"extract"}, "", "{Name:Lily Feels:sad}\n"},
		{[]string{"regression"}, "", "19.0893\n"},
		{chat, "Lily had a red ball.\n", "(kept in chat.session)\n" + answer},
		{chat, "Then her mom came.\n", "Lily had a red ball.\n" + answer + "(kept in chat.session)\n" +
			`"It is so nice, Lily. Do you want to play with me?" she asked.` + "\n"},
	} {
		tested[c.args[0]] = true
		run := command(c.args...)
		run.Stdin = strings.NewReader(c.stdin)
		out, err := run.CombinedOutput()
		got := strings.ReplaceAll(string(out), saved, "chat.session")
		if err != nil || got != c.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", c.args[0], err, got, c.want)
		}
	}
	for want, args := range map[string][]string{
		"no-such: no such file or directory":           {"classify", "-m", "no-such"},
		`"hm": want a name, found no word with a capi`: {"extract", "hm"},
	} {
		out, err := command(args...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) || strings.Count(string(out), "\n") != 1 {
			t.Errorf("%q: %v\n%s\nwant a line with %s", args, err, out, want)
		}
	}
	for name := range sources(t) {
		if !tested[name] {
			t.Errorf("%s is not run", name)
		}
	}
	t.Run("service", func(t *testing.T) { testService(t, command("service", "-addr", "127.0.0.1:0")) })
}

// testService reads a text as it comes, leaves another before its end, and interrupts the service.
func testService(t *testing.T, c *exec.Cmd) {
	var said bytes.Buffer
	c.Stderr = &said
	stdout, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer c.Wait()
	defer c.Process.Kill()
	url, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	ask := func(ctx context.Context) io.ReadCloser {
		r, err := http.NewRequestWithContext(ctx, "GET",
			strings.TrimSpace(url)+"/?prompt=Once+upon+a+time", nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if answer.StatusCode != http.StatusOK || len(answer.TransferEncoding) == 0 {
			t.Errorf("status %s, coding %q", answer.Status, answer.TransferEncoding)
		}
		return answer.Body
	}
	ctx, cancel := context.WithCancel(t.Context())
	left := ask(ctx)
	if _, err := io.ReadFull(left, make([]byte, 1)); err != nil {
		t.Error(err)
	}
	cancel()
	if answer, err := http.Post(strings.TrimSpace(url), "text/plain", nil); err != nil ||
		answer.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST: %v, %v, want 405", answer, err)
	}
	text, err := io.ReadAll(ask(t.Context()))
	if err != nil || len(text) < 2 {
		t.Errorf("%q, %v", text, err)
	}
	if runtime.GOOS == "windows" {
		return // which has no such signal
	}
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		t.Errorf("%v\n%s", err, said.String())
	}
}

// Each says in its first lines how to run it, is short, and imports what others can import.
func TestTheProgramsAreExamples(t *testing.T) {
	for name, source := range sources(t) {
		if n := strings.Count(source, "\n"); n >= 60 {
			t.Errorf("%s: %d lines, want less than 60", name, n)
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if doc := file.Doc.Text(); !strings.HasPrefix(doc, "Command "+name+" ") ||
			!strings.Contains(doc, "\n\tgo run ./examples/"+name+"\n") {
			t.Errorf("%s begins with\n%s", name, doc)
		}
		if slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool {
			return strings.Contains(i.Path.Value, "internal")
		}) {
			t.Errorf("%s imports an internal package", name)
		}
	}
}

// No loop of a program or of an example is over tokens, scores or answers without their errors.
func TestNoLoopForgetsItsError(t *testing.T) {
	loops := []string{"Generate", "Samples", "Continue", "Run", "Scores", "Answers", "Score",
		"MeasureEach", "Contrastive"}
	fset, seen := token.NewFileSet(), 0
	for _, pattern := range []string{"*/*.go", "../recipes_test.go", "../example_test.go",
		"../*/example*_test.go", "../*/*/example*_test.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			file, err := parser.ParseFile(fset, name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				r, ok := n.(*ast.RangeStmt)
				if !ok {
					return true
				}
				if call, ok := r.X.(*ast.CallExpr); ok {
					f, ok := call.Fun.(*ast.SelectorExpr)
					if ok && slices.Contains(loops, f.Sel.Name) {
						if seen++; r.Value == nil {
							t.Errorf("%s: this loop forgets its error", fset.Position(r.Pos()))
						}
					}
				}
				return true
			})
		}
	}
	if seen < 12 {
		t.Errorf("%d loops, want more", seen)
	}
}
