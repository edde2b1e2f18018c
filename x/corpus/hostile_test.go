package main

// Input that is broken in every way: nothing is lost, what cannot be scored is in errors/ with its
// place and the reason, and the rest has its records.

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"picogpt/dev/fixture"
)

// An aside is a record that was set aside.
type aside struct {
	Source, Error string
	Line          int
	ID            json.RawMessage
}

// asides reads errors/ of a run, each as SOURCE:LINE.
func asides(t *testing.T, out string) map[string]aside {
	t.Helper()
	all := map[string]aside{}
	for _, line := range readLines(t, filepath.Join(out, "errors", "*.jsonl")) {
		var a aside
		if err := json.Unmarshal([]byte(line), &a); err != nil || a.Error == "" {
			t.Fatalf("%s: %v", line, err)
		}
		place := fmt.Sprintf("%s:%d", filepath.Base(a.Source), a.Line)
		if _, twice := all[place]; twice {
			t.Errorf("%s is there twice", place)
		}
		all[place] = a
	}
	return all
}

func TestBrokenRows(t *testing.T) {
	model, dir := byteModel(t), t.TempDir()
	good := func(n int) string { return fmt.Sprintf(`{"id":%d,"text":"good %d"}`+"\n", n, n) }
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	for i := range 4000 {
		fmt.Fprintf(z, `{"text":"text %d"}`+"\n", i*i%977)
	}
	z.Close()
	for name, data := range map[string]string{
		"a.jsonl": good(1) + "{\"text\":\"\xff\"}\n" + `{"id":3}` + "\n" + `{"text":4}` + "\n" +
			"\n" + `[6]` + "\n" + `{"id":{"a":[7]},"text":"seven"}` + "\n" + good(1) +
			`{"tokens":[300]}` + "\n" + `{"id":10,"text":"x","text":"y"}` + "\n" + `{"text":"cut`,
		"b.jsonl":    "",
		"c.jsonl":    "\n\n\n",
		"d.jsonl":    good(1) + `{"text":"` + strings.Repeat("long ", 20<<20) + `"}` + "\n" + good(3),
		"e.jsonl":    "\xef\xbb\xbf" + good(1) + "\r\n" + strings.TrimSpace(good(3)) + "\r\n",
		"f.jsonl.gz": zipped.String()[:zipped.Len()/2],
		"g.jsonl.gz": "this is no gzip",
	} {
		write(t, filepath.Join(dir, name), data)
	}
	out := filepath.Join(t.TempDir(), "out")
	args := []string{"score", "--input", filepath.Join(dir, "*"), "-m", model, "-o", out,
		"--piece-bytes", "3KiB", "--threads", "2"}
	e := execute(t, exec.Command("corpus", args...))
	if e.status != 1 || strings.Count(e.stderr, "\n") != 2 || !strings.Contains(e.stderr, "set aside") {
		t.Errorf("%+v, want status 1, a summary and a line", e)
	}
	all := asides(t, out)
	for place, reason := range map[string]string{
		"a.jsonl:2":    "UTF-8",
		"a.jsonl:3":    "want text, or context and continuation, or tokens",
		"a.jsonl:4":    "text: want a string",
		"a.jsonl:6":    "want an object, found an array",
		"a.jsonl:9":    "id 300, want 0 to 256",
		"a.jsonl:10":   "text",
		"a.jsonl:11":   "not valid JSON",
		"d.jsonl:2":    "more than",
		"g.jsonl.gz:1": "",
	} {
		if !strings.Contains(all[place].Error, reason) || all[place].Source == "" {
			t.Errorf("%s: %+v, want %s", place, all[place], reason)
		}
		delete(all, place)
	}
	broken := 0 // the line of f that cannot be read
	for place, a := range all {
		if !strings.HasPrefix(place, "f.jsonl.gz:") || len(all) != 1 {
			t.Errorf("%s: %+v", place, a)
		}
		broken = a.Line
	}
	if id := string(asides(t, out)["a.jsonl:3"].ID); id != "3" {
		t.Errorf("the id of a record without a text is %q", id)
	}
	m := readManifest(t, out)
	// a has 3 good ones, d and e 2 each, and f those before what cannot be read
	if want := 3 + 2 + 2 + broken - 1; m.Records != want || m.Errors != 10 || broken < 100 {
		t.Errorf("%d records and %d errors, want %d and 10", m.Records, m.Errors, want)
	}
	if n := len(readLines(t, filepath.Join(out, "scores-*"))); n != m.Records {
		t.Errorf("%d lines, want %d", n, m.Records)
	}
	if m.Duplicates != 4 { // of 1, which is there 4 times, and of 3, which is there twice
		t.Errorf("%d duplicates, want 4", m.Duplicates)
	}
	counted := 0
	for _, reason := range m.Reasons {
		counted += reason.Count
	}
	if counted != m.Errors {
		t.Errorf("reasons %+v are of %d, want %d", m.Reasons, counted, m.Errors)
	}
	succeed(t, append(args, "--force", "--max-errors", "10", "-q")...)
	if e := execute(t, exec.Command("corpus", append(args, "--force", "--max-errors=9", "-q")...)); e.status != 1 {
		t.Errorf("--max-errors 9: %+v", e)
	}
}

