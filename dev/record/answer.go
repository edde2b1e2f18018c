//go:build unix

package main

// Answers: which parts of them are compared, and how they are stored.

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
)

// An answer is the result of one line or request, in named parts: stdout, stderr, status, and each
// file.
type answer struct {
	Name  string            `json:"name"`
	Parts map[string]string `json:"parts"`
}

// varying holds patterns that differ between two runs of one build, and their replacements.
var varying = []struct {
	re   *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`\b\d+(\.\d+)? ?(ns|µs|ms|s|min)\b`), `N s`},
	{regexp.MustCompile(`\b\d+(\.\d+)? (tokens|MB|GB|kB)/s\b`), `N $2/s`},
	{regexp.MustCompile(`"build": ?"gpt [^"]*"`), `"build":"N"`},
	{regexp.MustCompile(`"created(_at)?": ?\d+`), `"created$1":N`},
	{regexp.MustCompile(`"cached_tokens": ?\d+`), `"cached_tokens":N`},
	{regexp.MustCompile(`"(id|request_id)": ?"(cmpl|chatcmpl|embd|req)-[^"]*"`), `"$1":"$2-N"`},
	{regexp.MustCompile(`"((?:item_)?id)": ?"(resp|msg|fc)_[^"]*"`), `"$1":"$2_N"`},
	{regexp.MustCompile(`"(id|call_id)": ?"[0-9a-f]{9}"`), `"$1":"N"`}, // of calls
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z?`), `TIME`},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), `127.0.0.1:N`},
	{regexp.MustCompile(`\.gpt-[0-9a-z]+\.tmp`), `.gpt-N.tmp`},
}

// settle replaces the parts that differ between any two runs.
func settle(text, folder string) string {
	text = strings.ReplaceAll(text, folder, "$WORK")
	for _, v := range varying {
		text = v.re.ReplaceAllString(text, v.with)
	}
	return text
}

// difference describes where two answers differ, "" if they do not.
func difference(before, after answer) string {
	var b strings.Builder
	names := map[string]bool{}
	for name := range before.Parts {
		names[name] = true
	}
	for name := range after.Parts {
		names[name] = true
	}
	sorted := make([]string, 0, len(names))
	for name := range names {
		sorted = append(sorted, name)
	}
	slices.Sort(sorted)
	for _, name := range sorted {
		x, inBefore := before.Parts[name]
		y, inAfter := after.Parts[name]
		if x == y && inBefore == inAfter {
			continue
		}
		fmt.Fprintf(&b, "  %s\n", name)
		one, two := firstDifference(x, y)
		fmt.Fprintf(&b, "  - %s\n  + %s\n", shown(one, inBefore), shown(two, inAfter))
	}
	return b.String()
}

// shown returns one side of a difference as a line.
func shown(text string, there bool) string {
	if !there {
		return "(none)"
	}
	const most = 300
	if len(text) > most {
		text = text[:most] + "…"
	}
	return fmt.Sprintf("%q", text)
}

// firstDifference removes the equal lines at the beginning of two texts.
func firstDifference(x, y string) (string, string) {
	for {
		i, j := strings.IndexByte(x, '\n'), strings.IndexByte(y, '\n')
		if i < 0 || j < 0 || x[:i] != y[:j] {
			return x, y
		}
		x, y = x[i+1:], y[j+1:]
	}
}

// recordedAnswers holds answers by name.
type recordedAnswers map[string]answer

// answers returns the answers of the items. The answer of an item that was never recorded is empty.
func (r recordedAnswers) answers(items []item) ([]answer, error) {
	out := make([]answer, len(items))
	for i, it := range items {
		out[i] = r[it.name()]
	}
	return out, nil
}

// readAnswers reads what writeAnswers wrote.
func readAnswers(name string) (recordedAnswers, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	recorded := recordedAnswers{}
	decoder := json.NewDecoder(bufio.NewReader(f))
	for decoder.More() {
		var a answer
		if err := decoder.Decode(&a); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		recorded[a.Name] = a
	}
	return recorded, nil
}

// writeAnswers writes answers, one object per line.
func writeAnswers(name string, answers []answer) error {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	for _, a := range answers {
		if err := encoder.Encode(a); err != nil {
			return err
		}
	}
	return os.WriteFile(name, []byte(b.String()), 0o644)
}
