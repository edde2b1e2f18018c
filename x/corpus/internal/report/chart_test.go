package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

// A drawn bar is a part of an outline.
type drawn struct{ left, right, height float64 }

// read takes an outline apart.
func read(t *testing.T, path string) (bars []drawn) {
	t.Helper()
	for shape := range strings.SplitSeq(path, "Z") {
		if shape == "" {
			continue
		}
		x, rest, _ := strings.Cut(shape, " ")
		var at float64
		if _, err := fmt.Sscanf(x, "M%f", &at); err != nil {
			t.Fatalf("%s: %v", shape, err)
		}
		rest = strings.TrimPrefix(rest, "240")
		rest = strings.TrimSuffix(rest, "V240")
		for step := range strings.SplitSeq(rest[1:], "V") {
			var y, to float64
			if _, err := fmt.Sscanf(step, "%fH%f", &y, &to); err != nil {
				t.Fatalf("%s: %v", step, err)
			}
			bars = append(bars, drawn{at, to, barsHeight - y})
			at = to
		}
	}
	return bars
}

// Bars stand at the perplexities of the documents that they count, with a height proportional to
// the number, and change their colour at the cuts.
func TestBarsAreTheDocuments(t *testing.T) {
	documents := logNormal(20_000)
	for name, r := range map[string]*Report{"all": sample(documents),
		"kept": keep(documents, 0.1, 0.7)} {
		c := r.chart()
		in, out := read(t, c.Kept), read(t, c.Dropped)
		s, _ := r.span()
		low, high := 0.0, math.Inf(1)
		if r.Filter != nil {
			low, high = r.Filter.Cuts[0].Perplexity, r.Filter.Cuts[1].Perplexity
		}
		// perplexity is where a place across stands on the axis, which has its ends in words.
		perplexity := func(x float64) float64 {
			return s.axis.Low * math.Pow(s.axis.High/s.axis.Low, x/1000)
		}
		top := parse(t, c.Up[4].Count)
		seen := 0.0
		for i, bar := range append(in, out...) {
			from, to := perplexity(bar.left), perplexity(bar.right)
			kept := i < len(in)
			if inside := from > low*0.999 && to < high*1.001; inside != kept {
				t.Fatalf("%s: the bar from %v to %v: kept %v", name, from, to, kept)
			}
			bin := math.Floor(32*math.Log10(math.Sqrt(from*to))) / 32
			start, end := math.Pow(10, bin), math.Pow(10, bin+1.0/32)
			n := 0.0
			for _, p := range documents {
				if p >= start && p < end {
					n++
				}
			}
			if want := max(1, barsHeight*n/top); math.Abs(bar.height-want) > 0.06 {
				t.Errorf("%s: the bar from %v to %v is %v high, want %v", name, from, to,
					bar.height, want)
			}
			seen += n * math.Log(to/from) / math.Log(end/start)
		}
		missing := float64(s.before + s.past)
		if math.Abs(seen+missing-20_000) > 20 { // a tenth of a pixel of every bar
			t.Errorf("%s: bars of %v documents and %v not drawn, want 20000", name, seen, missing)
		}
		if missing > 20_000/1000 {
			t.Errorf("%s: %v documents are not drawn", name, missing)
		}
	}
}

// The line passes through the quantiles.
func TestTheLineIsTheShareBelow(t *testing.T) {
	documents := logNormal(20_000)
	r := sample(documents)
	c := r.chart()
	s, _ := r.span()
	points := regexp.MustCompile(`(?:L|M|H)([0-9.]+)(?: ([0-9.]+))?`).FindAllStringSubmatch(c.Line, -1)
	var y float64
	for _, point := range points {
		x := parse(t, point[1])
		if point[2] != "" {
			y = parse(t, point[2])
		}
		perplexity, below := s.axis.Low*math.Pow(s.axis.High/s.axis.Low, x/1000), 0.0
		for _, p := range documents {
			if p < perplexity {
				below++
			}
		}
		if want := barsHeight * (1 - below/20_000); math.Abs(y-want) > 1 {
			t.Errorf("at %v the line is at %v, want %v", perplexity, y, want)
		}
	}
	if len(points) < 50 {
		t.Errorf("a line of %d points", len(points))
	}
}

// For any cuts and any width of the picture, no label covers another one or leaves the picture with
// its margins.
func TestLabelsDoNotMeet(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	axis := logAxis{Low: 1, High: 10000, From: 0, To: chartWidth}
	for range 3000 {
		var f Filter
		for range 1 + r.IntN(5) {
			f.Cuts = append(f.Cuts, Cut{
				Label:      strings.Repeat("x", r.IntN(30)),
				Perplexity: math.Pow(10, 4*r.Float64()),
				KeepsBelow: r.IntN(2) == 0,
			})
		}
		labels, rows := f.labels(axis)
		if len(labels) != len(f.Cuts) {
			t.Fatalf("%d labels of %d cuts", len(labels), len(f.Cuts))
		}
		for _, width := range []float64{200, 230, 333, 459, 460, 700, 5000} {
			type box struct{ from, to float64 }
			taken := make([][]box, rows)
			for _, l := range labels {
				text := l.Short
				if width >= wideChart {
					text = l.Long + l.Short
				}
				long := 7 * float64(len([]rune(text)))
				b := box{l.x*width + 6, l.x*width + 6 + long}
				if l.Left {
					b = box{l.x*width - 6 - long, l.x*width - 6}
				}
				if b.from < -44 || b.to > width+36 {
					t.Fatalf("%v, %v wide: the label is from %v to %v", l, width, b.from, b.to)
				}
				for _, other := range taken[l.row] {
					if b.from < other.to && other.from < b.to {
						t.Fatalf("%v, %v wide: %v over %v", labels, width, b, other)
					}
				}
				taken[l.row] = append(taken[l.row], b)
			}
		}
	}
}

func TestACutFarFromAllDocumentsIsNotOnTheAxis(t *testing.T) {
	c := samples()["far"].chart()
	if len(c.Cuts) != 0 || c.Dropped != "" || c.KeptWidth != "100.00%" {
		t.Errorf("cuts %v, kept over %v, dropped %q", c.Cuts, c.KeptWidth, c.Dropped)
	}
}

func TestQuarter(t *testing.T) {
	for n, want := range map[int64]int64{1: 1, 4: 1, 5: 2, 9: 3, 13: 4, 17: 5, 33: 10, 97: 25,
		101: 30, 1e12: 250_000_000_000} {
		if got := quarter(n); got != want {
			t.Errorf("a quarter for %d: %d, want %d", n, got, want)
		}
	}
}
