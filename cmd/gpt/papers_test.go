package main

// What papers say of circuits, as tests: the claims of examples/circuits.

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"picogpt/dev/testmodel"
)

// A paper is a file of claims about a model: the one of a name, or one that is written by hand.
type paper struct {
	Paper, Model string
	Claims       []paperClaim
}

// A paperClaim is about numbers of what a command prints as JSON: those named Value of the objects in
// List, by their names; without Value those of an array of layers; without List one number.
type paperClaim struct {
	About, List, Value string
	Run                []string
	Want               []paperWant
}

// A paperWant is about one of the numbers: what the paper says of it, in words, and the bounds that
// are taken for it, or that it is among so many that are greatest or smallest of its kind.
type paperWant struct {
	Name, Paper string
	Least, Most *float64
	Top, Bottom int
}

// A paperRecord is the numbers of all claims, and the digest of the weights that they are of.
type paperRecord struct {
	Model  string               `json:"model"`
	Claims []map[string]float64 `json:"claims"`
}

const papers = "../../examples/circuits/"

// numbers takes the numbers of a claim from an output.
func (c *paperClaim) numbers(output string) (map[string]float64, error) {
	var found any
	if err := json.Unmarshal([]byte(output), &found); err != nil {
		return nil, err
	}
	all := map[string]float64{}
	if c.List == "" {
		for name := range strings.SplitSeq(c.Value, ".") {
			object, _ := found.(map[string]any)
			found = object[name]
		}
		x, ok := found.(float64)
		if all[c.Value] = x; !ok {
			return nil, fmt.Errorf("no number %s", c.Value)
		}
		return all, nil
	}
	object, _ := found.(map[string]any)
	items, _ := object[c.List].([]any)
	for i, item := range items {
		switch item := item.(type) {
		case []any:
			for j, x := range item {
				all[fmt.Sprintf("%d.%d", i, j)], _ = x.(float64)
			}
		case map[string]any:
			name, ok := item["name"].(string)
			if !ok {
				name = fmt.Sprintf("%v.%v", item["layer"], item["head"])
			}
			if all[name], ok = item[c.Value].(float64); !ok {
				return nil, fmt.Errorf("%s: no number %s of %s", c.List, c.Value, name)
			}
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no numbers in %s", c.List)
	}
	return all, nil
}

// table compares the numbers with what is wanted, and counts what is not met.
func (c *paperClaim) table(all map[string]float64) (text string, missed int) {
	for _, w := range c.Want {
		x, ok := all[w.Name]
		kind, _, _ := strings.Cut(w.Name, " ")
		greater, smaller := 1, 1
		for name, y := range all {
			if k, _, has := strings.Cut(name, " "); has && k != kind {
				continue // of heads and MLPs each by themselves
			}
			if y > x {
				greater++
			}
			if y < x {
				smaller++
			}
		}
		ok = ok && (w.Least == nil || x >= *w.Least) && (w.Most == nil || x <= *w.Most) &&
			(w.Top == 0 || greater <= w.Top) && (w.Bottom == 0 || smaller <= w.Bottom)
		said := "met"
		if !ok {
			said = "NOT MET"
			missed++
		}
		place := ""
		switch {
		case w.Top > 0:
			place = fmt.Sprintf("number %d", greater)
		case w.Bottom > 0:
			place = fmt.Sprintf("number %d from below", smaller)
		}
		text += fmt.Sprintf("  %-16s paper: %-20s here: %8.3f %-20s %s\n", w.Name, w.Paper, x, place,
			said)
	}
	return text, missed
}

// place returns the model of a paper, or "" where it is not there: one that is written by hand, what
// $GPT_MODEL names, or the one of the name if it was pulled.
func (p *paper) place(t *testing.T, gpt func(args ...string) string) string {
	hand, byHand := strings.CutPrefix(p.Model, "by hand: ")
	if !byHand {
		if name := os.Getenv("GPT_MODEL"); name != "" {
			return name
		}
		if strings.Contains(gpt("models", "--json"), fmt.Sprintf(`"name":%q`, p.Model)) {
			return p.Model
		}
		return ""
	}
	dir := t.TempDir()
	config, file := testmodel.InductionCheckpoint()
	if hand == "ioi" {
		config, file = testmodel.IOICheckpoint()
		writePaper(t, filepath.Join(dir, "tokenizer.json"), testmodel.IOITokenizer())
	}
	writePaper(t, filepath.Join(dir, "config.json"), config)
	writePaper(t, filepath.Join(dir, "model.safetensors"), file)
	return dir
}

func writePaper(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(name, data, 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestPapers runs the claims on each model that is there, and compares with the numbers that were
// recorded of the same weights, to the last bit. Where the model is not there the record alone has to
// meet the claims. RECORD=1 writes records.
func TestPapers(t *testing.T) {
	files, err := filepath.Glob(papers + "*.json")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	gpt := gpt(t)
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) { testPaper(t, name, gpt) })
	}
}

