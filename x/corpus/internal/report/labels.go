package report

// The labels of cuts, arranged so that none covers another at any width of the picture.

import (
	"slices"
	"strings"

	"picogpt/internal/quote"
	"picogpt/internal/webparts"
)

// The least widths of the picture, in pixels: in a window of 320 pixels, and in the narrowest
// window with long labels. Labels may extend into its margins.
const (
	narrowChart, wideChart  = 200, 460
	leftMargin, rightMargin = 44, 36

	longestLabel = 24
	// Sizes of a label in pixels: a character of the widest common fonts at 12 pixels, and the
	// distance from its line.
	characterWidth, labelDistance = 7.2, 6
)

// A cutLabel stands beside the top of its line, left or right. Its text is Long followed by Short;
// in a narrow picture it is Short only.
type cutLabel struct {
	At          string // in percent
	Y, LineTop  int
	Left        bool
	Long, Short string

	x   float64 // from 0 to 1
	row int     // from the bars upwards
}

// labels returns the labels of the cuts on the axis, and the number of their rows.
func (f *Filter) labels(axis webparts.Log) (labels []cutLabel, rows int) {
	for _, c := range f.Cuts {
		if !(c.Perplexity >= axis.Low && c.Perplexity <= axis.High) {
			continue
		}
		x := axis.At(c.Perplexity)
		l := cutLabel{At: at(x), x: x / chartWidth, Short: brief(c.Perplexity)}
		l.Long = strings.TrimSuffix(shorten(c.Label), l.Short)
		if l.Long != "" && !strings.HasSuffix(l.Long, " ") {
			l.Long += ": "
		}
		// On the side that is not kept, if there is room.
		l.Left = !c.KeepsBelow
		if !l.fits() {
			l.Left = !l.Left
		}
		labels = append(labels, l)
	}
	return labels, arrange(labels)
}

func shorten(label string) string {
	label = quote.Plain(label, 100)
	if r := []rune(label); len(r) > longestLabel-9 { // with a number beside it
		return string(r[:longestLabel-10]) + "…"
	}
	return label
}

// box returns the area of a label with its line at a width of the picture, in pixels.
func (l *cutLabel) box(width float64) (from, to float64) {
	text := l.Short
	if width >= wideChart {
		text = l.Long + l.Short
	}
	long := labelDistance + characterWidth*float64(len([]rune(text)))
	if x := l.x * width; l.Left {
		return x - long, x
	} else {
		return x, x + long
	}
}

func (l *cutLabel) fits() bool {
	for _, width := range []float64{narrowChart, wideChart} {
		if from, to := l.box(width); from < -leftMargin || to > width+rightMargin {
			return false
		}
	}
	return true
}

// touches reports whether two labels or their lines would meet in one row. If they do not at the
// least width, they do not at a greater one: the lines move apart, and labels stay as long as they
// are.
func (l *cutLabel) touches(m *cutLabel) bool {
	for _, width := range []float64{narrowChart, wideChart} {
		from, to := l.box(width)
		if start, end := m.box(width); from <= end && start <= to {
			return true
		}
	}
	return false
}

// arrange assigns rows to labels and returns the number of rows. Of labels to the right of their
// lines the rightmost is in the lowest row, of those to the left the leftmost: no line crosses
// another's label.
func arrange(labels []cutLabel) (rows int) {
	order := make([]*cutLabel, len(labels))
	for i := range labels {
		order[i] = &labels[i]
	}
	slices.SortStableFunc(order, func(a, b *cutLabel) int {
		switch {
		case a.Left != b.Left && a.Left:
			return 1
		case a.Left != b.Left:
			return -1
		case a.Left == (a.x < b.x):
			return -1
		}
		return 1
	})
	for i, l := range order {
		for _, below := range order[:i] {
			if l.touches(below) {
				l.row = max(l.row, below.row+1)
			}
		}
		rows = max(rows, l.row+1)
	}
	return rows
}
