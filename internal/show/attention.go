package show

// Where heads of attention look: a line for each head, or the weights of one.

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"picogpt/inspect"
	"picogpt/internal/terminal"
)

// An Attention is the scores of heads, and the weights of one.
type Attention struct {
	*inspect.HeadTable

	Pattern [][]float32 `json:"pattern,omitempty"` // of the only head in Heads: [to][from]
}

// Table returns a line for each head.
func (a *Attention) Table() string {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "head\tprevious\tfirst\tself\tduplicate\tinduction\tentropy\tdistance\t\n")
	known := func(x *float64) string {
		if x == nil {
			return "-"
		}
		return fmt.Sprintf("%.3f", *x)
	}
	for _, h := range a.Heads {
		fmt.Fprintf(w, "%d.%d\t%.3f\t%.3f\t%.3f\t%s\t%s\t%.3f\t%.2f\t\n", h.Layer, h.Head, h.Previous,
			h.First, h.Self, known(h.Duplicate), known(h.Induction), h.Entropy, h.Distance)
	}
	w.Flush()
	return b.String()
}

// shades are the signs of weights from 0, 0.05, 0.25, 0.5 and 0.75 on.
var shades = [...]struct {
	from  float32
	signs string // two, of which the first stands alone in narrow columns
}{{0, "· "}, {0.05, "░░"}, {0.25, "▒▒"}, {0.5, "▓▓"}, {0.75, "██"}}

const (
	nameColumns = 15 // for the name of a token
	topSources  = 3
)

// Picture draws the weights of the head in lines of so many columns: a triangle with a row for each
// token, which looks at the columns, or where the text is too long for that the tokens that each
// looks at most. The names are those of the tokens.
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
			return a.triangle(names, digits, widest, cell)
		}
	}
	room := (columns - digits - 1 - topSources*(2+5+digits+1)) / (topSources + 1)
	return a.sources(names, digits, min(widest, max(4, room)))
}

// triangle draws each weight in a cell of one column or two.
func (a *Attention) triangle(names []string, digits, widest, cell int) string {
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
	legend := ""
	for i, shade := range shades[1:] {
		legend += fmt.Sprintf("%s < %g   ", strings.TrimSpace(shades[i].signs), shade.from)
	}
	return trimmed(append(lines, "", legend+shades[len(shades)-1].signs+" more"))
}

// sources lists for each token those that it looks at most, the first of them first.
func (a *Attention) sources(names []string, digits, widest int) string {
	var lines []string
	for to, row := range a.Pattern {
		order := make([]int, len(row))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(row[j], row[i]) })
		l := fmt.Sprintf("%*d %s", digits, to, pad(names[to], widest))
		for _, from := range order[:min(topSources, len(order))] {
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
