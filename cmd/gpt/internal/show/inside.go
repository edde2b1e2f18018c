package show

// What a model does inside: what each layer would predict, where heads of attention look, and what
// parts add to a logit.

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"picogpt/cmd/gpt/internal/terminal"
	"picogpt/inside"
	"picogpt/internal/quote"
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
	if a.Heads[0].Match != nil {
		rows[0] = append(rows[0], "match")
	}
	for _, h := range a.Heads {
		number := func(x float64) string { return fmt.Sprintf("%.3f", x) }
		rows = append(rows, []string{fmt.Sprintf("%d.%d", h.Layer, h.Head), number(h.Previous),
			number(h.First), number(h.Self), known(h.Duplicate), known(h.Induction),
			number(h.Entropy), fmt.Sprintf("%.2f", h.Distance)})
		if h.Match != nil {
			rows[len(rows)-1] = append(rows[len(rows)-1], number(*h.Match))
		}
	}
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len("  ")+len(cell))
		}
	}
	return inTables(widths[0], widths[1:], cmp.Or(columns, math.MaxInt),
		func(b *strings.Builder, from, to int) {
			for _, row := range rows {
				fmt.Fprintf(b, "%*s", widths[0], row[0])
				for i, cell := range row[1+from : 1+to] {
					fmt.Fprintf(b, "%*s", widths[1+from+i], cell)
				}
				b.WriteByte('\n')
			}
		})
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
		legend = append(legend, fmt.Sprintf("%s < %g", strings.TrimSpace(shades[i].signs),
			shade.from))
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

// An Attribution is what gpt attribute shows.
type Attribution struct {
	Tokens []int `json:"tokens"`
	*inside.Attribution
	Name func(id int) string `json:"-"` // the text of a token
}

// title says what the parts add up to.
func (a *Attribution) title() string {
	against := "the mean of all logits"
	if a.Against != nil {
		against = "that of " + webparts.Quoted(a.Name(*a.Against))
	}
	last := a.Tokens[len(a.Tokens)-1]
	return fmt.Sprintf("after %s, the logit of %s less %s", webparts.Quoted(a.Name(last)),
		webparts.Quoted(a.Name(a.Target)), against)
}

// Bars is a table of the parts, the largest first, whatever their sign: of at most so many (0 is
// all), and the rest as one number. Lines have at most so many columns, if columns is not 0 and
// there is room for the numbers.
func (a *Attribution) Bars(top, columns int) string {
	parts := slices.Clone(a.Parts)
	slices.SortStableFunc(parts, func(p, q inside.Part) int {
		return cmp.Compare(math.Abs(q.Value), math.Abs(p.Value))
	})
	if top == 0 {
		top = len(parts)
	}
	const numbers = "%-15s  %+8.3f" // in 25 columns
	half := 24                      // of the columns for bars: one side
	if columns > 0 {
		half = max(0, min(half, (columns-28)/2))
	}
	largest := math.Max(math.Abs(parts[0].Value), 1e-30)
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", Wrapped(a.title()+":", columns))
	rest := 0.0
	for i, part := range parts {
		if i >= top {
			rest += part.Value
			continue
		}
		bar := strings.Repeat("█", int(math.Abs(part.Value)/largest*float64(half)+0.5))
		switch {
		case half < 2: // no room for bars
			bar = ""
		case part.Value < 0:
			bar = fmt.Sprintf("  %*s│", half, bar)
		default:
			bar = fmt.Sprintf("  %*s│%s", half, "", bar)
		}
		fmt.Fprintf(&b, numbers+"%s\n", part.Name, part.Value, bar)
	}
	if more := len(parts) - top; more > 0 {
		fmt.Fprintf(&b, numbers+"\n", quote.Count(more, "other part"), rest)
	}
	fmt.Fprintf(&b, numbers+"\n"+numbers+"\n", "sum", a.Sum, "difference", a.Difference)
	if len(a.Neurons) > 0 {
		b.WriteString("\nof the MLPs:\n")
	}
	for _, part := range a.Neurons {
		fmt.Fprintf(&b, numbers+"\n", part.Name, part.Value)
	}
	return b.String()
}
