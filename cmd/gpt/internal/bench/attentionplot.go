package bench

// The picture of the attention run: time against tokens, both logarithmic, so that a power is a
// straight line. It is written as SVG here: a plotting library would be ten times the size of all
// the rest of this command.

import (
	"bytes"
	"fmt"
	"io"
	"math"

	"picogpt/internal/webparts"
)

const (
	plotWidth, plotHeight = 920, 560
	plotLeft, plotRight   = 80, 600 // of the axes; the names stand to their right
	plotTop, plotBottom   = 50, 500
)

// plotColors are the series', in order; a dash tells two of one color apart.
var plotColors = []string{"#1b6ca8", "#7fb3d5", "#b5651d", "#e59866", "#1e8449", "#58d68d",
	"#a9dfbf", "#8e44ad", "#c39bd3"}

// SVG writes the picture.
func (a *Attention) SVG(w io.Writer) error {
	x, y := a.plotAxes()
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" font-family="sans-serif" font-size="13">`+"\n", plotWidth, plotHeight)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="white"/>`+"\n", plotWidth, plotHeight)
	fmt.Fprintf(&b, `<text x="%d" y="26" font-size="16">Attention: time against tokens (d_model %d, %d threads, kernels %s)</text>`+"\n", plotLeft, a.Width, a.Threads, a.Kernel)
	for _, tick := range y.Ticks(18) {
		fmt.Fprintf(&b, `<path d="M%d %.1fH%d" stroke="#ddd"/>`, plotLeft, tick.At, plotRight)
		if tick.Label {
			fmt.Fprintf(&b, `<text x="%d" y="%.1f" text-anchor="end">%s</text>`, plotLeft-8, tick.At+4, milliseconds(tick.Value))
		}
		b.WriteByte('\n')
	}
	for _, p := range a.Series[0].Points {
		at := x.At(float64(p.Tokens))
		fmt.Fprintf(&b, `<path d="M%.1f %dV%d" stroke="#ddd"/><text x="%.1f" y="%d" text-anchor="middle">%d</text>`+"\n", at, plotTop, plotBottom, at, plotBottom+20, p.Tokens)
	}
	fmt.Fprintf(&b, `<path d="M%d %dV%dH%d" fill="none" stroke="black"/><text x="%d" y="%d" text-anchor="middle">tokens</text>`+"\n",
		plotLeft, plotTop, plotBottom, plotRight, (plotLeft+plotRight)/2, plotBottom+44)
	for i := range a.Series {
		a.plotSeries(&b, i, x, y)
	}
	b.WriteString("</svg>\n")
	_, err := w.Write(b.Bytes())
	return err
}

// plotAxes span all points.
func (a *Attention) plotAxes() (x, y webparts.Log) {
	x = webparts.Log{Low: math.Inf(1), From: plotLeft, To: plotRight}
	y = webparts.Log{Low: math.Inf(1), From: plotBottom, To: plotTop}
	for _, s := range a.Series {
		for _, p := range s.Points {
			x.Low, x.High = min(x.Low, float64(p.Tokens)), max(x.High, float64(p.Tokens))
			y.Low, y.High = min(y.Low, p.MS), max(y.High, p.MS)
		}
	}
	if x.Low == x.High { // one length only
		x = x.Rounded()
	}
	return x, y.Rounded()
}

func (a *Attention) plotSeries(b *bytes.Buffer, i int, x, y webparts.Log) {
	s, color := &a.Series[i], plotColors[i%len(plotColors)]
	fmt.Fprintf(b, `<polyline fill="none" stroke="%s" stroke-width="2" points="`, color)
	for _, p := range s.Points {
		fmt.Fprintf(b, "%.1f,%.1f ", x.At(float64(p.Tokens)), y.At(p.MS))
	}
	b.WriteString(`"/>`)
	for _, p := range s.Points {
		fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`, x.At(float64(p.Tokens)),
			y.At(p.MS), color)
	}
	name := s.Name
	if s.Exponent != 0 {
		name += fmt.Sprintf(": N^%.2f", s.Exponent)
	}
	row := plotTop + 14 + 22*i
	fmt.Fprintf(b, `<path d="M%d %dh18" stroke="%s" stroke-width="3"/><text x="%d" y="%d">%s</text>`+"\n", plotRight+16, row-4, color, plotRight+40, row, name)
}

func milliseconds(ms float64) string {
	if ms >= 1000 {
		return fmt.Sprintf("%g s", ms/1000)
	}
	return fmt.Sprintf("%.3g ms", ms)
}
