package pages

// A text by how surprising each token of it is: in a terminal (Terminal), as lines of numbers
// (Table), or as a page for a browser (Page).

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

//go:embed surprise.html
var surpriseHTML string

//go:embed surprise.css
var surpriseCSS string

//go:embed surprise.js
var surpriseJS string

// A Surprise is a scored text and how to draw it.
type Surprise struct {
	Model string // its name, for the heading
	Score eval.Scored
	By    webparts.Scale
}

func bits(logprob float64) float64 { return -logprob / math.Ln2 }

// pieces cuts the text at its tokens.
func pieces(s *eval.Scored) []webparts.Piece {
	spans := make([]webparts.Span, len(s.Tokens))
	for i, t := range s.Tokens {
		spans[i] = webparts.Span{Start: t.Start, End: t.End}
	}
	return webparts.Pieces(s.Text, spans)
}

// summary returns a line that says how surprising the whole text is.
func summary(s *eval.Scored) string {
	if s.Count == 0 {
		return "nothing to score: a single token has nothing before it"
	}
	first, ten := 0, 0
	for _, t := range s.Tokens {
		if t.Rank == 0 {
			first++
		}
		if t.Rank >= 0 && t.Rank < 10 {
			ten++
		}
	}
	return fmt.Sprintf("%d tokens scored, %.2f bits each, %.0f %% of them the first choice, %.0f %% among the first ten",
		s.Count, bits(s.Mean), 100*float64(first)/float64(s.Count),
		100*float64(ten)/float64(s.Count))
}

// Background colours of the 256-colour palette, from green to violet, all bright enough for black
// letters.
var backgrounds = [webparts.Levels]int{157, 228, 215, 210, 177}

const reset = "\x1b[0m"

func coloured(level int, text string) string {
	if level < 0 || text == "" {
		return text
	}
	return fmt.Sprintf("\x1b[30;48;5;%dm%s%s", backgrounds[level], text, reset)
}

// Terminal writes the text on coloured backgrounds, and a legend.
func (p Surprise) Terminal(w io.Writer) error {
	var b strings.Builder
	for _, piece := range pieces(&p.Score) {
		level := -1
		for i := piece.First; i <= piece.Last; i++ {
			level = max(level, p.By.Level(p.Score.Tokens[i].Rank, p.Score.Tokens[i].LogProb))
		}
		for i, line := range strings.Split(webparts.Visible(piece.Text, "\n"), "\n") {
			if i > 0 { // else the colour would extend to the terminal's edge
				b.WriteString(coloured(level, "↵") + "\n")
			}
			b.WriteString(coloured(level, line))
		}
	}
	fmt.Fprintf(&b, "\n\n%s:", p.By)
	for level, name := range p.By.Names() {
		b.WriteString(" " + coloured(level, " "+name+" "))
	}
	fmt.Fprintf(&b, "\n%s\n", summary(&p.Score))
	_, err := io.WriteString(w, b.String())
	return err
}

// Table writes a line of numbers for each token, without colours.
func (p Surprise) Table(w io.Writer) error {
	var b strings.Builder
	b.WriteString("rank\tprobability\tbits\tentropy\ttoken\n")
	for _, t := range p.Score.Tokens {
		text := p.Score.Text[t.Start:t.End]
		if t.Rank < 0 {
			fmt.Fprintf(&b, "-\t-\t-\t-\t%q\n", text)
			continue
		}
		fmt.Fprintf(&b, "%d\t%.4g\t%.2f\t%.2f\t%q\n", t.Rank, kernels.Exp64(t.LogProb),
			bits(t.LogProb), bits(-t.Entropy), text)
	}
	fmt.Fprintf(&b, "%s\n", summary(&p.Score))
	_, err := io.WriteString(w, b.String())
	return err
}

// surpriseData is the data of surprise.html.
type surpriseData struct {
	Title, Model, Summary string
	By                    webparts.Scale
	RankNames             [webparts.Levels]string
	SurprisalNames        [webparts.Levels]string
	Pieces                []surprisePiece
	Width                 int    // of the chart: tokens
	Bars                  string // SVG path
	Ticks                 []surpriseTick
	ChartText             string
	Histogram             []surpriseBar
	Data                  surpriseTokens
	CSS                   template.CSS
	JS                    template.JS
}

