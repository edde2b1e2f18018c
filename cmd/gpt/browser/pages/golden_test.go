package pages_test

// The pages: one with all that is known inside of the demo, which no command writes at once.

import (
	"cmp"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"picogpt/cmd/gpt/browser"
	"picogpt/cmd/gpt/internal/pages"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/model"
	"picogpt/tokenizer"
)

func TestMain(m *testing.M) { browser.Main(m) }

// golden returns the picture of the first prompt of the float64 answers, with the demo's attention,
// and this as it was read: [layer][position][n_head · (position+1)].
func golden(t *testing.T) (*pages.Picture, [][][]float32) {
	t.Helper()
	answers, err := fixture.Inside()
	if err != nil {
		t.Fatal(err)
	}
	name := func(id int) string {
		text, err := tokenizer.GPT2().Decode([]int{id})
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	ids, m := answers.IDs[0], testmodel.Demo(t, model.Options{})
	p := &pages.Picture{Model: "the demo", Layers: 4, Heads: 4, At: len(ids) - 1, View: "attention",
		Attention: pages.NewAttention(4, 4, len(ids)),
		Lens:      &pages.Lens{Target: name(answers.A)},
		Parts: &pages.Parts{Target: name(answers.A), Against: name(answers.B), At: len(ids) - 1,
			Difference: answers.Attribution.Difference},
		Patch: &pages.Patch{About: "1 is all of the difference.", Maps: []pages.PatchMap{{
			Name: "resid_pre", Tokens: true, Rows: []string{"0", "1", "2", "3"},
			Shares: answers.Patch.ResidPre}}},
	}
	var corrupted []pages.Token
	for i, id := range ids {
		p.Tokens = append(p.Tokens, pages.Token{ID: id, Text: name(id)})
		other := answers.IDs[1][i]
		corrupted = append(corrupted, pages.Token{ID: other, Text: name(other)})
	}
	p.Patch.Pairs = [][2][]pages.Token{{p.Tokens, corrupted}}
	for _, row := range answers.Lens[0] {
		cells := make([]pages.Cell, len(row))
		for i, c := range row {
			cells[i] = pages.Cell{Entropy: c.Entropy, KL: c.KL, Rank: &c.RankOfA}
			for k, id := range c.Top {
				cells[i].Top = append(cells[i].Top, pages.Choice{Token: name(id), P: c.P[k]})
			}
		}
		p.Lens.Layers = append(p.Lens.Layers, cells)
	}
	for part, value := range answers.Attribution.Parts {
		p.Parts.Parts = append(p.Parts.Parts, pages.Part{Name: part, Value: value})
	}
	slices.SortFunc(p.Parts.Parts, func(a, b pages.Part) int { return cmp.Compare(a.Name, b.Name) })

	read := make([][][]float32, p.Layers)
	for i := range read {
		read[i] = make([][]float32, len(ids))
	}
	s := m.NewSession()
	defer s.Release()
	err = m.Eval(t.Context(), model.Input{Session: s, Tokens: ids, NoLogits: true,
		Trace: &model.Trace{Points: []model.Point{{Kind: model.Pattern, Layer: model.AllLayers}},
			Read: func(r model.Reading) {
				p.Attention.Take(r.At.Layer, r.Index, r.Data)
				read[r.At.Layer][r.Index] = slices.Clone(r.Data)
			}}})
	if err != nil {
		t.Fatal(err)
	}
	return p, read
}

// written writes a page into a file, and returns its name.
func written(t *testing.T, page func(io.Writer) error) string {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "page.html"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := page(f); err != nil {
		t.Fatal(err)
	}
	return f.Name()
}
