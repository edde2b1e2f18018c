package bench

// The picture of the attention run: time against tokens, both logarithmic, so that a power is a
// straight line. It is written as SVG here: a plotting library would be ten times the size of all
// the rest of this command.

import (
	"bytes"
	"fmt"
	"io"
	"math"
)

const (
	plotWidth, plotHeight = 920, 560
	plotLeft, plotRight   = 80, 600 // of the axes; the names stand to their right
	plotTop, plotBottom   = 50, 500
)

// plotColors are the series', in order; a dash tells two of one color apart.
var plotColors = []string{"#1b6ca8", "#7fb3d5", "#b5651d", "#e59866", "#1e8449", "#58d68d",
	"#a9dfbf", "#8e44ad", "#c39bd3"}

// scale maps a logarithm to the picture.
type plotScale struct{ low, high, from, to float64 }

func (s plotScale) at(v float64) float64 {
	return s.from + (math.Log(v)-s.low)/(s.high-s.low)*(s.to-s.from)
}

// SVG writes the picture.
func (a *Attention) SVG(w io.Writer) error {
	x, y := a.plotScales()
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" font-family="sans-serif" font-size="13">`+"\n", plotWidth, plotHeight)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="white"/>`+"\n", plotWidth, plotHeight)
	fmt.Fprintf(&b, `<text x="%d" y="26" font-size="16">Attention: time against tokens (d_model %d, %d threads, kernels %s)</text>`+"\n", plotLeft, a.Width, a.Threads, a.Kernel)
	for ms := math.Pow(10, math.Floor(y.low/math.Ln10)); ms <= math.Exp(y.high)*1.001; ms *= 10 {
		at := y.at(ms)
		if at > plotBottom+0.5 {
			continue
		}
		fmt.Fprintf(&b, `<path d="M%d %.1fH%d" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n", plotLeft, at, plotRight, plotLeft-8, at+4, milliseconds(ms))
	}
	for _, p := range a.Series[0].Points {
		at := x.at(float64(p.Tokens))
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

// plotScales span all points.
func (a *Attention) plotScales() (x, y plotScale) {
	x, y = plotScale{math.Inf(1), math.Inf(-1), plotLeft, plotRight},
		plotScale{math.Inf(1), math.Inf(-1), plotBottom, plotTop}
	for _, s := range a.Series {
		for _, p := range s.Points {
			t, ms := math.Log(float64(p.Tokens)), math.Log(p.MS)
			x.low, x.high, y.low, y.high = min(x.low, t), max(x.high, t), min(y.low, ms),
				max(y.high, ms)
		}
	}
	if x.low == x.high { // one length only
		x.low, x.high = x.low-1, x.high+1
	}
	y.low, y.high = y.low-0.2, y.high+0.2
	return x, y
}

func (a *Attention) plotSeries(b *bytes.Buffer, i int, x, y plotScale) {
	s, color := &a.Series[i], plotColors[i%len(plotColors)]
	fmt.Fprintf(b, `<polyline fill="none" stroke="%s" stroke-width="2" points="`, color)
	for _, p := range s.Points {
		fmt.Fprintf(b, "%.1f,%.1f ", x.at(float64(p.Tokens)), y.at(p.MS))
	}
	b.WriteString(`"/>`)
	for _, p := range s.Points {
		fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`, x.at(float64(p.Tokens)),
			y.at(p.MS), color)
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
