// Package pages draws what a model computes for one text ([Picture]), how surprising each token of a
// text is ([Surprise]), and which texts are likely ([Tree]), as pages for a browser, each one file,
// which needs no other. On top of a Picture is the text; below it are the attention weights of all
// heads, what each layer would predict, what each part adds to a logit, and what patching restores.
package pages

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"picogpt/internal/webparts"
)

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

//go:embed page.js
var pageJS string

// A Picture is what is drawn of one text. What is nil is left out.
type Picture struct {
	Model         string // its name, for the heading
	Layers, Heads int
	Tokens        []Token
	At            int // the position that has the focus first
	Layer, Head   int // the head that has it

	Attention *Attention
	Lens      *Lens
	Parts     *Parts
	Patch     *Patch

	// View is which of them is shown first: "attention", "lens", "attribution" or "patch".
	View string
}

// A Token is an id and the bytes that it stands for.
type Token struct {
	ID   int
	Text string
}

// A Lens holds what each layer would predict after each token.
type Lens struct {
	Target string   // the token whose ranks are known; "": none
	Layers [][]Cell // [n_layer+1][tokens], or the tokens from First on
	First  int
}

// A Cell is what one layer would predict after one token.
type Cell struct {
	Top         []Choice
	Entropy, KL float64 // nats
	Rank        *int    // of the target
}

// A Choice is a token with its probability.
type Choice struct {
	Token string
	P     float64
}

// Parts are what the parts of a model add to the difference of two logits, or to one logit above the
// mean of all, after the token At; or what About says.
type Parts struct {
	About           string
	Target, Against string // tokens; Against "" is the mean of all
	At              int
	Difference      float64
	Parts           []Part
}

// A Part is one of the parts, such as "head 3.1" or "mlp 2".
type Part struct {
	Name  string
	Value float64
}

// pageData is the data of page.html.
type pageData struct {
	Title, Model, View   string
	Count, Layers, Heads int
	HasHeads, Sparse     bool
	Kept, MostWhole      int
	Pieces               []pagePiece
	Views                []pageView
	Means                []pageMeans
	LensAbout            string
	Columns              []pageColumn
	Parts                []pageBar
	PartsAbout           string
	PatchAbout           string
	Maps                 []pageMap
	Other                string   // the corrupted text
	Corrupted, Choices   []string // its tokens; pairs
	Data                 pageJSON
	CSS                  template.CSS
	JS                   template.JS
}

type pagePiece struct {
	ID   int
	Feed bool // drawn with a sign, which the pointer can reach
	Text string
}

type pageView struct{ ID, Key, Name string }

type pageMeans struct{ Head, Self, Previous, First string }

type pageColumn struct {
	At    int // the token; −1 if it is none
	Name  string
	Cells []pageCell
}

type pageCell struct {
	Text, Title string
	Share       float64 // from 0 to 1: how strong the colour is
	Negative    bool
}

type pageBar struct {
	Name, Value string
	Width       float64 // of half the cell, in percent of the cell
	Negative    bool
}

// pageJSON is what page.js reads.
type pageJSON struct {
	Tokens    []jsonToken    `json:"tokens"`
	Layers    int            `json:"layers"`
	Heads     int            `json:"heads"`
	At        int            `json:"at"`
	Layer     int            `json:"layer"`
	Head      int            `json:"head"`
	Views     []string       `json:"views"`
	Attention *jsonAttention `json:"attention,omitempty"`
	Target    string         `json:"target,omitempty"`
	First     int            `json:"first"` // the first token of the lens
	Lens      [][]jsonCell   `json:"lens,omitempty"`
	Parts     []jsonPair     `json:"parts,omitempty"`
	Pairs     []jsonTexts    `json:"pairs,omitempty"` // the means first
}

type jsonToken struct {
	Text  string `json:"text"`
	ID    int    `json:"id"`
	Piece int    `json:"piece"`
}

type jsonAttention struct {
	Sparse bool     `json:"sparse"`
	Heads  []string `json:"heads"` // base64
}

type jsonCell struct {
	Top     []jsonPair `json:"top"`
	Entropy digits     `json:"entropy"`
	KL      digits     `json:"kl"`
	Rank    *int       `json:"rank,omitempty"`
}

type jsonPair [2]any // a text and a number

// A digits is a number that is written with five digits: a page has thousands.
type digits float64

func (x digits) MarshalJSON() ([]byte, error) {
	if v := float64(x); math.IsNaN(v) || math.IsInf(v, 0) {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, float64(x), 'g', 5, 64), nil
}

// Page writes the picture as an HTML page.
func (p *Picture) Page(w io.Writer) error {
	t, err := template.New("page").Parse(pageHTML)
	if err != nil {
		return err
	}
	d := pageData{Model: p.Model, View: p.View, Count: len(p.Tokens), Layers: p.Layers,
		Heads: p.Heads, Kept: Kept, MostWhole: MostWhole,
		CSS: webparts.CSS(pageCSS), JS: webparts.JS(pageJS)}
	d.Data = pageJSON{Layers: p.Layers, Heads: p.Heads, At: p.At, Layer: p.Layer, Head: p.Head,
		Tokens: []jsonToken{}}
	p.text(&d)
	if p.Attention != nil {
		p.attention(&d)
	}
	if p.Lens != nil {
		p.lens(&d)
	}
	if p.Parts != nil {
		p.parts(&d)
	}
	if p.Patch != nil {
		p.patch(&d)
	}
	known := false
	for _, v := range d.Views {
		d.Data.Views = append(d.Data.Views, v.ID)
		known = known || v.ID == p.View
	}
	if !known && len(d.Views) > 0 {
		d.View = d.Views[0].ID
	}
	return t.Execute(w, d)
}

