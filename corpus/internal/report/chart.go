package report

// The picture: documents by perplexity, the share of them below, the part that a filter keeps.

import (
	"fmt"
	"math"
	"strings"

	"picogpt/internal/plot"
)

// Widths are in thousandths of the picture's, which is as wide as the window lets it be; heights
// are in pixels.
const (
	chartWidth  = 1000
	barsHeight  = 240
	headHeight  = 30 // what the axes count
	labelHeight = 18 // a row of labels of cuts
	footHeight  = 40 // ticks and their name
)

// A chart is what page.html draws.
type chart struct {
	Description              string
	Height, Top, Bottom      int // of the picture; where the bars begin and end
	BarsHeight, TickEnd      int
	KeptFrom, KeptWidth      string // the ground of what is kept, in percent; empty: no filter
	Kept, Dropped, Line      string // paths
	Across                   []acrossTick
	Up                       []upTick
	Cuts                     []cutLabel
	Hits                     []hit
	KeptDocuments, KeptShare string
	DroppedShare             string
}

type acrossTick struct {
	At    string // in percent
	Label string
	Long  bool // the label is left out where the picture is narrow
}

type upTick struct {
	Y            int
	Count, Share string
}

// A hit is where a bin says its numbers, at the mouse.
type hit struct{ At, Width, Text string }

// A span is the part of a histogram that is drawn: bins first to last.
type span struct {
	*Histogram
	axis         plot.Log
	first, last  int
	total        int64
	before, past int64 // documents on both sides that are not drawn
}

// span leaves out at most one document in 2000 at each end, lest a few of them take most of the
// axis. Cuts are on it, if they are not far from all documents. It is false if there is nothing.
func (r *Report) span() (span, bool) {
	s := span{Histogram: r.Histogram, last: bins - 1}
	if s.Histogram == nil {
		return s, false
	}
	s.total = s.Documents()
	s.before, s.past = s.Below, s.Above
	if s.before+s.past == s.total {
		return s, false
	}
	for ; s.before+s.Counts[s.first] <= s.total/2000; s.first++ {
		s.before += s.Counts[s.first]
	}
	for ; s.past+s.Counts[s.last] <= s.total/2000; s.last-- {
		s.past += s.Counts[s.last]
	}
	low, high := edge(s.first), edge(s.last+1)
	s.axis = plot.Log{Low: low, High: high, From: 0, To: chartWidth}
	if r.Filter != nil {
		for _, c := range r.Filter.Cuts {
			if c.Perplexity >= low/10 && c.Perplexity <= high*10 {
				s.axis.Low = min(s.axis.Low, c.Perplexity)
				s.axis.High = max(s.axis.High, c.Perplexity)
			}
		}
	}
	s.axis = s.axis.Rounded()
	for ; s.first > 0 && edge(s.first-1) >= s.axis.Low; s.first-- { // there is room for more
		s.before -= s.Counts[s.first-1]
	}
	for ; s.last < bins-1 && edge(s.last+2) <= s.axis.High; s.last++ {
		s.past -= s.Counts[s.last+1]
	}
	return s, true
}

// chart is nil if there is nothing to draw.
func (r *Report) chart() *chart {
	s, found := r.span()
	if !found {
		return nil
	}
	c := &chart{BarsHeight: barsHeight, Line: s.line(), Hits: s.hits(), Across: s.across()}
	rows := 0
	if r.Filter != nil {
		c.Cuts, rows = r.Filter.labels(s.axis)
	}
	c.Top = headHeight + labelHeight*rows
	c.Bottom = c.Top + barsHeight
	c.TickEnd, c.Height = c.Bottom+5, c.Bottom+footHeight
	for i := range c.Cuts {
		l := &c.Cuts[i]
		l.Y = c.Top - 8 - labelHeight*l.row
		l.LineTop = l.Y - 10
	}
	highest := s.highest()
	step := quarter(s.Counts[highest])
	for i := range int64(5) {
		c.Up = append(c.Up, upTick{c.Bottom - int(i)*barsHeight/4, short(i * step),
			fmt.Sprintf("%d\u00a0%%", 25*i)})
	}
	from, to := r.Filter.kept(s.axis)
	c.Kept, c.Dropped = s.bars(4*step, from, to)
	c.Description = fmt.Sprintf("Perplexity from %s to %s on a logarithmic axis. The bars count %s; the highest has %s, at perplexities from %s. A line shows the share of documents below each perplexity.",
		power(s.axis.Low), power(s.axis.High), documents(s.total), whole(s.Counts[highest]),
		s.between(highest))
	if r.Filter != nil {
		c.KeptFrom, c.KeptWidth = at(from), at(to-from)
		c.KeptDocuments, c.KeptShare = documents(r.Filter.Kept), percent(r.Filter.Kept, r.Records)
		c.DroppedShare = percent(r.Records-r.Filter.Kept, r.Records)
	}
	return c
}

