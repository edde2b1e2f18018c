package show

// What a prediction depends on: shares of patching, parts, tokens.

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"picogpt/inside"
	"picogpt/internal/quote"
	"picogpt/model"
)

// approximate says of a table that gradients made it, and how far off they are.
func approximate(into string, g *inside.Approximation) string {
	into += ", as gradients foretell it"
	if g.Steps > 0 {
		into += fmt.Sprintf(" (%d steps, %s)", g.Steps, g.Rule)
	}
	if g.Largest != nil {
		into += fmt.Sprintf("; beside the runs the metrics are off by %.3g at most, %.3g in the "+
			"mean", *g.Largest, *g.Mean)
		if g.Correlation != nil {
			into += fmt.Sprintf(", correlation %.3f", *g.Correlation)
		}
	}
	return into
}

// PatchRows returns the rows of a table that are shown: all layers; of single heads those with an
// effect of at least 0.005, or of twice that, and so on, until there are at most 160, and the first.
func PatchRows(t *inside.PatchTable) (rows []int) {
	unchanged, effects := 0.0, make([]float64, len(t.Share))
	if t.Noising {
		unchanged = 1
	}
	for i, row := range t.Share {
		for _, share := range row {
			effects[i] = max(effects[i], math.Abs(share-unchanged))
		}
	}
	for least := 0.005; rows == nil || len(rows) > 160 && t.By != ""; least *= 2 {
		rows = nil
		for i, effect := range effects {
			if i == 0 || t.By == "" || effect >= least {
				rows = append(rows, i)
			}
		}
	}
	return rows
}

// PatchName says which places a table has: "z by position to 9.9.q"; more is what they are of.
func PatchName(t *inside.PatchTable, more string) string {
	point := model.Point{Kind: t.At, Layer: model.AllLayers}.String()
	name := strings.TrimPrefix(point[strings.LastIndexByte(point, '.')+1:], "hook_")
	if t.By != "" {
		name += " by " + string(t.By)
	}
	for i, r := range t.To {
		name += []string{" to ", " and "}[min(i, 1)] + r.String()
	}
	if t.Through {
		name += " through MLPs"
	}
	if name += more; t.ByGradient != nil {
		name = approximate(name, t.ByGradient)
	}
	return name
}

// Patch is the table of patching: layers or heads down, tokens or heads across.
func Patch(name func(id int) string, t *inside.PatchTable) *Grid {
	g := &Grid{Down: "layer", Across: "token"}
	switch {
	case t.By != "":
		g.Down = "head"
	case t.At.PerHead():
		g.Across = "head"
	}
	for _, i := range PatchRows(t) {
		cells := make([]string, len(t.Share[i]))
		for j, share := range t.Share[i] {
			cells[j] = fmt.Sprintf("%.2f", math.Round(100*share)/100+0) // no −0
		}
		g.Rows, g.Cells = append(g.Rows, t.Rows[i]), append(g.Cells, cells)
	}
	for i := range t.Share[0] {
		title := fmt.Sprintf("%*d", len(fmt.Sprint(len(t.Share[0])-1)), i)
		if g.Across == "token" {
			clean, corrupted := t.IDs[0][i], t.IDs[1][i]
			if title += " " + quote.Short(name(clean), 40); clean != corrupted {
				title += " or " + quote.Short(name(corrupted), 40)
			}
		}
		g.Columns = append(g.Columns, title)
	}
	return g
}

// Parts is a line for each part, those that are farthest from a number first; metric is that of one
// text.
func Parts(metric string, s *inside.PartSet, top int, from float64) string {
	parts := slices.Clone(s.Parts)
	slices.SortStableFunc(parts, func(a, b inside.MeanPart) int {
		return cmp.Compare(math.Abs(b.Mean-from), math.Abs(a.Mean-from))
	})
	var b strings.Builder
	if len(s.Texts) == 1 {
		fmt.Fprintf(&b, "%s: %.3f\n\n", metric, s.Difference.Mean)
	} else {
		fmt.Fprintf(&b, "%d pairs, the answer's logit: %.3f, spread %.3f\n\n", len(s.Texts),
			s.Difference.Mean, s.Difference.Spread)
	}
	fmt.Fprintf(&b, "%-12s %9s %9s %9s\n", "part", "mean", "change", "spread")
	if top > 0 {
		parts = parts[:min(top, len(parts))]
	}
	for _, p := range parts {
		fmt.Fprintf(&b, "%-12s %+9.3f %+9.3f %9.3f\n", p.Name, p.Mean, p.Mean-s.Difference.Mean,
			p.Spread)
	}
	if len(s.Neurons) > 0 {
		b.WriteString("\nof the MLPs       mean              spread\n")
	}
	for _, p := range s.Neurons {
		fmt.Fprintf(&b, "%-12s %+9.3f %19.3f\n", p.Name, p.Mean, p.Spread)
	}
	return b.String()
}

// Saliency is a line for each token, below what is explained.
func Saliency(metric string, name func(id int) string, t *inside.SaliencyTable) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %.3f\n\n at  gradient  · embedding", metric, t.Difference)
	if t.Integrated != nil {
		b.WriteString("  integrated")
	}
	b.WriteString("  token\n")
	for i, id := range t.Tokens {
		fmt.Fprintf(&b, "%3d  %8.3f  %+11.3f", i, t.Norm[i], t.Dot[i])
		if t.Integrated != nil {
			fmt.Fprintf(&b, "  %+10.3f", t.Integrated[i])
		}
		fmt.Fprintf(&b, "  %s\n", quote.Short(name(id), 40))
	}
	if t.Integrated != nil {
		fmt.Fprintf(&b, "\n%d steps, %s; the baseline has %.3f, and the sum of all misses the "+
			"difference by %.2g\n", t.Steps, t.Rule, *t.Base, *t.Gap)
	}
	return b.String()
}
