package main

// corpus filter, in this process, from command lines to files.

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"picogpt/internal/fault"
	"slices"
	"strings"
	"testing"
)

// documents are objects as lines, without an end: ties, ids that are there twice or not at all,
// texts without a scored token, members that must not change, and two that cannot be scored.
func documents() (lines []string) {
	for i := range 48 {
		text := []string{"once upon a time", "the cat sat on the mat", "a", "", "x y z",
			"Once there was a dog. It was happy.", "<script>alert(1)</script>", "the the the"}[i%8]
		id := []string{fmt.Sprintf(`"id":%d,`, 900-i), fmt.Sprintf(`"id":"<b>%d</b>",`, i%9), ""}[i%3]
		lines = append(lines, fmt.Sprintf(`{%s"text":%q,"n":1.50e%d,"perplexity":"old","u":"\u00e9<%d"}`,
			id, text, i%4, i))
	}
	return append(lines, `{"id":"<img src=x onerror=alert(1)>","text":5}`, "{bad")
}

// writeShards writes lines to files, so many each in turn.
func writeShards(t *testing.T, lines []string, shards int) string {
	t.Helper()
	dir := t.TempDir()
	for s := range shards {
		var b strings.Builder
		for i := s; i < len(lines); i += shards {
			b.WriteString(lines[i] + "\n")
		}
		name := filepath.Join(dir, fmt.Sprintf("%02d.jsonl", s))
		if err := os.WriteFile(name, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "*.jsonl")
}

// corpus runs a command line, and returns what it says.
func corpus(t *testing.T, args ...string) string {
	t.Helper()
	var said bytes.Buffer
	if err := run(t.Context(), args, &said, &said); err != nil {
		t.Fatalf("%q: %v\n%s", args, err, &said)
	}
	return said.String()
}

// A rankedLine is a document as the test ranks it.
type rankedLine struct {
	line       string // of the input, without its member perplexity
	mean       float64
	perplexity float64
	kind       int // of the id: a number, a string, none
	number     float64
	text       string
	place      int
}

// expected ranks the documents by what corpus score writes of them.
func expected(t *testing.T, lines []string) (all []rankedLine) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "scores")
	corpus(t, "score", "-q", "--input", writeShards(t, lines, 1), "-o", out, "--max-errors", "2")
	for _, line := range readLines(t, filepath.Join(out, "scores-*")) {
		var r struct {
			Line     int        `json:"line"`
			ID       any        `json:"id"`
			Sum      float64    `json:"sum_logprob"`
			LogProbs []*float64 `json:"logprobs"`
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, x := range r.LogProbs {
			if x != nil {
				n++
			}
		}
		if n == 0 {
			continue
		}
		d := rankedLine{mean: -r.Sum / float64(n), place: r.Line, kind: 2}
		d.line = strings.Replace(lines[r.Line-1], `,"perplexity":"old"`, "", 1)
		d.perplexity = math.Exp(d.mean)
		switch id := r.ID.(type) {
		case float64:
			d.kind, d.number = 0, id
		case string:
			d.kind, d.text = 1, id
		}
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b rankedLine) int {
		return cmp.Or(cmp.Compare(a.mean, b.mean), cmp.Compare(a.kind, b.kind),
			cmp.Compare(a.number, b.number), cmp.Compare(a.text, b.text), cmp.Compare(a.place, b.place))
	})
	return all
}

