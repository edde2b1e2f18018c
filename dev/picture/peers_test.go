package picture

// The chart and the tables of what x/bench/peers measured, made from its newest results.

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const project = "../../"

// A measured row is one engine with one number format.
type measured struct {
	Engine, Version, Format string
	Decode                  float64 `json:"decode_ms"`
	Prefill                 float64 `json:"prefill_ms"`
}

// Results are what x/bench/peers/run --json prints.
type results struct {
	Threads int
	Prompt  int `json:"prompt_tokens"`
	Rows    []measured
}

func newestResults(t *testing.T) (r results) {
	t.Helper()
	files, err := filepath.Glob(project + "x/bench/peers/results/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("results of x/bench/peers: %v, %v", files, err)
	}
	text, err := os.ReadFile(slices.Max(files))
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// of returns the row of an engine and a format, and whether there is one.
func (r *results) of(engine, format string) (measured, bool) {
	i := slices.IndexFunc(r.Rows, func(m measured) bool {
		return m.Engine == engine && m.Format == format
	})
	if i < 0 {
		return measured{}, false
	}
	return r.Rows[i], true
}

// formats are the number formats with their names in documents.
var formats = [][2]string{{"f32", "f32"}, {"f16", "f16"}, {"q8", "8 bits"}, {"q4", "4 bits"}}

// engines are the engines that were measured, with their names in documents.
func (r *results) engines() (all [][2]string) {
	names := map[string]string{"onnxruntime": "ONNX Runtime", "pytorch": "PyTorch"}
	for _, row := range r.Rows {
		if i := slices.IndexFunc(all, func(e [2]string) bool { return e[0] == row.Engine }); i < 0 {
			name := names[row.Engine]
			if name == "" {
				name = row.Engine
			}
			all = append(all, [2]string{row.Engine, name})
		}
	}
	return all
}

func TestPicturesShowThePeers(t *testing.T) {
	r := newestResults(t)
	c := Chart{Title: "Milliseconds of picogpt and of other engines, by number format",
		Note: fmt.Sprintf("%d threads; less is better", r.Threads)}
	decode := Panel{Title: "Decoding: ms a token"}
	prompt := Panel{Title: fmt.Sprintf("Prompt of %d tokens: ms", r.Prompt)}
	for _, engine := range r.engines() {
		c.Series = append(c.Series, engine[1])
	}
	for _, format := range formats {
		d, p := Group{Name: format[1]}, Group{Name: format[1]}
		for _, engine := range r.engines() {
			m, found := r.of(engine[0], format[0])
			decoded, read := "–", "–"
			if found {
				decoded, read = fmt.Sprintf("%.1f", m.Decode), fmt.Sprintf("%.0f", m.Prefill)
			}
			d.Values, d.Labels = append(d.Values, m.Decode), append(d.Labels, decoded)
			p.Values, p.Labels = append(p.Values, m.Prefill), append(p.Labels, read)
		}
		decode.Groups, prompt.Groups = append(decode.Groups, d), append(prompt.Groups, p)
	}
	c.Panels = []Panel{decode, prompt}
	Compare(t, project+"docs/pictures/peers.svg", c.SVG())
}

// TestTablesHaveTheResults wants the rows of the documents' tables to be those of the results.
func TestTablesHaveTheResults(t *testing.T) {
	r := newestResults(t)
	for _, file := range []string{"README.md", "docs/numbers.md"} {
		text, err := os.ReadFile(project + file)
		if err != nil {
			t.Fatal(err)
		}
		for _, engine := range r.engines() {
			row := "| " + engine[1]
			if m, _ := r.of(engine[0], "f32"); m.Version != "" {
				row += " (" + m.Version + ")"
			}
			for _, format := range formats {
				row += " |"
				if m, found := r.of(engine[0], format[0]); found {
					row += fmt.Sprintf(" %.1f / %.0f", m.Decode, m.Prefill)
				}
			}
			if row += " |\n"; !strings.Contains(string(text), row) {
				t.Errorf("%s has no row\n%s", file, row)
			}
		}
	}
}
