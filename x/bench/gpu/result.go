package main

// The result of a run: one JSON file, which is written again after each part.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// A result is a run of the kit on a machine.
type result struct {
	Version string  `json:"version"` // of picogpt
	Date    string  `json:"date"`    // of the start, in UTC
	Device  string  `json:"device"`  // for gpt --device; empty if there is none
	Name    string  `json:"name"`    // the device's own
	Short   bool    `json:"short,omitempty"`
	Seconds float64 `json:"seconds"`
	Done    bool    `json:"done"` // every part was run or skipped
	Parts   []done  `json:"parts"`
}

// A done is a part that was run or skipped.
type done struct {
	Name    string            `json:"name"`
	About   string            `json:"about"`
	Command []string          `json:"command,omitempty"`
	Status  string            `json:"status"`            // ok, failed, late, stopped, skipped
	Why     string            `json:"why,omitempty"`     // if the status is not ok
	Seconds float64           `json:"seconds"`           // time that it took
	Limit   float64           `json:"limit_s"`           // time that it was given
	Tests   map[string]int    `json:"tests,omitempty"`   // how many ended with PASS, FAIL, SKIP
	Rows    []json.RawMessage `json:"rows,omitempty"`    // lines of its output that are JSON objects
	Running string            `json:"running,omitempty"` // the test that was running at the end
	// the remaining lines, or the first and the last of them
	Output string `json:"output"`
}

// mostOutput is the number of bytes that are kept of a part's remaining lines.
const mostOutput = 24 << 10

// read splits the output of a part into these fields.
func (d *done) read(output []byte) {
	var others []string
	for line := range strings.Lines(strings.ToValidUTF8(string(output), "?")) {
		text := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(text, "{") && json.Valid([]byte(text)):
			d.Rows = append(d.Rows, json.RawMessage(text))
			continue
		case strings.HasPrefix(text, "=== "): // go test reports that a test begins
			if name, ok := strings.CutPrefix(text, "=== RUN "); ok {
				d.Running = strings.TrimSpace(name)
			}
			continue
		}
		if end, name, ok := strings.Cut(strings.TrimPrefix(text, "--- "), ": "); ok &&
			strings.HasPrefix(text, "--- ") && !strings.Contains(name, "\n") {
			if d.Tests == nil {
				d.Tests = map[string]int{}
			}
			d.Tests[end]++
			d.Running = ""
			if end == "PASS" && strings.HasPrefix(line, " ") {
				continue // a subtest: its test has a line of its own
			}
		}
		others = append(others, line)
	}
	d.Output = strings.Join(others, "")
	if over := len(d.Output) - mostOutput; over > 0 {
		first, last := d.Output[:mostOutput/3], d.Output[mostOutput/3+over:]
		d.Output = fmt.Sprintf("%s…(%d bytes)…%s", strings.ToValidUTF8(first, ""), over,
			strings.ToValidUTF8(last, ""))
	}
}

// write writes the result to a file, completely or not at all.
func (r *result) write(path string) error {
	b, err := r.text()
	if err != nil {
		return err
	}
	if err = os.WriteFile(path+".new", b, 0o666); err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		os.Remove(path + ".new")
	}
	return err
}

func (r *result) text() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	err := e.Encode(r)
	return b.Bytes(), err
}

func oneLine(b []byte) string { return strings.Join(strings.Fields(string(b)), " ") }

// SPEED.md's predictions for an H200. A test compares these numbers with its table.

// A prediction is the speed of texts that are generated together, or the time of a prompt.
type prediction struct {
	model, dtype string
	sessions     int    // 0 means a prompt of 512 tokens, in ms
	text         string // as in SPEED.md: tokens a second, or ms
}

var predictions = []prediction{
	{"gpt2", "f16", 1, "3,100"},
	{"gpt2", "q8", 1, "2,900"},
	{"gpt2-xl", "f16", 1, "540"},
	{"gpt2-xl", "q8", 1, "670"},
	{"gpt2", "f16", 64, "50,000 to 60,000"},
	{"gpt2", "q8", 64, "50,000"},
	{"gpt2", "f32", 0, "4 to 5"},
}