// TestFilter: for 1, 3 and 7 workers and shards, what is kept is what an oracle keeps that has all
// documents in memory, and the parts of a partition have each document once.
func TestFilter(t *testing.T) {
	lines := documents()
	all := expected(t, lines)
	n := len(all)
	var digest string
	for _, c := range []struct {
		workers, shards int
		keep            string
		from, to        int // ceilings of the shares of n
	}{
		{1, 1, "0..0.25", 0, (n + 3) / 4},
		{3, 7, "25%..2/3", (n + 3) / 4, (2*n + 2) / 3},
		{7, 3, "2/3..1.0", (2*n + 2) / 3, n},
	} {
		out := filepath.Join(t.TempDir(), "out")
		said := corpus(t, "filter", "-q", "--input", writeShards(t, lines, c.shards), "-o", out,
			"--keep", c.keep, "--max-errors", "2", "--workers", fmt.Sprint(c.workers),
			"--piece-bytes", "1000")
		if want := fmt.Sprintf("corpus: in %d of those kept a member perplexity gave way to the new "+
			"one, --score-field NAME keeps it\n", c.to-c.from); said != want {
			t.Errorf("%+v: %q, want %q", c, said, want)
		}
		var want []string
		for _, d := range all[c.from:c.to] {
			want = append(want, fmt.Sprintf("%s %.9g", d.line, d.perplexity))
		}
		var got []string
		for _, line := range readLines(t, filepath.Join(out, "kept-*")) {
			before, value, _ := strings.Cut(strings.TrimSuffix(line, "}"), `,"perplexity":`)
			var p float64
			if err := json.Unmarshal([]byte(value), &p); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			got = append(got, fmt.Sprintf("%s} %.9g", before, p))
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%+v: %d are kept:\n%s\nwant %d:\n%s", c, len(got), strings.Join(got, "\n"),
				len(want), strings.Join(want, "\n"))
		}
		m := readManifest(t, out)
		digest = cmp.Or(digest, m.Digest.String())
		if m.Kept != len(want) || m.Replaced != len(want) || m.Kept+m.Dropped != n || m.Errors != 2 || m.Digest.String() != digest ||
			m.Kept+m.Dropped+m.Unranked+m.Errors != len(lines) || m.Records != len(lines)-2 {
			t.Errorf("%+v: %+v %+v", c, m, m.Filtered)
		}
		if names, _ := filepath.Glob(filepath.Join(out, ".*")); len(names) > 0 {
			t.Errorf("%s are left", names)
		}
		page, err := os.ReadFile(filepath.Join(out, "report.html"))
		if err != nil || !bytes.Contains(page, []byte("quantile")) ||
			bytes.Contains(page, []byte("<script")) || bytes.Contains(page, []byte("<img")) {
			t.Errorf("%+v: the page lacks its cuts or has what others wrote: %v", c, err)
		}
	}
}

// TestFilterTexts: a line of text becomes an object. --score-field names the member; --above and
// --below part the documents at a perplexity.
func TestFilterTexts(t *testing.T) {
	input := filepath.Join(t.TempDir(), "a.txt")
	err := os.WriteFile(input, []byte("once upon a time\n\nx y \"z\"\nonce upon a time\n"), 0o666)
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "all")
	corpus(t, "filter", "-q", "--input", input, "-o", out, "--above", "1e-9", "--score-field", "line")
	all := readLines(t, filepath.Join(out, "kept-*"))
	var first struct {
		Line float64 // its member gave way
		Text string
	}
	if len(all) != 3 || json.Unmarshal([]byte(all[0]), &first) != nil || first.Line < 2 ||
		!strings.HasPrefix(all[0], fmt.Sprintf(`{"source":%q,"text":"once upon a time","line":`, input)) {
		t.Fatalf("%s", strings.Join(all, "\n"))
	}
	perplexity := func(line string) (x float64) {
		value := line[strings.LastIndex(line, ":")+1 : len(line)-1]
		if err := json.Unmarshal([]byte(value), &x); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		return x
	}
	x := perplexity(all[0]) // that of two documents
	for flag, keeps := range map[string]func(float64) bool{
		"--above": func(p float64) bool { return p >= x },
		"--below": func(p float64) bool { return p < x },
	} {
		var got, want []float64
		for _, line := range all {
			if p := perplexity(line); keeps(p) {
				want = append(want, p)
			}
		}
		out := filepath.Join(t.TempDir(), "part")
		corpus(t, "filter", "-q", "--input", input, "-o", out, flag, fmt.Sprint(x))
		m := readManifest(t, out)
		for _, line := range readLines(t, filepath.Join(out, "kept-*")) {
			got = append(got, perplexity(line))
		}
		if !slices.Equal(got, want) || m.Unranked != 1 || m.Kept+m.Dropped != 3 ||
			len(m.Cuts) != 1 || *m.Cuts[0].Perplexity != x {
			t.Errorf("%s %v keeps %v, want %v; %+v", flag, x, got, want, m.Filtered)
		}
	}
}

