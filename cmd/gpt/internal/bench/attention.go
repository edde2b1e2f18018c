package bench

// The attention family: time against the number of tokens, and three workloads; its text for
// people, and its picture.

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"text/tabwriter"
	"time"

	"picogpt/internal/webparts"
	"picogpt/kernels"
	"picogpt/x/attention"
)

// Attention is one run of the attention family.
type Attention struct {
	Threads int    `json:"threads"`
	Kernel  string `json:"kernel"`
	Rounds  int    `json:"rounds"`
	// the machine's peak, the median of what was measured beside the points
	FMAGFlops float64           `json:"fma_gflops"`
	Width     int               `json:"d_model"`
	Series    []AttentionSeries `json:"series"`
	Workloads []AttentionPoint  `json:"workloads"`
}

// AttentionSeries is one kind of attention over growing numbers of tokens, one sequence.
type AttentionSeries struct {
	Name string `json:"name"`
	// of the time, fitted over the longest three lengths
	Exponent float64          `json:"exponent"`
	Points   []AttentionPoint `json:"points"`
}

// AttentionPoint is one measurement. Operations are those of the formula: two to each
// multiplication of the projections, of q·k and of the weights with v, where a query may look;
// neither exponentials nor what is hidden count.
type AttentionPoint struct {
	Name   string  `json:"name,omitempty"` // of a workload
	Tokens int     `json:"tokens"`
	MS     float64 `json:"ms"` // median over rounds
	GFlops float64 `json:"gflops"`
	Ratio  float64 `json:"ratio"` // of the FMA peak, measured before and after
	// the most resident memory of the process meanwhile; not known everywhere
	PeakMB float64 `json:"peak_mb,omitempty"`
}

// AttentionOptions say what to measure.
type AttentionOptions struct {
	// 16384; lengths go from 1024 up to here, or are this alone where it is less
	MaxTokens       int
	Rounds, Threads int // 3; 0 for one for each processor, and at most four for each
	Kernel          string
	Progress        Progress
}

const attentionWidth = 512 // d_model

// A workload is something to time: setup makes its inputs and returns what to run.
type workload struct {
	name       string
	tokens     int
	operations float64
	setup      func(team *kernels.Team) (run func())
}

// MeasureAttention times each kind of attention at each length, and the workloads.
func MeasureAttention(ctx context.Context, o AttentionOptions) (*Attention, error) {
	if o.MaxTokens <= 0 {
		o.MaxTokens = 16384
	}
	if o.Rounds <= 0 {
		o.Rounds = 3
	}
	team, err := kernels.NewTeam(kernels.Threads(o.Threads), o.Kernel)
	if err != nil {
		return nil, err
	}
	defer team.Close()
	// a few large slices: collecting them at once is cheap, and peaks are what is live
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	b := newMeter(ctx, team, Options{Rounds: o.Rounds, Progress: o.Progress})
	for _, kind := range attentionKinds {
		for n := min(1024, o.MaxTokens); n <= o.MaxTokens; n *= 2 {
			b.ahead += kind.at(n).operations
		}
	}
	for _, w := range workloads {
		b.ahead += w.operations
	}
	r := &Attention{Threads: team.Size(), Kernel: team.Variant(), Rounds: o.Rounds,
		Width: attentionWidth}
	for _, kind := range attentionKinds {
		s := AttentionSeries{Name: kind.name}
		for n := min(1024, o.MaxTokens); n <= o.MaxTokens; n *= 2 {
			p, err := b.attention(kind.at(n))
			if err != nil {
				return nil, err
			}
			p.Name = ""
			s.Points = append(s.Points, p)
		}
		s.Exponent = exponent(s.Points)
		r.Series = append(r.Series, s)
	}
	for _, w := range workloads {
		p, err := b.attention(w)
		if err != nil {
			return nil, err
		}
		r.Workloads = append(r.Workloads, p)
	}
	r.FMAGFlops = b.median("peak") / 1e9
	return r, nil
}

