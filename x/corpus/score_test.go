package main

// What corpus score writes is what gpt score writes, however the texts are divided.

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"picogpt/eval"
)

// A judgement is what gpt score says of all documents, in one file.
type judgement struct {
	records []string // without their lines
	summary eval.Summary
}

// judge scores a file of documents with gpt.
func judge(t *testing.T, file, model string, flags ...string) (j judgement) {
	t.Helper()
	args := append([]string{"score", "-m", model, file}, flags...)
	for record := range strings.SplitSeq(strings.TrimSpace(gpt(t, args...)), "\n") {
		j.records = append(j.records, withoutPlace(record))
	}
	summary := gpt(t, append(args, "--summary")...)
	if err := json.Unmarshal([]byte(summary), &j.summary); err != nil {
		t.Fatal(err)
	}
	return j
}

var place = regexp.MustCompile(`^\{("source":"[^"]*",)?"line":[0-9]+,`)

// withoutPlace is a record without its source and line.
func withoutPlace(record string) string { return place.ReplaceAllString(record, "{") }

// check compares the folder of a run with the judgement.
func (j *judgement) check(t *testing.T, folder string) {
	t.Helper()
	m := readManifest(t, folder)
	if m.Digest != j.summary.Digest || m.Records != j.summary.Lines-j.summary.Errors ||
		m.Errors != j.summary.Errors || m.Tokens != j.summary.Tokens || m.Sum != j.summary.Sum {
		t.Errorf("%+v, want %+v", m, j.summary)
	}
	if p := j.summary.Perplexity(); m.Perplexity == nil || *m.Perplexity != p {
		t.Errorf("perplexity %v, want %v", m.Perplexity, p)
	}
	lines := readLines(t, filepath.Join(folder, "scores-*.jsonl"))
	if len(lines) != len(j.records) {
		t.Fatalf("%d records, want %d", len(lines), len(j.records))
	}
	seen := map[string]int{} // records of a source
	for i, line := range lines {
		if withoutPlace(line) != j.records[i] {
			t.Fatalf("record %d is %s, want %s", i+1, line, j.records[i])
		}
		source := place.FindStringSubmatch(line)[1]
		seen[source]++
		if want := fmt.Sprintf(`{%s"line":%d,`, source, seen[source]); source == "" ||
			place.FindString(line) != want {
			t.Fatalf("record %d begins %.100s, want %s", i+1, line, want)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(folder, ".*")); len(left) > 0 {
		t.Errorf("%q is left", left)
	}
}

func TestScoresDoNotDependOnHowTextsAreDivided(t *testing.T) {
	all, model, dir := makeDocuments(80), byteModel(t), t.TempDir()
	judged := map[string]judgement{}
	for _, f := range forms {
		if f.flag == "lines" || f.name == "jsonl" {
			var b strings.Builder
			f.write(&b, all)
			judged[f.flag] = judge(t, write(t, filepath.Join(dir, "all."+f.name), b.String()), model)
		}
	}
	for i, c := range []struct {
		shards, workers, threads int
		pieceBytes               string
	}{
		{1, 1, 1, "1MiB"}, {1, 7, 2, "1KiB"}, {7, 2, 0, "20KiB"}, {100, 1, 3, "1B"},
	} {
		for _, f := range forms {
			t.Run(fmt.Sprintf("%d %s in pieces of %s", c.shards, f.name, c.pieceBytes),
				func(t *testing.T) {
					t.Parallel()
					out := filepath.Join(t.TempDir(), "out")
					cmd := exec.Command("corpus", "score", "--input", f.shards(t, all, c.shards),
						"--form", f.flag, "-m", model, "-o", out, "--piece-bytes", c.pieceBytes,
						"--workers", fmt.Sprint(c.workers), "--threads", fmt.Sprint(c.threads))
					if i == 1 {
						cmd.Env = append(os.Environ(), "GPT_KERNEL=go")
					}
					if e := execute(t, cmd); e.status != 0 || e.stdout != "" {
						t.Fatalf("%+v", e)
					}
					j := judged[f.flag]
					j.check(t, out)
				})
		}
	}
}
