package main

// The programs of the tests, and what users see of them: testdata/script, one file a subject.

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"picogpt/dev/fixture"
	"picogpt/x/corpus/internal/finish"
	"picogpt/x/corpus/internal/testprogram"
)

// TestMain makes this binary the program that is tested, wherever it is called corpus.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"corpus": main, "corpus-on-a-full-disk": onAFullDisk,
		"corpus-prism": testprogram.ServePrism})
}

// A model is small and random, and knows bytes. Its context is 64 tokens, so that texts have
// windows.
func byteModel(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "model")
	if err := fixture.Write(dir, fixture.Options{Vocab: 257, Positions: 64}); err != nil {
		t.Fatal(err)
	}
	if err := fixture.ByteTokenizer(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// An ending is what a program leaves.
type ending struct {
	stdout, stderr string
	status         int
}

// run runs a program to its end.
func execute(t *testing.T, cmd *exec.Cmd) ending {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return ending{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// succeed runs corpus, which must end with status 0, and returns what it prints.
func succeed(t *testing.T, args ...string) string {
	t.Helper()
	e := execute(t, exec.Command("corpus", args...))
	if e.status != 0 {
		t.Fatalf("corpus %q: status %d, %s", args, e.status, e.stderr)
	}
	return e.stdout
}

// builtGPT is command gpt of this tree, beside the programs of the tests.
var builtGPT = sync.OnceValues(func() (string, error) {
	here, err := exec.LookPath("corpus")
	if err != nil {
		return "", err
	}
	name := filepath.Join(filepath.Dir(here), "gpt")
	cmd := exec.Command("go", "build", "-o", name, "./cmd/gpt")
	cmd.Dir = "../.."
	cmd.Stderr = os.Stderr
	return name, cmd.Run()
})

// gpt runs command gpt, the judge of what corpus says, and returns what it prints.
func gpt(t *testing.T, args ...string) string {
	t.Helper()
	name, err := builtGPT()
	if err != nil {
		t.Fatal(err)
	}
	e := execute(t, exec.Command(name, args...))
	if e.status > 1 {
		t.Fatalf("gpt %q: status %d, %s", args, e.status, e.stderr)
	}
	return e.stdout
}

// readManifest reads what a run came to.
func readManifest(t *testing.T, folder string) (m finish.Manifest) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(folder, "manifest.json"))
	if err == nil {
		err = json.Unmarshal(b, &m)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// readLines are the lines of the files that a pattern names, in the order of their names.
func readLines(t *testing.T, pattern string) (lines []string) {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: no files, %v", pattern, err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	return lines
}
