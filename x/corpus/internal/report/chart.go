package report

// The picture: documents by perplexity, the share of them below each perplexity, the part that a
// filter keeps.

import (
	"fmt"
	"math"
	"strings"

	"picogpt/internal/webparts"
)

// Widths are in thousandths of the picture's, which depends on the window; heights are in pixels.
const (
	chartWidth  = 1000
	barsHeight  = 240
	headHeight  = 30 // for the descriptions of the axes
	labelHeight = 18 // a row of labels of cuts
	footHeight  = 40 // ticks and the axis's name
)

// A chart is what page.html draws.
type chart struct {
	Description         string
	Height, Top, Bottom int // of the picture; top and bottom of the bars
	BarsHeight, TickEnd int
	// background of the kept part, in percent; empty without a filter
	KeptFrom, KeptWidth      string
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
	Long  bool // the label is left out if the picture is narrow
}

type upTick struct {
	Y            int
	Count, Share string
}

// A hit is the area in which a bin shows its numbers at the mouse pointer.
type hit struct{ At, Width, Text string }

// A span is the part of a histogram that is drawn: bins first to last.
type span struct {
	*Histogram
	axis         webparts.Log
	first, last  int
	total        int64
	before, past int64 // number of documents on both sides that are not drawn
}

// span leaves out at most one document in 2000 at each end, so that a few of them do not take most
// of the axis. It includes cuts unless they are far from all documents. ok is false if there is
// nothing to draw.
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
	s.axis = webparts.Log{Low: low, High: high, From: 0, To: chartWidth}
	if r.Filter != nil {
		for _, c := range r.Filter.Cuts {
			if c.Perplexity >= low/10 && c.Perplexity <= high*10 {
				s.axis.Low = min(s.axis.Low, c.Perplexity)
				s.axis.High = max(s.axis.High, c.Perplexity)
			}
		}
	}
	s.axis = s.axis.Rounded()
	// the rounded axis has room for more bins
	for ; s.first > 0 && edge(s.first-1) >= s.axis.Low; s.first-- {
		s.before -= s.Counts[s.first-1]
	}
	for ; s.last < bins-1 && edge(s.last+2) <= s.axis.High; s.last++ {
		s.past -= s.Counts[s.last+1]
	}
	return s, true
}

// chart returns nil if there is nothing to draw.
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

// highest returns the bin with the most documents.
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

// quarter returns a round number whose quadruple is at least n: 1, 2, 2.5, 3, 4, 5, 6 or 8 times a
// power of ten.
func quarter(n int64) int64 {
	for unit := int64(1); ; unit *= 10 {
		for _, tenths := range []int64{10, 20, 25, 30, 40, 50, 60, 80} {
			if step := unit * tenths / 10; unit*tenths%10 == 0 && n <= 4*step {
				return step
			}
		}
	}
}

// across returns the ticks. In a narrow picture, as on a phone, fewer have a label.
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

// at returns an x coordinate as a percentage of the width.
func at(x float64) string { return fmt.Sprintf("%.2f%%", x*100/chartWidth) }

// line returns the path of the share of documents below each perplexity. It has points only where
// there are documents.
func (s *span) line() string {
	var b strings.Builder
	below, drawn := s.before, -1 // the edge up to which the line is drawn
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

// bars returns outlines of the bars between two coordinates, and of the other bars. A cut divides a
// bar. A bar is at least one pixel high, so that it can be seen.
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

// An outline is a path around bars. Bars that touch are one shape, without seams.
type outline struct {
	path strings.Builder
	end  float64 // of the open shape; 0 if there is none
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

// hits returns the numbers of the bins.
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

// kept returns the part of the axis that all cuts keep; without a filter, all of it.
func (f *Filter) kept(axis webparts.Log) (from, to float64) {
	low, high := f.limits()
	place := func(v float64) float64 {
		return axis.At(math.Min(math.Max(v, axis.Low), axis.High))
	}
	return place(low), max(place(low), place(high))
}

// limits returns the perplexities between which documents are kept: 0 and infinity if no cut limits
// them.
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
