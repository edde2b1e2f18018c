package inside

// Paths between two texts' embeddings, along which gradients are taken: attribution patching at one
// end, integrated gradients in steps.

import (
	"context"
	"fmt"
	"math"

	"picogpt/model"
)

// A Path says where gradients are taken between two inputs, the base at 0 and the other at 1. The
// zero value takes the gradient at the base alone, as attribution patching does. Source: Sundararajan
// et al., "Axiomatic Attribution for Deep Networks", 2017.
type Path struct {
	Steps int    `json:"steps,omitempty"` // 0 to 1000; embeddings between the two, as many
	Rule  string `json:"rule,omitempty"`  // of the steps: "midpoint" or "", "left" (with 0), "right" (1)
}

const mostSteps = 1000

func (p *Path) check() error {
	switch p.Rule {
	case "":
		p.Rule = "midpoint"
	case "midpoint", "left", "right":
	default:
		return fmt.Errorf("rule %q: want midpoint, left or right", p.Rule)
	}
	if p.Steps == 0 {
		p.Rule = ""
	}
	if p.Steps < 0 || p.Steps > mostSteps {
		return fmt.Errorf("steps %d: want 0 to %d", p.Steps, mostSteps)
	}
	return nil
}

// run calls Gradient for each step with embeddings between base and other, [tokens, n_embd]. read
// gets 1/steps as the weight of each.
func (p *Path) run(ctx context.Context, m *model.Model, tokens []int, metric Metric,
	base, other []float32, o GradientOptions, read func(weight float64, r model.Reading),
	progress func(done, steps int)) error {
	steps, own := max(1, p.Steps), o.Edits
	for k := range steps {
		at, one := float64(k), o
		switch p.Rule {
		case "midpoint":
			at += 0.5
		case "right":
			at++
		}
		if at /= float64(steps); at > 0 {
			x := make([]float32, len(base))
			for i := range x {
				x[i] = float32(float64(base[i])*(1-at)) + float32(float64(other[i])*at)
			}
			one.Edits = append(own[:len(own):len(own)], setEmbeddings(len(tokens), x))
		}
		one.Read = func(r model.Reading) { read(1/float64(steps), r) }
		if o.inputs != nil {
			o.inputs.weight = 1 / float64(steps)
		}
		if _, err := Gradient(ctx, m, tokens, metric, one); err != nil {
			return err
		}
		if progress != nil {
			progress(k+1, steps)
		}
	}
	return nil
}

// setEmbeddings is the edit that makes x the rows of wte, [tokens, n_embd].
func setEmbeddings(tokens int, x []float32) model.Edit {
	return model.Edit{At: model.Point{Kind: model.Embed}, Head: model.AllHeads, Op: model.Set,
		To: tokens, Values: x}
}

// embeddings returns the rows of wte of a text, [tokens, n_embd].
func embeddings(m *model.Model, tokens []int) []float32 {
	p := m.Params()
	x := make([]float32, len(tokens)*p.Embd)
	for i, id := range tokens {
		p.WTE.Row(x[i*p.Embd:(i+1)*p.Embd], id)
	}
	return x
}

// SaliencyOptions say what Saliency computes. The zero value takes gradients at the text alone.
type SaliencyOptions struct {
	Path     Path  // with Steps, from the baseline to the text
	Baseline []int // a text of as many tokens; nil: embeddings of zeros

	Progress func(done, steps int) // nil, or called after each step
}

// A SaliencyTable says how much a Metric depends on each token of a text, by its embedding.
type SaliencyTable struct {
	Metric
	Tokens     []int     `json:"tokens"`
	Difference float64   `json:"difference"` // the Metric
	Norm       []float64 `json:"norm"`       // the length of the gradient by each embedding
	Dot        []float64 `json:"dot"`        // its product with the embedding

	// With Steps: integrated gradients, (embedding − baseline)·(mean gradient along the path), the
	// Metric of the baseline, and what they leave of the difference of the two Metrics.
	Path
	Baseline   []int     `json:"baseline,omitempty"`
	Base       *float64  `json:"base,omitempty"`
	Integrated []float64 `json:"integrated,omitempty"`
	Gap        *float64  `json:"gap,omitempty"`
}

