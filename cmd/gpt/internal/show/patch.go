package show

// Patching: a table of shares.

import (
	"fmt"
	"math"

	"picogpt/inside"
	"picogpt/internal/quote"
)

// Approximate says of a table that gradients made it, and how far off they are.
func Approximate(into string, g *inside.Approximation) string {
	into += ", as gradients foretell it"
	if g.Steps > 0 {
		into += fmt.Sprintf(" (%d steps, %s)", g.Steps, g.Rule)
	}
	if g.Largest != nil {
		into += fmt.Sprintf("; beside the runs the metrics are off by %.3g at most, %.3g in the mean",
			*g.Largest, *g.Mean)
		if g.Correlation != nil {
			into += fmt.Sprintf(", correlation %.3f", *g.Correlation)
		}
	}
	return into
}

// Patch is the table of patching: layers down, tokens or heads across.
func Patch(name func(id int) string, t *inside.PatchTable) *Grid {
	g := &Grid{Down: "layer", Across: "token"}
	if t.At.PerHead() {
		g.Across = "head"
	}
	for layer, row := range t.Share {
		cells := make([]string, len(row))
		for i, share := range row {
			cells[i] = fmt.Sprintf("%.2f", math.Round(100*share)/100+0) // no −0
		}
		g.Rows, g.Cells = append(g.Rows, fmt.Sprint(layer)), append(g.Cells, cells)
	}
	for i := range t.Share[0] {
		title := fmt.Sprintf("%*d", len(fmt.Sprint(len(t.Share[0])-1)), i)
		if !t.At.PerHead() {
			clean, corrupted := t.IDs[0][i], t.IDs[1][i]
			if title += " " + quote.Short(name(clean), 40); clean != corrupted {
				title += " or " + quote.Short(name(corrupted), 40)
			}
		}
		g.Columns = append(g.Columns, title)
	}
	return g
}
