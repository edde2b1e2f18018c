package picture

// Charts of bars: groups of one bar for each of some series.

import (
	"fmt"
	"html"
	"slices"
	"strings"
)

// A Chart has panels side by side, each with an axis of its own that begins at 0.
type Chart struct {
	Title  string // for those who cannot see it
	Note   string // at the right of the legend
	Series []string
	Panels []Panel
}

// A Panel has groups below each other.
type Panel struct {
	Title  string
	Groups []Group
}

// A Group has a value for each series, 0 where there is none, as it is written.
type Group struct {
	Name   string
	Values []float64
	Labels []string
}

const (
	panelWidth, panelGap  = 360.0, 28.0
	nameWidth, labelWidth = 52.0, 44.0 // of groups, and of values
	barHeight, groupGap   = 14.0, 14.0
	legendHeight          = 34.0
	sans                  = "system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif"
)

var seriesColours = []string{"#0969da", "#e16f24", "#8c959f", "#8250df"}

// SVG draws a chart.
func (c *Chart) SVG() []byte {
	group := float64(len(c.Series))*(barHeight+2) + groupGap
	width := 2*margin + float64(len(c.Panels))*(panelWidth+panelGap) - panelGap
	height := 2*margin + legendHeight + 30 + float64(len(c.Panels[0].Groups))*group - groupGap
	var b strings.Builder
	begin(&b, width, height, c.Title)
	fmt.Fprintf(&b, `<g font-family="%s" font-size="13" fill="%s">`+"\n", sans, ink)
	left := margin
	for i, name := range c.Series {
		fmt.Fprintf(&b, `<rect x="%.4g" y="%.4g" width="12" height="12" rx="2" fill="%s"/>`+
			`<text x="%.4g" y="%.4g">%s</text>`+"\n", left, margin+2, seriesColours[i], left+18,
			margin+13, html.EscapeString(name))
		left += 48 + 7.2*float64(len(name))
	}
	fmt.Fprintf(&b, `<text x="%.4g" y="%.4g" text-anchor="end" fill="%s">%s</text>`+"\n",
		width-margin, margin+13, faint, html.EscapeString(c.Note))
	for i, p := range c.Panels {
		p.draw(&b, margin+float64(i)*(panelWidth+panelGap), margin+legendHeight, group)
	}
	b.WriteString("</g>\n</svg>\n")
	return []byte(b.String())
}

func (p *Panel) draw(b *strings.Builder, left, top, height float64) {
	most := 0.0
	for _, g := range p.Groups {
		most = max(most, slices.Max(g.Values))
	}
	fmt.Fprintf(b, `<text x="%.4g" y="%.4g" font-weight="600">%s</text>`+"\n", left, top+13,
		html.EscapeString(p.Title))
	top += 30
	zero, room := left+nameWidth, panelWidth-nameWidth-labelWidth
	for _, g := range p.Groups {
		middle := top + (height-groupGap)/2 + 4
		fmt.Fprintf(b, `<text x="%.4g" y="%.4g" text-anchor="end">%s</text>`+"\n", zero-8, middle,
			html.EscapeString(g.Name))
		for i, v := range g.Values {
			y := top + float64(i)*(barHeight+2)
			if v > 0 {
				fmt.Fprintf(b, `<rect x="%.4g" y="%.4g" width="%.4g" height="%.4g" rx="2" fill="%s"/>`+"\n",
					zero, y, max(1, v/most*room), barHeight, seriesColours[i])
			}
			fmt.Fprintf(b, `<text x="%.4g" y="%.4g" font-size="12" fill="%s">%s</text>`+"\n",
				zero+v/most*room+6, y+11.5, faint, html.EscapeString(g.Labels[i]))
		}
		top += height
	}
}
