package surprise

// A scored text as one HTML file that needs no other.

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"strconv"
	"strings"

	"picogpt/eval"
	"picogpt/internal/webparts"
	"picogpt/kernels"
)

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

//go:embed page.js
var pageJS string

// pageData is the data of page.html.
type pageData struct {
	Title, Model, Summary string
	By                    webparts.Scale
	RankNames             [webparts.Levels]string
	SurprisalNames        [webparts.Levels]string
	Pieces                []pagePiece
	Width                 int    // of the chart: tokens
	Bars                  string // SVG path
	Ticks                 []pageTick
	ChartText             string
	Histogram             []pageBar
	Data                  pageTokens
	CSS                   template.CSS
	JS                    template.JS
}

type pagePiece struct {
	ID          int
	Class, Text string
}

type pageTick struct{ Y, Bits int }

type pageBar struct {
	Name  string
	Width float64
	Count int
	Share string
}

// pageTokens is the JSON that page.js reads.
type pageTokens struct {
	Tokens []pageToken `json:"tokens"`
}

type pageToken struct {
	Text    string            `json:"text"`
	ID      int               `json:"id"`
	Piece   int               `json:"piece"`
	Rank    int               `json:"rank"` // -1 if nothing precedes it
	P       sixDigits         `json:"p"`
	Bits    sixDigits         `json:"bits"`
	Entropy sixDigits         `json:"entropy"`
	Top     []pageAlternative `json:"top"` // the likeliest first
}

// A pageAlternative is the text, the id and the probability of a token.
type pageAlternative [3]any

// A sixDigits is a number that is written with six digits: people see three, and a page has
// thousands.
type sixDigits float64

func (x sixDigits) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(x), 'g', 6, 64), nil
}

// Page writes the text as an HTML page.
func (p Picture) Page(w io.Writer) error {
	t, err := template.New("page").Parse(pageHTML)
	if err != nil {
		return err
	}
	d := pageData{
		Title: webparts.Excerpt(p.Score.Text), Model: p.Model, Summary: summary(&p.Score),
		By:        p.By,
		RankNames: webparts.ByRank.Names(), SurprisalNames: webparts.BySurprisal.Names(),
		Width: len(p.Score.Tokens), Histogram: histogram(&p.Score),
		CSS: webparts.CSS(pageCSS), JS: webparts.JS(pageJS),
	}
	d.chart(&p.Score)
	d.Data.Tokens = []pageToken{}
	for i, piece := range pieces(&p.Score) {
		rank, surprisal := -1, -1
		for k := piece.First; k <= piece.Last; k++ {
			token := &p.Score.Tokens[k]
			rank, surprisal = max(rank, webparts.ByRank.Level(token.Rank, token.LogProb)),
				max(surprisal, webparts.BySurprisal.Level(token.Rank, token.LogProb))
			d.Data.Tokens = append(d.Data.Tokens, p.token(token, i))
		}
		class := "none"
		if rank >= 0 {
			class = fmt.Sprintf("r%d s%d", rank, surprisal)
		}
		if strings.HasPrefix(piece.Text, "\n") {
			class += " feed" // drawn as a sign, which the pointer can reach
		}
		d.Pieces = append(d.Pieces, pagePiece{i, class, webparts.Shown(piece.Text)})
	}
	return t.Execute(w, d)
}

func (p Picture) token(t *eval.Token, piece int) pageToken {
	j := pageToken{Text: webparts.Quoted(p.Score.Text[t.Start:t.End]), ID: t.ID, Piece: piece, Rank: t.Rank,
		Top: []pageAlternative{}}
	if t.Rank < 0 {
		return j
	}
	j.P, j.Bits, j.Entropy = sixDigits(kernels.Exp64(t.LogProb)), sixDigits(bits(t.LogProb)),
		sixDigits(bits(-t.Entropy))
	for _, a := range t.Top {
		j.Top = append(j.Top, pageAlternative{webparts.Quoted(a.Text), a.ID,
			sixDigits(kernels.Exp64(a.LogProb))})
	}
	return j
}

// chart draws a bar for each token, of the height of its surprisal in bits, and the scale.
func (d *pageData) chart(s *eval.Scored) {
	highest, at := 0.0, -1
	for i, t := range s.Tokens {
		if t.Rank >= 0 && bits(t.LogProb) > highest {
			highest, at = bits(t.LogProb), i
		}
	}
	step := 5
	for highest/float64(step) > 6 {
		step *= 2
	}
	top := float64(step) * max(1, math.Ceil(highest/float64(step)))
	for b := 0; float64(b) <= top; b += step {
		d.Ticks = append(d.Ticks, pageTick{100 - int(100*float64(b)/top), b})
	}
	var path strings.Builder
	for i, t := range s.Tokens {
		if t.Rank >= 0 {
			fmt.Fprintf(&path, "M%d.1 100V%.2fh.8V100z", i, 100-100*bits(t.LogProb)/top)
		}
	}
	d.Bars = path.String()
	if at >= 0 {
		d.ChartText = fmt.Sprintf("The most surprising token is number %d of %d, %s, with %.1f bits.", at+1, len(s.Tokens), webparts.Quoted(s.Text[s.Tokens[at].Start:s.Tokens[at].End]), highest)
	}
}

// histogram counts ranks in classes that begin at 0, 1, 2, 5, 10, 20, 50, ….
func histogram(s *eval.Scored) []pageBar {
	from := []int{0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000}
	counts := make([]int, len(from))
	most := 1
	for _, t := range s.Tokens {
		if t.Rank < 0 {
			continue
		}
		c := len(from) - 1
		for t.Rank < from[c] {
			c--
		}
		counts[c]++
		most = max(most, counts[c])
	}
	var bars []pageBar
	for c, n := range counts {
		name := fmt.Sprint(from[c])
		if c == len(from)-1 {
			name += " and more"
		} else if from[c+1] > from[c]+1 {
			name += fmt.Sprintf(" to %d", from[c+1]-1)
		}
		share := fmt.Sprintf("%.1f", 100*float64(n)/float64(max(1, s.Count)))
		bars = append(bars, pageBar{name, 100 * float64(n) / float64(most), n, share})
	}
	return bars
}