// text cuts the text at its tokens.
func (p *Picture) text(d *pageData) {
	var whole strings.Builder
	spans := make([]webparts.Span, len(p.Tokens))
	for i, t := range p.Tokens {
		spans[i].Start = whole.Len()
		whole.WriteString(t.Text)
		spans[i].End = whole.Len()
	}
	d.Title = webparts.Excerpt(whole.String())
	for i, piece := range webparts.Pieces(whole.String(), spans) {
		d.Pieces = append(d.Pieces, pagePiece{i, strings.HasPrefix(piece.Text, "\n"),
			webparts.Shown(piece.Text)})
		for k := piece.First; k <= piece.Last; k++ {
			d.Data.Tokens = append(d.Data.Tokens, jsonToken{p.name(k), p.Tokens[k].ID, i})
		}
	}
}

// name returns the text of a token with its spaces.
func (p *Picture) name(i int) string { return webparts.Quoted(p.Tokens[i].Text) }

func (p *Picture) attention(d *pageData) {
	d.HasHeads, d.Sparse = true, p.Attention.sparse()
	d.Views = append(d.Views, pageView{"attention", "a", "attention"})
	d.Data.Attention = &jsonAttention{d.Sparse, p.Attention.encoded()}
	percent := func(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) }
	for l := range p.Layers {
		for h := range p.Heads {
			self, previous, first := p.Attention.means(l, h)
			d.Means = append(d.Means, pageMeans{fmt.Sprintf("%d.%d", l, h), percent(self),
				percent(previous), percent(first)})
		}
	}
}

func (p *Picture) lens(d *pageData) {
	d.Views = append(d.Views, pageView{"lens", "l", "lens"})
	d.Data.Target, d.Data.First = webparts.Quoted(p.Lens.Target), p.Lens.First
	d.LensAbout = fmt.Sprintf("What would come next if the layers from a line on did nothing: line 0 "+
		"reads the embeddings, line %d is what the model predicts. The stronger the colour, the likelier.",
		p.Layers)
	for i := range p.Tokens[p.Lens.First:] {
		column := pageColumn{At: p.Lens.First + i, Name: p.name(p.Lens.First + i)}
		for _, layer := range p.Lens.Layers {
			cell := &layer[i]
			var said []string
			for _, c := range cell.Top {
				said = append(said, fmt.Sprintf("%s %.3g %%", webparts.Quoted(c.Token), 100*c.P))
			}
			shown := pageCell{Title: strings.Join(said, " · ")}
			if len(cell.Top) > 0 {
				shown.Text, shown.Share = webparts.Quoted(cell.Top[0].Token), cell.Top[0].P
			}
			if cell.Rank != nil {
				shown.Title += fmt.Sprintf("; rank of %s: %d", d.Data.Target, *cell.Rank)
			}
			column.Cells = append(column.Cells, shown)
		}
		d.Columns = append(d.Columns, column)
	}
	for _, layer := range p.Lens.Layers {
		row := make([]jsonCell, len(layer))
		for i, c := range layer {
			row[i] = jsonCell{Entropy: digits(c.Entropy), KL: digits(c.KL), Rank: c.Rank}
			for _, top := range c.Top {
				row[i].Top = append(row[i].Top, jsonPair{webparts.Quoted(top.Token), digits(top.P)})
			}
		}
		d.Data.Lens = append(d.Data.Lens, row)
	}
}

func (p *Picture) parts(d *pageData) {
	q := p.Parts
	d.Views = append(d.Views, pageView{"attribution", "d", "contributions"})
	against := "the mean of all logits"
	if q.Against != "" {
		against = "that of " + webparts.Quoted(q.Against)
	}
	d.PartsAbout = fmt.Sprintf("After token %d, %s, the logit of %s minus %s is %.3f: the sum of what "+
		"each part adds, the largest first.", q.At, p.name(q.At), webparts.Quoted(q.Target), against,
		q.Difference)
	d.PartsAbout = cmp.Or(q.About, d.PartsAbout)
	most := 1e-9
	for _, part := range q.Parts {
		most = max(most, math.Abs(part.Value))
	}
	for _, part := range sorted(q.Parts) {
		d.Parts = append(d.Parts, pageBar{part.Name, signed(fmt.Sprintf("%+.3f", part.Value)),
			50 * math.Abs(part.Value) / most, part.Value < 0})
		d.Data.Parts = append(d.Data.Parts, jsonPair{part.Name, digits(part.Value)})
	}
}

// signed writes a number with the sign that is as wide as a plus.
func signed(number string) string { return strings.ReplaceAll(number, "-", "−") }

// sorted returns the parts, the largest first, whatever their sign.
func sorted(parts []Part) []Part {
	all := slices.Clone(parts)
	slices.SortStableFunc(all, func(a, b Part) int {
		return cmp.Compare(math.Abs(b.Value), math.Abs(a.Value))
	})
	return all
}
