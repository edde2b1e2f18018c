package show

// What each layer would predict, as tables.

import (
	"fmt"
	"strings"

	"picogpt/cmd/gpt/internal/terminal"
	"picogpt/inside"
	"picogpt/internal/webparts"
)

// A Lens is what gpt lens shows.
type Lens struct {
	*inside.LensTable
	Name func(id int) string // the text of a token
}

// backgrounds are those of the 256-colour palette, from unlikely to likely, all bright enough for
// black letters. floors are the probabilities from which on they are used; below the first there is
// none.
var (
	backgrounds = [...]int{194, 157, 120, 83, 46}
	floors      = [...]float64{0.01, 0.05, 0.2, 0.5, 0.8}
)

// shaded writes a text on the background of a probability.
func shaded(text string, p float64) string {
	level := -1
	for level+1 < len(floors) && p >= floors[level+1] {
		level++
	}
	if level < 0 {
		return text
	}
	return fmt.Sprintf("\x1b[30;48;5;%dm%s\x1b[0m", backgrounds[level], text)
}

// A lensColumn is the cells of a token, and their width.
type lensColumn struct {
	cells []string
	width int
}

// widestCell bounds the tokens in cells of Grid; narrowestCell is the least width of a cell, with
// the space before it.
const widestCell, narrowestCell = 12, 3

// MostColumns returns how many tokens Grid can show at most in so many columns of a terminal.
func MostColumns(columns int) int { return max(1, columns/narrowestCell) }

// Grid is a table of the likeliest token for each layer and token of the text: of the last tokens,
// if not all fit into the columns of a terminal; 0 is room for all. Without colours the
// probabilities stand beside the tokens, in percent.
func (l *Lens) Grid(columns int, colours bool) string {
	n := len(l.Layers[0])
	all, used, from := make([]lensColumn, n), len("layer"), n
	for i := n - 1; i >= 0; i-- {
		all[i] = l.column(i, colours)
		used += 2 + all[i].width
		if columns > 0 && used > columns && from < n {
			break
		}
		from = i
	}
	var b strings.Builder
	for row := range len(l.Layers) + 1 {
		line := "layer"
		if row > 0 {
			line = fmt.Sprintf("%5d", row-1)
		}
		for i := from; i < n; i++ {
			text := all[i].cells[row]
			pad := strings.Repeat(" ", all[i].width-terminal.Width(text))
			if row > 0 && colours {
				text = shaded(text+pad, l.Layers[row-1][i].P[0])
			} else if i < n-1 {
				text += pad
			}
			line += "  " + text
		}
		b.WriteString(line + "\n")
	}
	if colours {
		b.WriteString("\nprobability from")
		for _, p := range floors {
			b.WriteString(" " + shaded(fmt.Sprintf(" %.0f%% ", 100*p), p))
		}
		b.WriteString("\n")
	}
	if shown := n - from; shown < len(l.Tokens) {
		fmt.Fprintf(&b, "\nthe last %d of %d tokens: --at N shows one, --html FILE all\n", shown,
			len(l.Tokens))
	}
	return b.String()
}

// column returns the cells of a token: the token, and what each layer would predict after it.
func (l *Lens) column(i int, colours bool) (c lensColumn) {
	add := func(text string) {
		c.cells = append(c.cells, text)
		c.width = max(c.width, terminal.Width(text))
	}
	add(terminal.Cut(webparts.Quoted(l.Name(l.Tokens[l.From+i])), widestCell))
	for _, row := range l.Layers {
		text := terminal.Cut(webparts.Quoted(l.Name(row[i].Top[0])), widestCell)
		if !colours {
			text += fmt.Sprintf(" %.0f", 100*row[i].P[0])
		}
		add(text)
	}
	return c
}

// Column is a table of one token, the only one of the table: a line for each layer, with as many of
// the likeliest tokens as fit into the columns of a terminal; 0 is room for all.
func (l *Lens) Column(columns int) string {
	at := len(l.Tokens) - 1
	var b strings.Builder
	fmt.Fprintf(&b, "after %s at position %d", webparts.Quoted(l.Name(l.Tokens[at])), at)
	if l.Target != nil {
		fmt.Fprintf(&b, "; rank and probability of %s", webparts.Quoted(l.Name(*l.Target)))
	}
	b.WriteString(":\n\nlayer  entropy      kl")
	if l.Target != nil {
		b.WriteString("   rank         p")
	}
	b.WriteString("  likeliest\n")
	for layer, row := range l.Layers {
		c := &row[0]
		line := fmt.Sprintf("%5d  %7.3f  %6.3f", layer, c.Entropy, c.KL)
		if c.Rank != nil {
			line += fmt.Sprintf("  %5d  %8s", *c.Rank, Percent(*c.TargetP, 2))
		}
		for j, id := range c.Top {
			next := fmt.Sprintf("  %s %s", webparts.Quoted(l.Name(id)), Percent(c.P[j], 1))
			if columns > 0 && j > 0 && terminal.Width(line+next) > columns {
				break
			}
			line += next
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}
