package bench

// Attention for people.

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Print prints the points in columns.
func (r *Attention) Print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 1, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "attention, width %d, kernels %s, %d threads, medians of %d rounds\n"+
		"peak %.0f GFLOP/s\n\n", r.Width, r.Kernel, r.Threads, r.Rounds, r.FMAGFlops)
	point := func(name string, p AttentionPoint, note string) {
		memory := "-"
		if p.PeakMB > 0 {
			memory = fmt.Sprintf("%.0f", p.PeakMB)
		}
		digits := 2 // of milliseconds, of which a column of 8 has room
		if p.MS >= 1e4 {
			digits = 0
		}
		fmt.Fprintf(t, "%s\t%d\t%.*f\t%.0f\t%.2f\t%s\t %s\n", name, p.Tokens, digits, p.MS, p.GFlops,
			p.Ratio, memory, note)
	}
	fmt.Fprintln(t, "\ttokens\tms\tGFLOP/s\tof peak\tMB\t ")
	for _, s := range r.Series {
		for i, p := range s.Points {
			note := ""
			if i == len(s.Points)-1 && s.Exponent != 0 {
				note = fmt.Sprintf("N^%.2f", s.Exponent)
			}
			point(s.Name, p, note)
		}
	}
	for _, p := range r.Workloads {
		point(p.Name, p, "")
	}
	return t.Flush()
}