// attention measures one workload over the rounds.
func (b *meter) attention(l workload) (AttentionPoint, error) {
	if b.Progress != nil {
		b.Progress(fmt.Sprintf("%s, %d tokens", l.name, l.tokens), b.done/b.ahead)
	}
	b.done += l.operations
	debug.FreeOSMemory()
	resetPeak()
	run := l.setup(b.team)
	var times, ratios []float64
	for range b.Rounds {
		if err := b.ctx.Err(); err != nil {
			return AttentionPoint{}, err
		}
		peak := b.peak(kernels.F32)
		runtime.GC() // one round's garbage is not the next one's memory
		took := shortest(run)
		peak = max(peak, b.peak(kernels.F32))
		b.add("peak", peak)
		times, ratios = append(times, took), append(ratios, l.operations/took/peak)
	}
	return AttentionPoint{l.name, l.tokens, median(times) * 1e3, l.operations / median(times) / 1e9,
		median(ratios), peakResident()}, nil
}

// shortest runs something once, or as often as it fits in a twentieth of a second, and returns the
// shortest time.
func shortest(run func()) float64 {
	best := math.Inf(1)
	for begin := time.Now(); ; {
		start := time.Now()
		run()
		best = min(best, time.Since(start).Seconds())
		if time.Since(begin) > 50*time.Millisecond {
			return best
		}
	}
}

// exponent fits time = c·tokensᵉ to the last three points, by least squares of the logarithms.
// Before, what grows otherwise still counts.
func exponent(p []AttentionPoint) float64 {
	p = p[max(0, len(p)-3):]
	if len(p) < 2 {
		return 0
	}
	var mx, my, xy, xx float64
	for i := range p {
		mx += math.Log(float64(p[i].Tokens)) / float64(len(p))
		my += math.Log(p[i].MS) / float64(len(p))
	}
	for i := range p {
		x := math.Log(float64(p[i].Tokens)) - mx
		xy += x * (math.Log(p[i].MS) - my)
		xx += x * x
	}
	return xy / xx
}

// A kind is one series: heads of a width, by one means or another.
type kind struct {
	name       string
	heads, dim int
	linear     bool
	causal     bool
	loop       bool // a call for each head
}

var attentionKinds = []kind{
	{name: "single head of 512", heads: 1, dim: 512},
	{name: "single head of 512, causal", heads: 1, dim: 512, causal: true},
	{name: "2 heads of 32, by loop", heads: 2, dim: 32, loop: true},
	{name: "2 heads of 32, at once", heads: 2, dim: 32},
	{name: "8 heads of 64, by loop", heads: 8, dim: 64, loop: true},
	{name: "8 heads of 64, at once", heads: 8, dim: 64},
	{name: "8 heads of 64, causal", heads: 8, dim: 64, causal: true},
	{name: "linear, one head of 512", heads: 1, dim: 512, linear: true},
	{name: "linear, causal", heads: 1, dim: 512, linear: true, causal: true},
}

// at is a kind's workload for n tokens: projections to the heads and the heads' attention, without
// an output projection.
func (k kind) at(n int) workload {
	t, width := float64(n), float64(k.heads*k.dim)
	operations := 3 * 2 * t * attentionWidth * width
	switch {
	case k.linear:
		operations += 4 * t * width * float64(k.dim)
	case k.causal:
		operations += 2 * t * (t + 1) * width
	default:
		operations += 4 * t * t * width
	}
	return workload{k.name, n, operations, func(team *kernels.Team) func() {
		x, dst := between(n*attentionWidth, 1), make([]float32, n*k.heads*k.dim)
		if k.loop {
			return k.byLoop(team, dst, x, n)
		}
		l := attention.NewHeads(randomHead(k.heads*k.dim), attentionWidth, k.heads, k.dim, k.dim)
		return func() {
			switch {
			case k.linear && k.causal:
				l.NextLinear(team, dst, x, 1, n,
					attention.NewLinearState(1, k.heads, k.dim, k.dim, attention.LinearOptions{}))
			case k.linear:
				l.Linear(team, dst, x, x, x, 1, n, n, attention.LinearOptions{})
			default:
				l.Self(team, dst, x, 1, n, attention.Options{Causal: k.causal})
			}
		}
	}}
}

