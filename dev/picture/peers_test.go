package picture

// The chart and the tables of what x/bench/peers measured, made from its newest results.

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
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

	// Of some texts that decode together, by their number.
	Together map[string]float64 `json:"tokens_per_s"`
}

// quantities are what was measured: how documents call it, a value, as it is written, and whether
// the greatest is the best.
var quantities = []struct {
	name, format string
	of           func(measured) float64
	most         bool
}{
	{"Decoding, ms a token", "%.1f", func(m measured) float64 { return m.Decode }, false},
	{"Prompt of 512, ms", "%.0f", func(m measured) float64 { return m.Prefill }, false},
	{"8 texts together, tokens/s", "%.0f",
		func(m measured) float64 { return m.Together["8"] }, true},
	{"32 texts together, tokens/s", "%.0f",
		func(m measured) float64 { return m.Together["32"] }, true},
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
	names := map[string]string{"onnxruntime": "ONNX Runtime", "pytorch": "PyTorch",
		"openvino": "OpenVINO", "ctranslate2": "CTranslate2"}
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
	c := Chart{Title: "The speed of picogpt and of other engines, by number format",
		Note: fmt.Sprintf("%d threads", r.Threads)}
	for _, engine := range r.engines() {
		c.Series = append(c.Series, engine[1])
	}
	for _, q := range quantities {
		p := Panel{Title: q.name}
		for _, format := range formats {
			g := Group{Name: format[1]}
			for _, engine := range r.engines() {
				m, _ := r.of(engine[0], format[0])
				g.Values = append(g.Values, q.of(m))
				g.Labels = append(g.Labels, fmt.Sprintf(q.format, q.of(m)))
			}
			p.Groups = append(p.Groups, g)
		}
		c.Panels = append(c.Panels, p)
	}
	Compare(t, project+"docs/pictures/peers.svg", c.SVG())
}

// TestPicturesAndTables wants the documents' tables to be those of the results: docs/numbers.md has
// each engine, README.md picogpt and the fastest of the others.
func TestPicturesAndTables(t *testing.T) {
	r := newestResults(t)
	const columns = " | f32 | f16 | 8 bits | 4 bits |\n|---|---|---|---|---|\n"
	fastest := "| picogpt, and the fastest of five others" + columns
	for _, q := range quantities {
		fastest += "| " + q.name + " |"
		for _, format := range formats {
			ours, best, name := 0., 0., ""
			for _, engine := range r.engines() {
				m, _ := r.of(engine[0], format[0])
				switch v := q.of(m); {
				case engine[0] == "picogpt":
					ours = v
				case v > 0 && (best == 0 || v > best == q.most):
					best, name = v, engine[1]
				}
			}
			fastest += fmt.Sprintf(" **"+q.format+"**, %s "+q.format+" |", ours, name, best)
		}
		fastest += "\n"
		head := "| " + strings.ToLower(q.name[:1]) + q.name[1:] + columns
		all := head
		for _, engine := range r.engines() {
			row, measured := "| "+engine[1]+" |", false
			for _, format := range formats {
				if m, _ := r.of(engine[0], format[0]); q.of(m) > 0 {
					row += fmt.Sprintf(" "+q.format, q.of(m))
					measured = true
				}
				row += " |"
			}
			if measured {
				all += row + "\n"
			}
		}
		Part(t, project+"docs/numbers.md", regexp.QuoteMeta(head)+`(\|.*\n)*`, all)
	}
	Part(t, project+"README.md", `\| picogpt, and the fastest .*\n(\|.*\n)*`, fastest)
}