// TestLinesAreBytes: where lines are asked for, they need not be UTF-8, and gpt agrees.
func TestLinesAreBytes(t *testing.T) {
	model, dir := byteModel(t), t.TempDir()
	file := write(t, filepath.Join(dir, "in.txt"), "\xff\xfe bytes\n\nlast \x00 one without an end\xc3")
	out := filepath.Join(dir, "out")
	succeed(t, "score", "--form", "lines", "--input", file, "-m", model, "-o", out, "-q")
	j := judge(t, file, model, "--input", "lines")
	j.check(t, out)
}

func TestNothingToScore(t *testing.T) {
	model, dir := byteModel(t), t.TempDir()
	empty := write(t, filepath.Join(dir, "in.jsonl"), "")
	out := filepath.Join(dir, "out")
	succeed(t, "score", "--input", empty, "-m", model, "-o", out)
	m := readManifest(t, out)
	if m.Records != 0 || m.Errors != 0 || m.Perplexity != nil || m.Digest.String() != strings.Repeat("0", 64) {
		t.Errorf("%+v", m)
	}
	for _, filter := range [][]string{{"--keep", "0..1"}, {"--below", "5"}} {
		kept := filepath.Join(t.TempDir(), "kept")
		succeed(t, append([]string{"filter"}, append(filter, "--input", empty, "-m", model, "-o", kept)...)...)
		if m := readManifest(t, kept); m.Records != 0 || m.Kept != 0 {
			t.Errorf("%q: %+v", filter, m)
		}
	}
	refused(t, 1, "there is nothing to measure", "perplexity", "-q", "--input", empty, "-m", model)
}

func TestACheckpointWithoutATokenizer(t *testing.T) {
	dir := t.TempDir()
	model, out := filepath.Join(dir, "model"), filepath.Join(dir, "out")
	if err := fixture.Write(model, fixture.Options{}); err != nil {
		t.Fatal(err)
	}
	file := write(t, filepath.Join(dir, "in.jsonl"), `{"tokens":[1,2,28]}`+"\n"+`{"text":"a"}`+"\n"+
		`{"tokens":[29]}`+"\n"+`{"tokens":[]}`+"\n")
	e := execute(t, exec.Command("corpus", "score", "--input", file, "-m", model, "-o", out, "-q"))
	all := asides(t, out)
	if e.status != 1 || len(all) != 2 || !strings.Contains(all["in.jsonl:2"].Error, "tokenizer") ||
		!strings.Contains(all["in.jsonl:3"].Error, "id 29, want 0 to 28") {
		t.Errorf("%+v, %+v", e, all)
	}
	var want []string
	for line := range strings.Lines(gpt(t, "score", "-m", model, file)) {
		if !strings.Contains(line, `"error":`) {
			want = append(want, withoutPlace(strings.TrimSpace(line)))
		}
	}
	for i, line := range readLines(t, filepath.Join(out, "scores-*")) {
		if i >= len(want) || withoutPlace(line) != want[i] {
			t.Errorf("record %d is %s, want %q", i+1, line, want)
		}
	}
}

// TestAFileThatCannotBeRead ends a run before it begins. Root reads everything, so that the file is
// a link to itself.
func TestAFileThatCannotBeRead(t *testing.T) {
	model, dir := byteModel(t), t.TempDir()
	write(t, filepath.Join(dir, "a.jsonl"), `{"text":"a"}`)
	if err := os.Symlink("b.jsonl", filepath.Join(dir, "b.jsonl")); err != nil {
		t.Fatal(err)
	}
	refused(t, 1, "b.jsonl: too many", "score", "--input", filepath.Join(dir, "*"), "-m", model, "-o",
		filepath.Join(t.TempDir(), "out"))
}

// TestTheManifestTellsOfTheModel: a checkpoint without files of a tokenizer that takes GPT-2's own,
// and a format that makes zeros of weights.
func TestTheManifestTellsOfTheModel(t *testing.T) {
	dir := t.TempDir()
	model, out := filepath.Join(dir, "model"), filepath.Join(dir, "out")
	o := fixture.Options{Vocab: 50257, Embd: 4, Head: 1, Layer: 1, Scale: 1e-6}
	if err := fixture.Write(model, o); err != nil {
		t.Fatal(err)
	}
	file := write(t, filepath.Join(dir, "in.txt"), "The cat sat.\n")
	said := corpus(t, "score", "--input", file, "-m", model, "--dtype", "f16", "-o", out, "-q")
	m := readManifest(t, out)
	note := "f16 makes zeros of weights that are not zero: "
	if m.Model.Tokenizer != "gpt2" || !strings.HasPrefix(m.Model.Note, note) ||
		said != "corpus: "+m.Model.Note+"\n" {
		t.Errorf("%+v, %q", m.Model, said)
	}
}