// Saliency computes the gradient of a Metric by the embedding of each token, and with
// SaliencyOptions.Path its integral.
func Saliency(ctx context.Context, m *model.Model, tokens []int, metric Metric, o SaliencyOptions,
) (*SaliencyTable, error) {
	if err := o.Path.check(); err != nil {
		return nil, err
	}
	if err := checkText(m, tokens); err != nil {
		return nil, err
	}
	if o.Baseline != nil && len(o.Baseline) != len(tokens) {
		return nil, fmt.Errorf("baseline: %d tokens, want %d as the text has", len(o.Baseline),
			len(tokens))
	}
	t := &SaliencyTable{Metric: metric, Tokens: tokens, Norm: make([]float64, len(tokens)),
		Dot: make([]float64, len(tokens)), Path: o.Path, Baseline: o.Baseline}
	own, points := embeddings(m, tokens), []model.Point{{Kind: model.Embed}}
	n := m.Config().Embd
	var err error
	t.Difference, err = Gradient(ctx, m, tokens, metric, GradientOptions{Points: points,
		Read: func(r model.Reading) {
			t.Norm[r.Index] = math.Sqrt(dot(r.Data, r.Data))
			t.Dot[r.Index] = dot(r.Data, own[r.Index*n:(r.Index+1)*n])
		}})
	if err != nil || o.Path.Steps == 0 {
		return t, err
	}
	base := make([]float32, len(own))
	if o.Baseline != nil {
		if err := checkText(m, o.Baseline); err != nil {
			return nil, fmt.Errorf("baseline: %w", err)
		}
		base = embeddings(m, o.Baseline)
	}
	err = Sweep(ctx, m, tokens, [][]model.Edit{{setEmbeddings(len(tokens), base)}},
		func(_ int, logits []float32) { t.Base = new(metric.Of(logits)) })
	if err != nil {
		return nil, err
	}
	t.Integrated = make([]float64, len(tokens))
	way := minus(own, base)
	err = o.Path.run(ctx, m, tokens, metric, base, own, GradientOptions{Points: points},
		func(weight float64, r model.Reading) {
			t.Integrated[r.Index] += float64(weight * dot(r.Data, way[r.Index*n:(r.Index+1)*n]))
		}, o.Progress)
	gap := t.Difference - *t.Base
	for _, x := range t.Integrated {
		gap -= x
	}
	t.Gap = &gap
	return t, err
}

// dot returns Σ a[i]·b[i], one after the other.
func dot(a, b []float32) (sum float64) {
	for i, x := range a {
		sum += float64(float64(x) * float64(b[i]))
	}
	return sum
}

// An Approximation says how far gradients are from the runs that they stand for.
type Approximation struct {
	Path
	Largest     *float64 `json:"largest_error,omitempty"` // of a Metric; nil: not compared
	Mean        *float64 `json:"mean_error,omitempty"`
	Correlation *float64 `json:"correlation,omitempty"` // of both tables
}

// byGradients returns what gradients say of each patch, a row for each layer: the Metric of the
// text that is patched, and (value from − value to)·gradient.
func (t *PatchTable) byGradients(ctx context.Context, m *model.Model, from, to []int,
	source, own *record, o PatchOptions) (rows [][]float64, err error) {
	c, base, columns := m.Config(), t.Corrupted, len(to)
	if o.Noising {
		base = t.Clean
	}
	if o.At.PerHead() {
		columns = c.Head
	}
	each := len(to) * columns
	cells := make([]float64, c.Layer*each) // [n_layer, tokens, columns]
	err = o.Path.run(ctx, m, to, t.Metric, embeddings(m, to), embeddings(m, from),
		GradientOptions{Points: own.points}, func(weight float64, r model.Reading) {
			way := minus(source.rows[r.At].row(r.Index), own.rows[r.At].row(r.Index))
			at, dim := cells[r.At.Layer*each+r.Index*columns:][:columns], len(way)/c.Head
			if !o.At.PerHead() {
				at[r.Index] += float64(weight * dot(way, r.Data))
				return
			}
			for h := range at {
				at[h] += float64(weight * dot(way[h*dim:(h+1)*dim], r.Data[h*dim:(h+1)*dim]))
			}
		}, o.Progress)
	for l := range c.Layer {
		row := make([]float64, columns)
		for i, x := range cells[l*each : (l+1)*each] {
			row[i%columns] += x
		}
		for i := range row {
			row[i] += base
		}
		rows = append(rows, row)
	}
	return rows, err
}

// compare says how far the table of gradients is from the exact one.
func (a *Approximation) compare(exact, table [][]float64) {
	var n, largest, sum, x, y, xx, yy, xy float64
	for i, row := range table {
		for j, v := range row {
			e := exact[i][j]
			off := math.Abs(v - e)
			n, sum, largest = n+1, sum+off, max(largest, off)
			x, y = x+v, y+e
			xx, yy, xy = xx+float64(v*v), yy+float64(e*e), xy+float64(v*e)
		}
	}
	mean := sum / n
	a.Largest, a.Mean = &largest, &mean
	spread := math.Sqrt(max(0, float64(xx-float64(x*x)/n)*float64(yy-float64(y*y)/n)))
	if spread > 0 {
		a.Correlation = new((xy - float64(x*y)/n) / spread)
	}
}
