package show

// Where heads of attention look: a line for each head, or the weights of one.

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"picogpt/cmd/gpt/internal/terminal"
	"picogpt/inside"
)

// An Attention is the scores of heads, and the weights of one.
type Attention struct {
	*inside.HeadTable

	Pattern [][]float32 `json:"pattern,omitempty"` // of the only head in Heads: [to][from]
}

// Table returns a line for each head. Where it does not fit into so many columns (0: any number),
// there are several tables, one below the other.
func (a *Attention) Table(columns int) string {
	rows := [][]string{{"head", "previous", "first", "self", "duplicate", "induction", "entropy",
		"distance"}}
	known := func(x *float64) string {
		if x == nil {
			return "-"
		}
		return fmt.Sprintf("%.3f", *x)
	}
	for _, h := range a.Heads {
		number := func(x float64) string { return fmt.Sprintf("%.3f", x) }
		rows = append(rows, []string{fmt.Sprintf("%d.%d", h.Layer, h.Head), number(h.Previous),
			number(h.First), number(h.Self), known(h.Duplicate), known(h.Induction),
			number(h.Entropy), fmt.Sprintf("%.2f", h.Distance)})
	}
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len("  ")+len(cell))
		}
	}
	var b strings.Builder
	for from := 1; from < len(widths); {
		to := from + 1
		for to < len(widths) && (columns == 0 || widths[0]+sum(widths[from:to+1]) <= columns) {
			to++
		}
		if from > 1 {
			b.WriteByte('\n')
		}
		for _, row := range rows {
			fmt.Fprintf(&b, "%*s", widths[0], row[0])
			for i := from; i < to; i++ {
				fmt.Fprintf(&b, "%*s", widths[i], row[i])
			}
			b.WriteByte('\n')
		}
		from = to
	}
	return b.String()
}

// shades are the signs of weights from 0, 0.05, 0.25, 0.5 and 0.75 on.
var shades = [...]struct {
	from  float32
	signs string // two, of which the first stands alone in narrow columns
}{{0, "· "}, {0.05, "░░"}, {0.25, "▒▒"}, {0.5, "▓▓"}, {0.75, "██"}}

const (
	nameColumns = 15 // for the name of a token
	leastName   = 4
	topSources  = 3
)

// Picture draws the weights of the head in lines of so many columns: a triangle with a row for each
// token, which looks at the columns, or where the text is too long for that the tokens that each
// looks at most. The names are those of the tokens. Where columns is 0 they are not known.
func (a *Attention) Picture(names []string, columns int) string {
	digits := len(fmt.Sprint(len(names) - 1))
	widest := 0
	for i, name := range names {
		names[i] = terminal.Printable(name)
		widest = max(widest, min(nameColumns, terminal.Width(names[i])))
	}
	left := digits + 1 + widest + 1
	for cell := 2; cell > 0; cell-- {
		if left+cell*len(names) <= columns {
			return a.triangle(names, digits, widest, cell, columns)
		}
	}
	top, room := topSources, 0
	for ; ; top-- {
		room = (columns - digits - 1 - top*(2+5+digits+1)) / (top + 1)
		if room >= leastName || top == 1 || columns <= 0 {
			break
		}
	}
	return a.sources(names, digits, min(widest, max(leastName, room)), top)
}

// triangle draws each weight in a cell of one column or two.
func (a *Attention) triangle(names []string, digits, widest, cell, columns int) string {
	const every = 5 // columns have a number
	head := strings.Repeat(" ", digits+1+widest+1)
	for i := 0; i < len(names); i += every {
		if number := fmt.Sprint(i); len(number) <= cell*(len(names)-i) {
			head += fmt.Sprintf("%-*s", every*cell, number)
		}
	}
	lines := []string{head}
	for to, row := range a.Pattern {
		l := fmt.Sprintf("%*d %s ", digits, to, pad(names[to], widest))
		for _, weight := range row {
			signs := shades[0].signs
			for _, shade := range shades {
				if weight >= shade.from {
					signs = shade.signs
				}
			}
			l += string([]rune(signs)[:cell])
		}
		lines = append(lines, l)
	}
	var legend []string
	for i, shade := range shades[1:] {
		legend = append(legend, fmt.Sprintf("%s < %g", strings.TrimSpace(shades[i].signs), shade.from))
	}
	legend = append(legend, shades[len(shades)-1].signs+" more")
	return trimmed(append(lines, "", wrapped(legend, "   ", columns)))
}

// sources lists for each token the top ones that it looks at most, the first of them first.
func (a *Attention) sources(names []string, digits, widest, top int) string {
	var lines []string
	for to, row := range a.Pattern {
		order := make([]int, len(row))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(row[j], row[i]) })
		l := fmt.Sprintf("%*d %s", digits, to, pad(names[to], widest))
		for _, from := range order[:min(top, len(order))] {
			if row[from] > 0 {
				l += fmt.Sprintf("  %.2f %*d %s", row[from], digits, from, pad(names[from], widest))
			}
		}
		lines = append(lines, l)
	}
	return trimmed(lines)
}

// trimmed returns the lines without spaces at their ends.
func trimmed(lines []string) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(strings.TrimRight(l, " ") + "\n")
	}
	return b.String()
}

// pad makes a name so many columns wide.
func pad(name string, columns int) string {
	name = terminal.Cut(name, columns)
	return name + strings.Repeat(" ", columns-terminal.Width(name))
}
