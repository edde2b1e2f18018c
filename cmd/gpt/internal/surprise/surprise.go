// Package surprise draws a text by how surprising each token of it is: in a terminal (Terminal), as
// lines of numbers (Table), or as a page for a browser (Page).
package surprise

import (
	"fmt"
	"io"
	"math"
	"strings"

	"picogpt/eval"
	"picogpt/internal/webparts"
	"picogpt/kernels"
)

// A Picture is a scored text and how to draw it.
type Picture struct {
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

// A scored text in a terminal, and as a table of numbers.

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
func (p Picture) Terminal(w io.Writer) error {
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
func (p Picture) Table(w io.Writer) error {
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