// TestFilterIsResumed where all is written but the report, in whose place is a folder: neither phase
// is worked on again, and the end is that of a run without a break.
func TestFilterIsResumed(t *testing.T) {
	const variable = "TEST_FILTER_FOLDER"
	args := func(dir string) []string {
		return []string{"filter", "-q", "--input", filepath.Join(dir, "*.jsonl"), "-o",
			filepath.Join(dir, "out"), "--keep", "0.2..0.6", "--max-errors", "2", "--piece-bytes", "800"}
	}
	if dir := os.Getenv(variable); dir != "" { // a process that fails does no more work
		var said bytes.Buffer
		if err := run(t.Context(), append(args(dir), "--resume"), &said, &said); err == nil {
			t.Error("a folder in the report's place: no error")
		}
		return
	}
	dir := filepath.Dir(writeShards(t, documents(), 2))
	out := filepath.Join(dir, "out")
	if err := os.MkdirAll(filepath.Join(out, "report.html", "x"), 0o777); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), variable+"="+dir)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	before := written(t, out)
	first := slices.ContainsFunc(slices.Collect(maps.Keys(before)), func(name string) bool {
		return strings.HasPrefix(name, "kept-00000-of-")
	})
	if _, ended := before["manifest.json"]; !first || ended {
		t.Fatalf("before the break: %v", before)
	}
	if err := os.RemoveAll(filepath.Join(out, "report.html")); err != nil {
		t.Fatal(err)
	}
	corpus(t, append(args(dir), "--resume")...)
	for name, when := range before {
		if after := written(t, out)[name]; after != when && !strings.Contains(name, ".work") {
			t.Errorf("%s is written again", name)
		}
	}
	whole := filepath.Join(dir, "whole")
	corpus(t, append(args(dir), "-o", whole)...)
	for name := range written(t, whole) {
		a, errA := os.ReadFile(filepath.Join(whole, name))
		b, errB := os.ReadFile(filepath.Join(out, name))
		if err := errors.Join(errA, errB); err != nil || !bytes.Equal(a, b) {
			t.Errorf("%s is not what it would have been: %v", name, err)
		}
	}
}

// written are the files under a folder, with when they were written.
func written(t *testing.T, folder string) map[string]int64 {
	t.Helper()
	all := map[string]int64{}
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			name, _ := filepath.Rel(folder, path)
			all[name] = info.ModTime().UnixNano()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestACorpusWithoutDocuments ends as others do, whatever is to be done with it.
func TestACorpusWithoutDocuments(t *testing.T) {
	input := writeShards(t, nil, 3)
	for _, args := range [][]string{{"filter", "--keep", "0.1..0.7"}, {"score"}} {
		out := filepath.Join(t.TempDir(), "out")
		corpus(t, append(args, "-q", "--input", input, "-o", out)...)
		m := readManifest(t, out)
		if m.Records != 0 || m.Errors != 0 || m.Perplexity != nil || len(m.Quantiles) != 0 ||
			(m.Filtered != nil) != (args[0] == "filter") {
			t.Errorf("%s: %+v", args, m)
		}
		page, err := os.ReadFile(filepath.Join(out, "report.html"))
		if err != nil || !bytes.Contains(page, []byte("No document has a perplexity.")) {
			t.Errorf("%s: the page: %s%v", args, page, err)
		}
	}
}

func TestFilterRefuses(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"", "want --keep LO..HI, --above X or --below X"},
		{"--keep 0.7..0.1", `"0.7..0.1": keeps nothing, want the smaller share first`},
		{"--keep 0.1..0.1", "keeps nothing"},
		{"--keep 70%..0.1", "keeps nothing"},
		{"--keep ..", `"": want a share of the documents`},
		{"--keep 0.1..", `"": want a share`},
		{"--keep 0.1", `"0.1": want LO..HI`},
		{"--keep 0..1.5", `"1.5": want a share of the documents, from 0 to 1`},
		{"--keep 0..101%", `"101%": want a share of the documents, from 0 to 1`},
		{"--keep=-0.1..1", `"-0.1": want a share`},
		{"--keep 0..1e-1", `"1e-1": want a share`},
		{"--keep 0..1/0", `"1/0": want a share`},
		{"--keep 0..1/3%", `"1/3%": want a share`},
		{"--keep 0...5", `".5": want a share`},
		{"--keep NaN..1", `"NaN": want a share`},
		{"--above 50 --below 20", "--above 50 --below 20: keeps nothing"},
		{"--above 50 --below 50", "keeps nothing"},
		{"--above 0", "--above 0: want a perplexity above 0"},
		{"--above=-3", "--above -3: want"},
		{"--below NaN", "--below NaN: want"},
		{"--below Inf", "--below +Inf: want"},
		{"--above 1 --score-field text", "--score-field text: documents have their text or id there"},
		{"--above 1 --score-field id", "--score-field id"},
		{"--above 1 --text-field body --score-field body", "--score-field body"},
	} {
		args := append([]string{"filter", "--input", "x", "-o", "y"}, strings.Fields(c.args)...)
		err := run(t.Context(), args, &bytes.Buffer{}, &bytes.Buffer{})
		var usage fault.Usage
		if err == nil || !errors.As(err, &usage) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.args, err, c.want)
		}
	}
}