// highest is the bin with most documents.
func (s *span) highest() int {
	best := s.first
	for i := s.first; i <= s.last; i++ {
		if s.Counts[i] > s.Counts[best] {
			best = i
		}
	}
	return best
}

func (s *span) between(i int) string {
	return number(edge(i), 4) + " to " + number(edge(i+1), 4)
}

// quarter is a plain number of which four are n or more: 1, 2, 2.5, 3, 4, 5, 6 or 8 times a power
// of ten.
func quarter(n int64) int64 {
	for unit := int64(1); ; unit *= 10 {
		for _, tenths := range []int64{10, 20, 25, 30, 40, 50, 60, 80} {
			if step := unit * tenths / 10; unit*tenths%10 == 0 && n <= 4*step {
				return step
			}
		}
	}
}

// across are the ticks. Where the picture is narrow, as on a phone, fewer have a label.
func (s *span) across() []acrossTick {
	narrow := s.axis
	narrow.To = narrowChart
	wide := s.axis
	wide.To = wideChart
	few := narrow.Ticks(44)
	var all []acrossTick
	for i, tick := range wide.Ticks(44) {
		t := acrossTick{At: at(s.axis.At(tick.Value)), Long: tick.Label && !few[i].Label}
		if tick.Label {
			t.Label = power(tick.Value)
		}
		all = append(all, t)
	}
	return all
}

// at writes a place across as a percentage of the width.
func at(x float64) string { return fmt.Sprintf("%.2f%%", x*100/chartWidth) }

// line is the share of the documents below each perplexity. It bends where there are documents.
func (s *span) line() string {
	var b strings.Builder
	below, drawn := s.before, -1 // how far the line goes: an edge
	y := func() float64 { return barsHeight * (1 - float64(below)/float64(s.total)) }
	fmt.Fprintf(&b, "M0 %.1f", y())
	for i := s.first; i <= s.last; i++ {
		if s.Counts[i] == 0 {
			continue
		}
		if drawn != i {
			fmt.Fprintf(&b, "H%.1f", s.axis.At(edge(i)))
		}
		below += s.Counts[i]
		drawn = i + 1
		fmt.Fprintf(&b, "L%.1f %.1f", s.axis.At(edge(drawn)), y())
	}
	fmt.Fprintf(&b, "H%d", chartWidth)
	return b.String()
}

// bars are outlines of the bars between two places, and of the rest. A cut divides a bar. The
// lowest bar is one pixel high: it can be seen.
func (s *span) bars(top int64, from, to float64) (kept, dropped string) {
	var in, out outline
	for i := s.first; i <= s.last; i++ {
		if s.Counts[i] == 0 {
			continue
		}
		height := max(1, barsHeight*float64(s.Counts[i])/float64(top))
		left, right := s.axis.At(edge(i)), s.axis.At(edge(i+1))
		a, b := min(max(from, left), right), min(max(to, left), right)
		out.bar(left, a, height)
		in.bar(a, b, height)
		out.bar(b, right, height)
	}
	return in.close(), out.close()
}

// An outline is a path around bars. Those that touch are one shape, without seams.
type outline struct {
	path strings.Builder
	end  float64 // of the shape that is open; 0: none
}

func (o *outline) bar(left, right, height float64) {
	if right <= left {
		return
	}
	if o.end == 0 || o.end != left {
		o.close()
		fmt.Fprintf(&o.path, "M%.1f %d", left, barsHeight)
	}
	fmt.Fprintf(&o.path, "V%.1fH%.1f", barsHeight-height, right)
	o.end = right
}

func (o *outline) close() string {
	if o.end > 0 {
		fmt.Fprintf(&o.path, "V%dZ", barsHeight)
	}
	o.end = 0
	return o.path.String()
}

// hits are the numbers of the bins.
func (s *span) hits() []hit {
	var all []hit
	for i := s.first; i <= s.last; i++ {
		if s.Counts[i] == 0 {
			continue
		}
		left, right := s.axis.At(edge(i)), s.axis.At(edge(i+1))
		all = append(all, hit{at(left), at(right - left), fmt.Sprintf("%s: %s, %s", s.between(i),
			documents(s.Counts[i]), percent(s.Counts[i], s.total))})
	}
	return all
}

// kept is the part of the axis that all cuts keep; without a filter all of it.
func (f *Filter) kept(axis plot.Log) (from, to float64) {
	low, high := f.limits()
	place := func(v float64) float64 {
		return axis.At(math.Min(math.Max(v, axis.Low), axis.High))
	}
	return place(low), max(place(low), place(high))
}

// limits are the perplexities between which documents are kept: 0 and infinite if no cut says so.
func (f *Filter) limits() (low, high float64) {
	high = math.Inf(1)
	if f == nil {
		return low, high
	}
	for _, c := range f.Cuts {
		switch {
		case math.IsNaN(c.Perplexity):
		case c.KeepsBelow:
			high = min(high, c.Perplexity)
		default:
			low = max(low, c.Perplexity)
		}
	}
	return low, high
}
