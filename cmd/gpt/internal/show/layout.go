package show

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"picogpt/cmd/gpt/internal/terminal"
)

// Tables of numbers that fit a terminal.

// A Grid is a table of cells, with a name for each row and column.
type Grid struct {
	Down, Across  string     // what the rows are, and what the columns are
	Rows, Columns []string   // names
	Cells         [][]string // [rows][columns]
}

// Text lays the grid out in lines of a width. Where the columns do not fit, rows and columns change
// places; where they do not fit then either, they stand in several tables, one below the other, and
// names of rows are cut that leave no room for a column.
func (g *Grid) Text(width int) string {
	names, columns := g.widths()
	if names+sum(columns) > width {
		g = g.turned()
		names, columns = g.widths()
		if room := max(leastName, width-slices.Max(columns)); names > room {
			g.cutNames(room)
			names, columns = g.widths()
		}
	}
	var b strings.Builder
	for from := 0; from < len(columns); {
		to := from + 1
		for to < len(columns) && names+sum(columns[from:to+1]) <= width {
			to++
		}
		if from > 0 {
			b.WriteByte('\n')
		}
		g.write(&b, names, columns, from, to)
		from = to
	}
	return b.String()
}

// turned returns the grid with rows and columns in each other's place.
func (g *Grid) turned() *Grid {
	t := &Grid{Down: g.Across, Across: g.Down, Rows: g.Columns, Columns: g.Rows}
	for j := range g.Columns {
		var row []string
		for i := range g.Rows {
			row = append(row, g.Cells[i][j])
		}
		t.Cells = append(t.Cells, row)
	}
	return t
}

// cutNames makes the names of rows so narrow.
func (g *Grid) cutNames(columns int) {
	g.Down, g.Across = terminal.Cut(g.corner(), columns), ""
	for i, name := range g.Rows {
		g.Rows[i] = terminal.Cut(name, columns)
	}
}

func (g *Grid) corner() string { return strings.TrimSuffix(g.Down+" / "+g.Across, " / ") }

// widths returns those of the rows' names and of each column, with the space before it.
func (g *Grid) widths() (names int, columns []int) {
	names = terminal.Width(g.corner())
	for _, name := range g.Rows {
		names = max(names, terminal.Width(name))
	}
	for j, name := range g.Columns {
		width := terminal.Width(name)
		for _, row := range g.Cells {
			width = max(width, terminal.Width(row[j]))
		}
		columns = append(columns, len("  ")+width)
	}
	return names, columns
}

func sum(list []int) (all int) {
	for _, n := range list {
		all += n
	}
	return all
}

// write writes a table of the columns from one to another.
func (g *Grid) write(b *strings.Builder, names int, columns []int, from, to int) {
	line := func(name string, cells []string) {
		text := name + strings.Repeat(" ", names-terminal.Width(name))
		for j := from; j < to; j++ {
			text += strings.Repeat(" ", columns[j]-terminal.Width(cells[j])) + cells[j]
		}
		b.WriteString(strings.TrimRight(text, " ") + "\n")
	}
	line(g.corner(), g.Columns)
	for i, name := range g.Rows {
		line(name, g.Cells[i])
	}
}

// Lines that fit a terminal.

// wrapped returns a text with its pieces in lines of so many columns, 0 for one line. A piece that is
// longer has a line of its own. between stands between two pieces of a line.
func wrapped(pieces []string, between string, columns int) string {
	var b strings.Builder
	at := 0
	for i, piece := range pieces {
		width := terminal.Width(piece)
		switch room := columns - at - len(between); {
		case i == 0:
		case columns > 0 && width > room:
			b.WriteByte('\n')
			at = 0
		default:
			b.WriteString(between)
			at += len(between)
		}
		b.WriteString(piece)
		at += width
	}
	return b.String()
}

// Wrapped returns a sentence in lines of so many columns, 0 for one line.
func Wrapped(sentence string, columns int) string {
	return wrapped(strings.Split(sentence, " "), " ", columns)
}

// Percent is a probability with so many digits after the point. A small one has two significant
// digits, so that none but 0 looks like nothing.
func Percent(p float64, digits int) string {
	if p > 0 && p < math.Pow10(-digits-1) {
		return fmt.Sprintf("%.2g%%", 100*p)
	}
	return fmt.Sprintf("%.*f%%", digits, 100*p)
}