type surprisePiece struct {
	ID          int
	Class, Text string
}

type surpriseTick struct{ Y, Bits int }

type surpriseBar struct {
	Name  string
	Width float64
	Count int
	Share string
}

// surpriseTokens is the JSON that surprise.js reads.
type surpriseTokens struct {
	Tokens []surpriseToken `json:"tokens"`
}

type surpriseToken struct {
	Text    string        `json:"text"`
	ID      int           `json:"id"`
	Piece   int           `json:"piece"`
	Rank    int           `json:"rank"` // -1 if nothing precedes it
	P       sixDigits     `json:"p"`
	Bits    sixDigits     `json:"bits"`
	Entropy sixDigits     `json:"entropy"`
	Top     []alternative `json:"top"` // the likeliest first
}

// An alternative is the text, the id and the probability of a token.
type alternative [3]any

// A sixDigits is a number that is written with six digits: people see three, and a page has
// thousands.
type sixDigits float64

func (x sixDigits) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(x), 'g', 6, 64), nil
}

// Page writes the text as an HTML page.
func (p Surprise) Page(w io.Writer) error {
	t, err := template.New("page").Parse(surpriseHTML)
	if err != nil {
		return err
	}
	d := surpriseData{
		Title: webparts.Excerpt(p.Score.Text), Model: p.Model, Summary: summary(&p.Score),
		By:        p.By,
		RankNames: webparts.ByRank.Names(), SurprisalNames: webparts.BySurprisal.Names(),
		Width: len(p.Score.Tokens), Histogram: histogram(&p.Score),
		CSS: webparts.CSS(surpriseCSS), JS: webparts.JS(surpriseJS),
	}
	d.chart(&p.Score)
	d.Data.Tokens = []surpriseToken{}
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
		d.Pieces = append(d.Pieces, surprisePiece{i, class, webparts.Shown(piece.Text)})
	}
	return t.Execute(w, d)
}

func (p Surprise) token(t *eval.Token, piece int) surpriseToken {
	j := surpriseToken{Text: webparts.Quoted(p.Score.Text[t.Start:t.End]), ID: t.ID, Piece: piece, Rank: t.Rank,
		Top: []alternative{}}
	if t.Rank < 0 {
		return j
	}
	j.P, j.Bits, j.Entropy = sixDigits(kernels.Exp64(t.LogProb)), sixDigits(bits(t.LogProb)),
		sixDigits(bits(-t.Entropy))
	for _, a := range t.Top {
		j.Top = append(j.Top, alternative{webparts.Quoted(a.Text), a.ID,
			sixDigits(kernels.Exp64(a.LogProb))})
	}
	return j
}

// chart draws a bar for each token, of the height of its surprisal in bits, and the scale.
func (d *surpriseData) chart(s *eval.Scored) {
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
		d.Ticks = append(d.Ticks, surpriseTick{100 - int(100*float64(b)/top), b})
	}
	var path strings.Builder
	for i, t := range s.Tokens {
		if t.Rank >= 0 {
			fmt.Fprintf(&path, "M%d.1 100V%.2fh.8V100z", i, 100-100*bits(t.LogProb)/top)
		}
	}
	d.Bars = path.String()
	if at >= 0 {
		d.ChartText = fmt.Sprintf("The most surprising token is number %d of 0 to %d, %s, with %.1f bits.", at, len(s.Tokens)-1, webparts.Quoted(s.Text[s.Tokens[at].Start:s.Tokens[at].End]), highest)
	}
}

// histogram counts ranks in classes that begin at 0, 1, 2, 5, 10, 20, 50, ….
func histogram(s *eval.Scored) []surpriseBar {
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
	var bars []surpriseBar
	for c, n := range counts {
		name := fmt.Sprint(from[c])
		if c == len(from)-1 {
			name += " and more"
		} else if from[c+1] > from[c]+1 {
			name += fmt.Sprintf(" to %d", from[c+1]-1)
		}
		share := fmt.Sprintf("%.1f", 100*float64(n)/float64(max(1, s.Count)))
		bars = append(bars, surpriseBar{name, 100 * float64(n) / float64(most), n, share})
	}
	return bars
}
