package show

// Layouts: tables and lines that fit a terminal.

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"picogpt/cmd/gpt/internal/terminal"
)

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
	return inTables(names, columns, width, func(b *strings.Builder, from, to int) {
		g.write(b, names, columns, from, to)
	})
}

// inTables returns several tables, one below the other, each with the names of the rows and with as
// many of the columns as fit into a width. write writes a table of the columns from one to another.
func inTables(
	names int, columns []int, width int, write func(b *strings.Builder, from, to int),
) string {
	var b strings.Builder
	for from := 0; from < len(columns); {
		to := from + 1
		for to < len(columns) && names+sum(columns[from:to+1]) <= width {
			to++
		}
		if from > 0 {
			b.WriteByte('\n')
		}
		write(&b, from, to)
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

// table aligns cells: the first columns at their right, so many of them, the others at their left.
func table(rows [][]string, right int) string {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], terminal.Width(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		line := ""
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-terminal.Width(cell))
			if i < right {
				line += pad + cell + "  "
			} else {
				line += cell + pad + "  "
			}
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
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

// wrapped returns a text with its pieces in lines of so many columns, 0 for one line. A piece that
// is longer has a line of its own. between stands between two pieces of a line.
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