func testPaper(t *testing.T, name string, gpt func(args ...string) string) {
	b, err := os.ReadFile(name)
	var p paper
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	if err != nil {
		t.Fatal(err)
	}
	recorded, had := filepath.Join(papers, "recorded", filepath.Base(name)), paperRecord{}
	if b, err := os.ReadFile(recorded); err == nil {
		if err := json.Unmarshal(b, &had); err != nil || len(had.Claims) != len(p.Claims) {
			t.Fatalf("%s: %d claims, %v", recorded, len(had.Claims), err)
		}
	}
	found, model := had, p.place(t, gpt)
	if model != "" {
		found = runPaper(t, &p, model, gpt)
		if found.Model == had.Model && !reflect.DeepEqual(found, had) {
			t.Errorf("%s has other numbers of the same weights", recorded)
		}
	} else if had.Model == "" {
		runsOnTheDemo(t, &p, gpt)
		t.Skipf("%s is not there (gpt pull %[1]s), and nothing is recorded of it", p.Model)
	}
	text := fmt.Sprintf("%s\nmodel %s\n", p.Paper, found.Model)
	for i, c := range p.Claims {
		table, missed := c.table(found.Claims[i])
		text += fmt.Sprintf("\n%s\n  gpt %s\n%s", c.About, strings.Join(c.Run, " "), table)
		if missed > 0 {
			t.Errorf("%s: %d of %d are not met", c.About, missed, len(c.Want))
		}
	}
	t.Log(text)
	if os.Getenv("RECORD") != "" && model != "" && !t.Failed() {
		b, err := json.Marshal(found)
		if err != nil {
			t.Fatal(err)
		}
		writePaper(t, recorded, append(b, '\n'))
	}
}

// runPaper takes the numbers of all claims, and the digest of the weights.
func runPaper(t *testing.T, p *paper, model string, gpt func(args ...string) string) paperRecord {
	receipt := filepath.Join(t.TempDir(), "receipt.json")
	gpt("-m", model, "-n", "1", "--tokens", "1", "--receipt", receipt, "--output", "ids")
	b, err := os.ReadFile(receipt)
	var r paperRecord
	if err == nil {
		err = json.Unmarshal(b, &r)
	}
	if err != nil || r.Model == "" {
		t.Fatalf("no digest of the weights: %v", err)
	}
	for _, c := range p.Claims {
		all, err := c.numbers(gpt(append(fromHere(c.Run), "-m", model)...))
		if err != nil {
			t.Fatalf("%s: %v", c.About, err)
		}
		r.Claims = append(r.Claims, all)
	}
	return r
}

// runsOnTheDemo runs the commands of claims about texts on the demo, which has GPT-2's tokens: the
// pairs are pairs, and what is printed has the numbers, whatever they are.
func runsOnTheDemo(t *testing.T, p *paper, gpt func(args ...string) string) {
	for _, c := range p.Claims {
		if c.Run[0] == "circuit" { // of a head that the demo has not
			continue
		}
		args := slices.Clone(c.Run)
		if i := slices.Index(args, "--pairs"); i >= 0 { // parts as numbers, of any difference
			if args = append(args, "--count", "2"); args[0] != "attribute" {
				gpt("ablate", "--count", "2", "--pairs", fromHere(args)[i+1])
				continue
			}
		}
		all, err := c.numbers(gpt(fromHere(args)...))
		if err != nil || len(all) == 0 {
			t.Errorf("%s: %d numbers, %v", c.About, len(all), err)
		}
	}
}

// fromHere names files from this folder, which the claims name from the project's.
func fromHere(args []string) (all []string) {
	for _, arg := range args {
		all = append(all, strings.Replace(arg, "examples/", "../../examples/", 1))
	}
	return all
}

// A claim that is wrong is found.
func TestPapersThatAreWrong(t *testing.T) {
	one, two := 1.0, 2.0
	all := map[string]float64{"head 0.0": 1.5, "head 0.1": 3, "mlp 0": 9, "head 1.0": -1}
	for i, c := range []struct {
		want   paperWant
		missed int
	}{
		{paperWant{Name: "head 0.0", Least: &one, Most: &two, Top: 2, Bottom: 2}, 0},
		{paperWant{Name: "head 0.0", Least: &two}, 1}, {paperWant{Name: "head 0.0", Most: &one}, 1},
		{paperWant{Name: "head 0.0", Top: 1}, 1}, {paperWant{Name: "head 0.0", Bottom: 1}, 1},
		{paperWant{Name: "head 0.1", Top: 1}, 0}, {paperWant{Name: "head 1.0", Bottom: 1}, 0},
		{paperWant{Name: "head 7.0"}, 1},
	} {
		claim := paperClaim{Want: []paperWant{c.want}}
		if text, missed := claim.table(all); missed != c.missed || !strings.Contains(text, c.want.Name) {
			t.Errorf("%d: %d missed, want %d: %s", i, missed, c.missed, text)
		}
	}
	for output, c := range map[string]paperClaim{
		`{"a":{"b":"x"}}`:                         {Value: "a.b"},
		`{"a":[]}`:                                {List: "a", Value: "b"},
		`{"a":[{"name":"n"}]}`:                    {List: "a", Value: "b"},
		`{"a":[{"layer":1,"head":2,"b":null}]}`:   {List: "a", Value: "b"},
		`{"a":{"b":1}`:                            {Value: "a.b"},
		`[{"a":[{"layer":1,"head":2,"b":null}]}]`: {List: "a", Value: "b"},
	} {
		if all, err := c.numbers(output); err == nil {
			t.Errorf("%s: %v", output, all)
		}
	}
	for output, c := range map[string]struct {
		paperClaim
		want map[string]float64
	}{
		`{"a":{"b":2}}`:     {paperClaim{Value: "a.b"}, map[string]float64{"a.b": 2}},
		`{"a":[[1,2],[3]]}`: {paperClaim{List: "a"}, map[string]float64{"0.0": 1, "0.1": 2, "1.0": 3}},
		`{"a":[{"layer":1,"head":2,"b":4},{"name":"x","b":5}]}`: {paperClaim{List: "a", Value: "b"},
			map[string]float64{"1.2": 4, "x": 5}},
	} {
		if all, err := c.numbers(output); err != nil || !maps.Equal(all, c.want) {
			t.Errorf("%s: %v, %v, want %v", output, slices.Sorted(maps.Keys(all)), err, c.want)
		}
	}
}