// byLoop runs each head by itself and puts the results side by side.
func (k kind) byLoop(team *kernels.Team, dst, x []float32, n int) func() {
	heads := make([]*attention.Layer, k.heads)
	for h := range heads {
		heads[h] = attention.NewHead(randomHead(k.dim), attentionWidth, k.dim, k.dim)
	}
	out := make([]float32, n*k.dim)
	return func() {
		for h, l := range heads {
			l.Self(team, out, x, 1, n, attention.Options{})
			for i := range n {
				copy(dst[(i*k.heads+h)*k.dim:], out[i*k.dim:(i+1)*k.dim])
			}
		}
	}
}

// randomHead has scores of the order of one.
func randomHead(rows int) attention.Head {
	weight := func() []float32 {
		return between(rows*attentionWidth,
			float32(math.Sqrt(3/float64(attentionWidth))))
	}
	return attention.Head{WQ: weight(), WK: weight(), WV: weight()}
}

var workloads = []workload{
	multiHead(8, 80, 12, 2),
	multiHead(32, 1000, 256, 4),
	heads(32, 8, 128, 64),
}

// multiHead is nn.MultiheadAttention with batch × tokens × width.
func multiHead(batch, tokens, width, heads int) workload {
	b, t, w := float64(batch), float64(tokens), float64(width)
	name := fmt.Sprintf("multi-head %d×%d×%d, %d heads", batch, tokens, width, heads)
	return workload{name, tokens, 4*2*b*t*w*w + 4*b*t*t*w, func(team *kernels.Team) func() {
		scale := float32(math.Sqrt(3 / w))
		l := attention.NewTorch(between(3*width*width, scale), nil, between(width*width, scale),
			nil, width, heads)
		x, dst := between(batch*tokens*width, 1), make([]float32, batch*tokens*width)
		return func() { l.Self(team, dst, x, batch, tokens, attention.Options{}) }
	}}
}

// heads is scaled dot-product attention with batch × heads × tokens × dim.
func heads(batch, n, tokens, dim int) workload {
	b, t := float64(batch*n), float64(tokens)
	name := fmt.Sprintf("dot-product %d×%d×%d×%d", batch, n, tokens, dim)
	return workload{name, tokens, 4 * b * t * t * float64(dim), func(team *kernels.Team) func() {
		size := batch * n * tokens * dim
		q, k, v, dst := between(size, 1), between(size, 1), between(size, 1), make([]float32, size)
		s := attention.Sizes{Batch: batch, Heads: n, Queries: tokens, Keys: tokens, KeyDim: dim,
			ValueDim: dim}
		return func() { attention.ScaledDotProduct(team, dst, q, k, v, s, attention.Options{}) }
	}}
}

// between returns n numbers between −limit and limit, always the same.
func between(n int, limit float32) []float32 {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	x := make([]float32, n)
	for i := range x {
		x[i] = limit * (2*r.Float32() - 1)
	}
	return x
}

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

const (
	plotWidth, plotHeight = 920, 560
	plotLeft, plotRight   = 80, 600 // of the axes; the names stand to their right
	plotTop, plotBottom   = 50, 500
)

// plotColors are the series', in order; a dash tells two of one color apart.
var plotColors = []string{"#1b6ca8", "#7fb3d5", "#b5651d", "#e59866", "#1e8449", "#58d68d",
	"#a9dfbf", "#8e44ad", "#c39bd3"}

// SVG writes the picture: time against tokens, both logarithmic, so that a power is a straight
// line. It is written here: a plotting library would be ten times the size of all the rest of this
// command.
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
