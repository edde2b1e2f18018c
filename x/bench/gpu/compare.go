package main

// Results beside predictions, as a Markdown table.

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A row is a line of gpt bench table --json, and of peers.py.
type row struct {
	Peer  string `json:"peer"` // empty for picogpt
	Model string `json:"model"`
	DType string `json:"dtype"`
	Texts []struct {
		Sessions int     `json:"sessions"`
		Speed    float64 `json:"tokens_per_s"`
	} `json:"texts"`
	Prompt struct {
		Tokens int     `json:"tokens"`
		MS     float64 `json:"ms"`
	} `json:"prompt"`
}

// A what says what was measured.
type what struct {
	model, dtype string
	sessions     int // 0 means a prompt of 512 tokens
}

func (w what) String() string {
	name := map[string]string{"gpt2": "124M", "gpt2-xl": "1.5B"}[w.model]
	name = cmp.Or(name, w.model) + ", " + w.dtype
	switch w.sessions {
	case 0:
		return name + ", prompt of 512, ms"
	case 1:
		return name + ", alone, tokens/s"
	}
	return fmt.Sprintf("%s, %d texts, tokens/s", name, w.sessions)
}

// compare prints a table of the results in files.
func compare(to io.Writer, files []string) error {
	var head []string
	var columns []map[what]float64
	for _, file := range files {
		r, err := readResult(file)
		if err != nil {
			return err
		}
		names, numbers := r.columns()
		for _, name := range names {
			title := name
			if name == "" {
				title = fmt.Sprintf("%s, %s, %s", cmp.Or(r.Name, r.Device), r.Version,
					strings.TrimSuffix(filepath.Base(file), ".json"))
			}
			head, columns = append(head, title), append(columns, numbers[name])
		}
	}
	fmt.Fprintf(to, "| what | predicted for an H200 | %s |\n|---|---|%s\n",
		strings.Join(head, " | "), strings.Repeat("---|", len(head)))
	for _, w := range everything(columns) {
		fmt.Fprintf(to, "| %s | %s |", w, predicted(w))
		for _, c := range columns {
			fmt.Fprintf(to, " %s |", figure(c[w], w.sessions == 0))
		}
		fmt.Fprintln(to)
	}
	return nil
}

func readResult(file string) (r result, err error) {
	b, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(b, &r)
	}
	if err != nil {
		return r, fmt.Errorf("%s: %w", file, err)
	}
	return r, nil
}

// columns returns the measurements of picogpt, whose name is empty, and of each peer.
func (r *result) columns() (names []string, numbers map[string]map[what]float64) {
	names, numbers = []string{""}, map[string]map[what]float64{"": {}}
	for _, p := range r.Parts {
		for _, line := range p.Rows {
			var found row
			if json.Unmarshal(line, &found) != nil || found.Model == "" || found.DType == "" {
				continue
			}
			if numbers[found.Peer] == nil {
				names, numbers[found.Peer] = append(names, found.Peer), map[what]float64{}
			}
			w := what{model: strings.TrimPrefix(filepath.Base(found.Model), "random "),
				dtype: found.DType}
			if found.Prompt.Tokens == 512 {
				numbers[found.Peer][w] = found.Prompt.MS
			}
			for _, t := range found.Texts {
				w.sessions = t.Sessions
				numbers[found.Peer][w] = t.Speed
			}
		}
	}
	return names, numbers
}

// everything returns everything that was measured or predicted.
func everything(columns []map[what]float64) []what {
	all := map[what]bool{}
	for _, p := range predictions {
		all[what{p.model, p.dtype, p.sessions}] = true
	}
	for _, c := range columns {
		for w := range c {
			all[w] = true
		}
	}
	var sorted []what
	for w := range all {
		sorted = append(sorted, w)
	}
	last := func(n int) int { // sorts prompts last
		if n == 0 {
			return 1 << 30
		}
		return n
	}
	slices.SortFunc(sorted, func(a, b what) int {
		return cmp.Or(cmp.Compare(a.model, b.model), cmp.Compare(last(a.sessions), last(b.sessions)),
			cmp.Compare(a.dtype, b.dtype))
	})
	return sorted
}

func predicted(w what) string {
	for _, p := range predictions {
		if (what{p.model, p.dtype, p.sessions}) == w {
			return p.text
		}
	}
	return ""
}

func figure(x float64, ms bool) string {
	switch {
	case x == 0:
		return ""
	case ms:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.0f", x)
}
