package main

// Mistakes in the command line, and folders that are in the way: one line each, and nothing done.

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// refused runs a command that must end with a status and one line that has certain words.
func refused(t *testing.T, status int, words string, args ...string) {
	t.Helper()
	e := execute(t, exec.Command("corpus", args...))
	if e.status != status || e.stdout != "" || !strings.HasPrefix(e.stderr, "corpus: ") ||
		strings.Count(e.stderr, "\n") != 1 || !strings.Contains(e.stderr, words) {
		t.Errorf("corpus %q: %+v, want status %d and a line with %s", args, e, status, words)
	}
}

func TestMistakes(t *testing.T) {
	dir := t.TempDir()
	input := write(t, filepath.Join(dir, "in.jsonl"), `{"text":"a"}`)
	folder := filepath.Join(dir, "folder")
	if err := os.Mkdir(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		status    int
		flags     string
		words     string
		elsewhere bool // it has its own --input and --output
	}{
		{2, "scoer", "did you mean corpus score?", true},
		{2, "score", "want --input PATTERN", true},
		{2, "score --input x", "want --output FOLDER", true},
		{2, "score --input x --output s.csv", "s.csv: what is written is a directory", true},
		{2, "score --inptu x", "did you mean --input?", true},
		{2, "score x", "unexpected argument x; wildcards of --input want quotes", true},
		{1, "score -o out --input nothing/*", "nothing/*: no such file matches", true},
		{1, "score -o out --input " + folder, "a directory, want files", true},
		{1, "score -o out --input ftp://host/x", "ftp:// are known", true},
		{2, "score --input DIR/*.jsonl -o DIR", "scores-00000-of-00001.jsonl", true},
		{2, "score --input DIR/* -o DIR/new", "would read results too", true},
		{2, "score --input DIR/*/* -o DIR/new", "want another --output", true},
		{2, "filter --keep 0..1 --input DIR/in.jsonl --input DIR/k* -o DIR", "kept-00000", true},
		{2, "--form csv", "--form: want auto, jsonl, lines, text or parquet", false},
		{2, "--dtype q9", "q8 or q4", false},
		{2, "--workers -1", "--workers", false},
		{2, "--max-errors=-1", "want 0 or more", false},
		{2, "--threads 100000", "--threads 100000: want 0 to", false},
		{2, "--device h200", "--device: device \"h200\": ", false},
		{2, "--piece-bytes 3q", "such as 64MiB", false},
		{2, "--resume --force", "want one of them", false},
		{2, "--fields nothing", `"nothing" is no field`, false},
		{2, "--fields top", "--top K", false},
		{2, "--top=-1", "want 0 or more", false},
		{2, "--share 3/2", "such as 2/7", false},
		{1, "-m nowhere/model", "nowhere/model", false},
		{1, "-m " + folder, "no checkpoint in this directory", false},
		{2, "--runner nonsense", `"nonsense": want prism`, false},
		{2, "--runner flink", "want --endpoint HOST:PORT", false},
		{2, "--endpoint host --environment_type LOOPBACK", `"host": want HOST:PORT`, false},
		{2, "--endpoint host:1", "want LOOPBACK, PROCESS, EXTERNAL or DOCKER", false},
		{2, "--endpoint host:1 --environment_type EXTERNAL", "--environment_config", false},
		{2, "--parallelism x", "-parallelism", false},
	} {
		args := strings.Fields(strings.ReplaceAll(c.flags, "DIR", dir))
		if !c.elsewhere {
			args = append([]string{"score", "--input", input, "-o", filepath.Join(dir, "out")}, args...)
		}
		refused(t, c.status, c.words, args...)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 2 {
		t.Errorf("%q, want no more than there was", left)
	}
}

// TestARunThatNeverBegan leaves nothing that asks for --resume.
func TestARunThatNeverBegan(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	input := forms[0].shards(t, makeDocuments(3), 1)
	args := []string{"score", "--input", input, "-m", byteModel(t), "-o", out}
	e := execute(t, exec.Command("corpus", append(args, "--endpoint", "localhost:1",
		"--environment_type", "LOOPBACK")...))
	if e.status != 1 || strings.Count(e.stderr, "\n") != 1 || !strings.Contains(e.stderr, "no job server") {
		t.Errorf("status %d, %q; want 1 and a line about the job server", e.status, e.stderr)
	}
	succeed(t, args...)
}

// TestOneDocumentOnly: protocols that know one document say so before all are measured.
func TestOneDocumentOnly(t *testing.T) {
	input := forms[0].shards(t, makeDocuments(3), 1)
	refused(t, 1, "a second document, want 1 for llama.cpp", "perplexity", "--input", input, "-m",
		byteModel(t), "--protocol", "llama.cpp", "--window", "8")
	refused(t, 2, "want --endpoint HOST:PORT of a job server", "perplexity", "--input", input,
		"--environment_type", "EXTERNAL", "--environment_config", "localhost:1")
}

func TestHelpFitsATerminal(t *testing.T) {
	for _, args := range [][]string{nil, {"--help"}, {"score", "--help"}, {"filter", "--help"},
		{"perplexity", "--help"}, {"generate", "--help"}, {"pool", "--help"}} {
		e := execute(t, exec.Command("corpus", args...))
		if e.status != 0 || e.stderr != "" || !strings.Contains(e.stdout, "Usage: corpus ") {
			t.Errorf("%q: %+v", args, e)
		}
		for line := range strings.Lines(e.stdout) {
			if len([]rune(line)) > 81 {
				t.Errorf("%q: more than 80 columns: %s", args, line)
			}
		}
	}
}

func TestTheFolderOfTheResults(t *testing.T) {
	model, dir := byteModel(t), t.TempDir()
	input, out := write(t, filepath.Join(dir, "in.jsonl"), `{"text":"one two"}`), filepath.Join(dir, "out")
	args := []string{"score", "--input", input, "-m", model, "-o", out}
	if err := os.Mkdir(out, 0o777); err != nil {
		t.Fatal(err)
	}
	foreign := write(t, filepath.Join(out, "scores.txt"), "mine")
	succeed(t, args...)
	ended := tree(t, out)
	refused(t, 1, "a run has ended there; --force writes over it", args...)
	refused(t, 1, "--force", append(args, "--resume")...)
	if !maps.Equal(tree(t, out), ended) {
		t.Error("a run that was refused has changed the folder")
	}
	succeed(t, append(args, "--force", "--bos")...)
	if b := tree(t, out)["manifest.json"]; b == "" || b == ended["manifest.json"] {
		t.Errorf("--force leaves %s", b)
	}
	if b, err := os.ReadFile(foreign); err != nil || string(b) != "mine" {
		t.Errorf("a file of somebody else: %q, %v", b, err)
	}
	// an interrupted run
	for name := range tree(t, out) {
		if name != "scores.txt" {
			os.Remove(filepath.Join(out, name))
		}
	}
	gone := write(t, filepath.Join(dir, "gone.jsonl"), `{"text":"x"}`)
	if err := os.Mkdir(filepath.Join(out, ".work"), 0o777); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(out, ".work", "started.json"), "{}")
	refused(t, 1, "--resume continues it", args...)
	refused(t, 1, "had other options", append(args, "--resume")...)
	refused(t, 1, "no such file", "score", "--input", gone+"x", "-o", out, "--force")
	succeed(t, append(args, "--force")...)
}

func TestTheDemoHasAName(t *testing.T) {
	t.Chdir(t.TempDir())
	f := &runFlags{Model: "demo"}
	if path, err := f.modelPath(); path != "" || err != nil {
		t.Errorf("%q, %v, want that of no checkpoint, which is the demo", path, err)
	}
	if err := os.Mkdir("demo", 0o777); err != nil {
		t.Fatal(err)
	}
	if path, err := f.modelPath(); filepath.Base(path) != "demo" || err != nil {
		t.Errorf("%q, %v, want the folder", path, err)
	}
}
