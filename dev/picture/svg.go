package picture

// A screen as SVG.

import (
	"fmt"
	"html"
	"slices"
	"strings"
)

// The picture has a light ground of its own, so that it is legible on light and dark pages.
const (
	paper  = "#ffffff"
	border = "#d0d7de"
	ink    = "#1f2328"
	faint  = "#6e7781"

	cellWidth, cellHeight = 8.4, 20.0 // of a font of 14 pixels
	margin                = 16.0
	monospace             = "ui-monospace,SFMono-Regular,Menlo,Consolas,'Liberation Mono',monospace"
)

// SVG draws the terminal with what stands on it. title says what it shows to those who cannot see it.
func (s *Screen) SVG(title string) []byte {
	width := 2*margin + cellWidth*float64(s.columns)
	height := 2*margin + cellHeight*float64(len(s.rows))
	var b strings.Builder
	begin(&b, width, height, title)
	fmt.Fprintf(&b, `<g font-family="%s" font-size="14" fill="%s">`+"\n",
		monospace, ink)
	for y, row := range s.rows {
		for x := 0; x < len(row); {
			end := x + 1
			for end < len(row) && row[end].style == row[x].style &&
				(row[end].r == '█') == (row[x].r == '█') {
				end++
			}
			drawRun(&b, x, y, row[x:end])
			x = end
		}
	}
	b.WriteString("</g>\n</svg>\n")
	return []byte(b.String())
}

// begin writes the beginning of a picture: its size, its title and its ground.
func begin(b *strings.Builder, width, height float64, title string) {
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" width="%g" height="%g" `+
		`viewBox="0 0 %[1]g %g" role="img">`+"\n<title>%s</title>\n"+
		`<rect x="0.5" y="0.5" width="%g" height="%g" rx="8" fill="%s" stroke="%s"/>`+"\n",
		width, height, html.EscapeString(title), width-1, height-1, paper, border)
}

// drawRun draws characters of one style from column x of row y on. Each run has its exact width,
// whatever the font; blocks are rectangles, because fonts differ about them.
func drawRun(b *strings.Builder, x, y int, run []cell) {
	left, top := margin+cellWidth*float64(x), margin+cellHeight*float64(y)
	width := cellWidth * float64(len(run))
	if run[0].r == '█' {
		fmt.Fprintf(b, `<rect x="%.4g" y="%.4g" width="%.4g" height="14" fill="%s"/>`+"\n",
			left, top+3, width, "#54aeff")
		return
	}
	if ground := run[0].ground; ground > 0 {
		fmt.Fprintf(b, `<rect x="%.4g" y="%.4g" width="%.4g" height="%g" fill="%s"/>`+"\n",
			left, top, width, cellHeight, colour(ground-1))
	}
	// Words that are further apart than one space are drawn by themselves: SVG joins spaces.
	for x := 0; x < len(run); {
		end := x
		for end < len(run) && !(run[end].r == ' ' && (end+1 == len(run) || run[end+1].r == ' ')) {
			end++
		}
		drawText(b, left+cellWidth*float64(x), top+15, run[x:end])
		x = max(end, x+1)
	}
}

// drawText draws words of one style.
func drawText(b *strings.Builder, left, bottom float64, run []cell) {
	for len(run) > 0 && run[0].r == ' ' {
		run, left = run[1:], left+cellWidth
	}
	if len(run) == 0 {
		return
	}
	fmt.Fprintf(b, `<text x="%.4g" y="%.4g" textLength="%.4g"`, left, bottom,
		cellWidth*float64(len(run)))
	if run[0].bold {
		b.WriteString(` font-weight="600"`)
	}
	if run[0].text > 0 {
		fmt.Fprintf(b, ` fill="%s"`, colour(run[0].text-1))
	}
	var letters strings.Builder
	for _, c := range run {
		letters.WriteRune(c.r)
	}
	fmt.Fprintf(b, ">%s</text>\n", html.EscapeString(letters.String()))
}

// sixteen are the first colours of the palette, as they look on a light ground.
var sixteen = [16]string{ink, "#cf222e", "#116329", "#7d4e00", "#0969da", "#8250df", "#1b7c83",
	faint, faint, "#a40e26", "#1a7f37", "#9a6700", "#218bff", "#a475f9", "#3192aa", border}

// colour returns a colour of the palette of 256: 16 named ones, a cube of 216 and 24 greys.
func colour(n int) string {
	switch level := [6]int{0, 95, 135, 175, 215, 255}; {
	case n < 16:
		return sixteen[n]
	case n < 232:
		n -= 16
		return fmt.Sprintf("#%02x%02x%02x", level[n/36], level[n/6%6], level[n%6])
	default:
		grey := 8 + 10*(n-232)
		return fmt.Sprintf("#%02x%02x%02x", grey, grey, grey)
	}
}

// Charts of bars: groups of one bar for each of some series.

// A Chart has panels, two side by side, each with an axis of its own that begins at 0.
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

// A Group has a value for each series, and how it is written; where it is 0 there is no bar.
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

var seriesColours = []string{"#0969da", "#e16f24", "#8c959f", "#1a7f37", "#bf3989", "#8250df"}

// SVG draws a chart.
func (c *Chart) SVG() []byte {
	width := 2*margin + 2*panelWidth + panelGap
	height := 2*margin + legendHeight
	for i := 0; i < len(c.Panels); i += 2 {
		height += c.Panels[i].height()
	}
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
	top := margin + legendHeight
	for i, p := range c.Panels {
		p.draw(&b, margin+float64(i%2)*(panelWidth+panelGap), top)
		if i%2 == 1 {
			top += p.height()
		}
	}
	b.WriteString("</g>\n</svg>\n")
	return []byte(b.String())
}

// bars returns how many bars a group has.
func (g *Group) bars() (n int) {
	for _, v := range g.Values {
		if v > 0 {
			n++
		}
	}
	return n
}

func (p *Panel) height() float64 {
	height := 30.0
	for _, g := range p.Groups {
		height += float64(g.bars())*(barHeight+2) + groupGap
	}
	return height
}

func (p *Panel) draw(b *strings.Builder, left, top float64) {
	most := 0.0
	for _, g := range p.Groups {
		most = max(most, slices.Max(g.Values))
	}
	fmt.Fprintf(b, `<text x="%.4g" y="%.4g" font-weight="600">%s</text>`+"\n", left, top+13,
		html.EscapeString(p.Title))
	top += 30
	zero, room := left+nameWidth, panelWidth-nameWidth-labelWidth
	for _, g := range p.Groups {
		middle := top + float64(g.bars())*(barHeight+2)/2 + 4
		fmt.Fprintf(b, `<text x="%.4g" y="%.4g" text-anchor="end">%s</text>`+"\n", zero-8, middle,
			html.EscapeString(g.Name))
		for i, v := range g.Values {
			if v == 0 {
				continue
			}
			fmt.Fprintf(b, `<rect x="%.4g" y="%.4g" width="%.4g" height="%.4g" rx="2" fill="%s"/>`+"\n",
				zero, top, max(1, v/most*room), barHeight, seriesColours[i])
			fmt.Fprintf(b, `<text x="%.4g" y="%.4g" font-size="12" fill="%s">%s</text>`+"\n",
				zero+v/most*room+6, top+11.5, faint, html.EscapeString(g.Labels[i]))
			top += barHeight + 2
		}
		top += groupGap
	}
}
