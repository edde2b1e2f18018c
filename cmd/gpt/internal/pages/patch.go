package pages

// Heat maps of patching.

import (
	"fmt"
	"math"
	"strings"

	"picogpt/internal/webparts"
)

// A Patch is how much of a difference comes back when one value is put in the place of another: 1 is
// all of it.
type Patch struct {
	About string       // what was patched, in a sentence
	Maps  []PatchMap   // of the only pair, or the means of all
	Pairs [][2][]Token // clean and corrupted; the first clean one is the text of the Picture
}

// A PatchMap is a heat map of places, of several pairs the means, and those of each pair.
type PatchMap struct {
	Name   string
	Tokens bool // columns are tokens, not heads
	Rows   []string
	Shares [][]float64
	Pairs  [][][]float64
}

// mostCells bounds the numbers that a page holds of all pairs, of which one can be chosen.
const mostCells = 300_000

type pageMap struct {
	Name    string
	Columns []pageColumn // without cells
	Rows    []pageColumn
}

// A jsonTexts is two texts, and the cells of each map, row by row.
type jsonTexts struct {
	Names  [2][]string `json:"names"`
	Shares [][]digits  `json:"shares"`
}

func (p *Picture) patch(d *pageData) {
	d.Views = append(d.Views, pageView{"patch", "p", "patching"})
	d.PatchAbout = p.Patch.About
	texts, cells := []jsonTexts{{}}, 0 // first the means, with the first pair's tokens
	for _, pair := range p.Patch.Pairs {
		var of jsonTexts
		for side, tokens := range pair {
			for _, t := range tokens {
				of.Names[side] = append(of.Names[side], webparts.Quoted(t.Text))
			}
		}
		texts = append(texts, of)
		d.Choices = append(d.Choices, webparts.Excerpt(strings.Join(of.Names[0], "")))
	}
	for _, t := range p.Patch.Pairs[0][1] {
		d.Other += webparts.Shown(t.Text)
	}
	d.Corrupted, texts[0].Names = texts[1].Names[1], texts[1].Names
	for _, m := range p.Patch.Maps {
		shown := pageMap{Name: m.Name}
		for i := range m.Shares[0] {
			column := pageColumn{At: -1, Name: fmt.Sprintf("head %d", i)}
			if m.Tokens {
				column.At, column.Name = i, texts[0].Names[0][i]
			}
			shown.Columns = append(shown.Columns, column)
		}
		for i, row := range m.Shares {
			line := pageColumn{Name: m.Rows[i]}
			for j, x := range row {
				cell := pageCell{Title: fmt.Sprintf("%s, %s: %.4f", line.Name, shown.Columns[j].Name, x),
					Share: min(1, math.Abs(x)), Negative: x < 0}
				if math.Abs(x) >= 0.005 {
					cell.Text = signed(fmt.Sprintf("%.2f", x))
				}
				line.Cells = append(line.Cells, cell)
			}
			shown.Rows = append(shown.Rows, line)
		}
		for k, rows := range append([][][]float64{m.Shares}, m.Pairs...) {
			var all []digits
			for _, row := range rows {
				for _, x := range row {
					all = append(all, digits(x))
				}
			}
			texts[k].Shares, cells = append(texts[k].Shares, all), cells+len(all)
		}
		d.Maps = append(d.Maps, shown)
	}
	if len(p.Patch.Pairs) > 1 && cells <= mostCells {
		d.Data.Pairs = texts
	}
}
