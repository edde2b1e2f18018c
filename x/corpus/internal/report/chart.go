package report

// The picture: documents by perplexity, the share of them below each perplexity, the part that a
// filter keeps.

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"picogpt/internal/quote"
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
	axis         logAxis
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
	s.axis = logAxis{Low: low, High: high, From: 0, To: chartWidth}
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
func (f *Filter) kept(axis logAxis) (from, to float64) {
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

// Counting documents by perplexity, in constant memory. Every piece of a corpus adds to a
// histogram.

const (
	binsPerDecade = 32
	bins          = 12 * binsPerDecade // from 1 to 10¹²
)

// A Histogram counts documents in bins of perplexity: 32 bins for each power of ten, from 1 to
// 10¹². Counts do not depend on the order of documents or of merges. The zero value is empty.
type Histogram struct {
	Counts [bins]int64 `json:"counts"`
	Below  int64       `json:"below"` // a perplexity under 1
	Above  int64       `json:"above"` // 10¹² or more
	None   int64       `json:"none"`  // without a perplexity: NaN
}

// Add counts a document. NaN says that it has no perplexity.
func (h *Histogram) Add(perplexity float64) {
	switch {
	case math.IsNaN(perplexity):
		h.None++
	case perplexity < 1:
		h.Below++
	case perplexity >= edge(bins):
		h.Above++
	default:
		h.Counts[bin(perplexity)]++
	}
}

// Merge adds the counts of another histogram.
func (h *Histogram) Merge(other *Histogram) {
	for i, n := range other.Counts {
		h.Counts[i] += n
	}
	h.Below += other.Below
	h.Above += other.Above
	h.None += other.None
}

// Documents returns the number of documents with a perplexity.
func (h *Histogram) Documents() int64 {
	n := h.Below + h.Above
	for _, c := range h.Counts {
		n += c
	}
	return n
}

// bin returns the bin of a perplexity from 1 to below 10¹². The edges decide, not the logarithm,
// whose rounding may differ between processors.
func bin(perplexity float64) int {
	i := min(int(math.Log10(perplexity)*binsPerDecade), bins-1)
	for perplexity < edge(i) {
		i--
	}
	for perplexity >= edge(i+1) {
		i++
	}
	return i
}

// edge returns the perplexity with which bin i begins, 10^(i/32). Roots and products are rounded in
// the same way everywhere, and powers of ten are exact.
func edge(i int) float64 {
	e, root := math.Pow10(i/binsPerDecade), 10.0
	for bit := binsPerDecade / 2; bit > 0; bit /= 2 {
		root = math.Sqrt(root)
		if i&bit != 0 {
			e *= root
		}
	}
	return e
}

// The labels of cuts, arranged so that none covers another at any width of the picture.

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
func (f *Filter) labels(axis logAxis) (labels []cutLabel, rows int) {
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
