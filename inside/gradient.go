package inside

// Gradients of a metric: one backward pass, layer by layer, whose activations are computed again.

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"picogpt/kernels"
	"picogpt/model"
	"picogpt/model/stack"
)

// GradientOptions say what Gradient reads.
type GradientOptions struct {
	Points []model.Point // AllLayers stands for those of every block
	Edits  []model.Edit  // of the text, after the model's

	// Read gets the gradient by the values of a point, after its edits, for each point and token,
	// under the rules of model.Trace: Data has as many numbers as the point.
	Read func(model.Reading)

	inputs *edges // nil, or what takes the gradients by what heads and MLPs read
}

// Gradient evaluates a text, and returns its Metric and the gradient of it by the values of points,
// at all positions. It is that of the function in float32: where weights are q8 or q4 that of their
// values, and rounding, of activations too, is passed through. An edit that sets values has no
// gradient before it. The points are those of Patterns and Scores, and all that take edits, and the
// outputs of LayerNorms. Memory holds two residual streams of each layer, and the activations of one
// layer. The sums have one order: the bits are the same on every machine.
func Gradient(ctx context.Context, m *model.Model, tokens []int, metric Metric, o GradientOptions,
) (float64, error) {
	if err := cmp.Or(checkText(m, tokens), metric.check(m)); err != nil {
		return 0, err
	}
	points, err := m.Points(o.Points...)
	if err != nil {
		return 0, err
	}
	for _, p := range points {
		if !p.Kind.TakesEdits() && !slices.Contains(readable, p.Kind) {
			return 0, fmt.Errorf("gradient by %s: there is none of such a point", p)
		}
	}
	g := &gradient{m: m, p: m.Params(), o: o, n: len(tokens), wants: points,
		edits: slices.Concat(m.Edits(), o.Edits)}
	// What edits do to a gradient: in any order, because all multiply it.
	for _, e := range g.edits {
		if e.Op == model.Set {
			e.Values = []float32{0}
		}
		if e.Op == model.Set || e.Op == model.Scale {
			g.back = append(g.back, e)
		}
		if e.Op == model.Clamp || e.Op == model.Transcode {
			return 0, fmt.Errorf("gradient: an edit of %s clamps features: want none, or one that "+
				"adds", e.At)
		}
	}
	g.rec, err = newRecord(m, g.n, model.Point{Kind: model.ResidPre, Layer: model.AllLayers},
		model.Point{Kind: model.ResidMid, Layer: model.AllLayers},
		model.Point{Kind: model.ResidPost, Layer: len(g.p.H) - 1})
	if err != nil {
		return 0, err
	}
	s := m.NewSession()
	defer s.Release()
	trace := g.rec.trace(0)
	trace.Edits = o.Edits
	if err := eval(ctx, m, model.Input{Session: s, Tokens: tokens, Trace: trace}); err != nil {
		return 0, err
	}
	return metric.Of(s.Logits()), g.run(ctx, metric.slopes(s.Logits()))
}

// readable are the points that have gradients and take no edits.
var readable = []model.Kind{model.Scores, model.Pattern, model.LN1Normalized, model.LN2Normalized,
	model.FinalNormalized}

// A gradient is the state of a call of Gradient.
type gradient struct {
	m           *model.Model
	p           *stack.Params
	o           GradientOptions
	n           int // tokens
	wants       []model.Point
	edits, back []model.Edit // as they are made, and what they do to gradients
	rec         *record

	d                []float32 // by the residual stream, [tokens, n_embd]
	x, out, qkv, dqk []float32 // [tokens, n_embd], [tokens, n_embd], twice [tokens, 3*n_embd]
	inner, dinner    []float32 // [tokens, n_inner]
	scores, patterns []float32 // of a layer, if wanted: [tokens, n_head, tokens]
	head             [4][]float32
	square           [4][]float32 // [tokens, tokens]
	weights          []float32    // a matrix of q8 or q4, in float32
}

// run goes from the logits to the embeddings.
func (g *gradient) run(ctx context.Context, slopes []float64) error {
	by, err := unembed(ctx, g.m, slopes)
	if err != nil {
		return err
	}
	t, e, layers := g.n, g.p.Embd, len(g.p.H)
	for _, x := range []*[]float32{&g.d, &g.x, &g.out} {
		*x = make([]float32, t*e)
	}
	g.qkv, g.dqk = make([]float32, t*3*e), make([]float32, t*3*e)
	g.inner, g.dinner = make([]float32, t*g.p.Inner), make([]float32, t*g.p.Inner)
	for i := range g.head {
		g.head[i], g.square[i] = make([]float32, t*g.p.HeadDim()), make([]float32, t*t)
	}
	for i, v := range by {
		g.out[(t-1)*e+i] = float32(v)
	}
	err = g.m.Work(ctx, func(w *kernels.Worker) {
		g.at(w, model.FinalNormalized, 0, g.out, 0, e)
		last := g.stream(model.ResidPost, layers-1)
		g.norm(w, g.d, last, g.out, &g.p.LnF)
		g.o.inputs.read(w, layers, g.d)
	})
	for i := layers - 1; i >= 0 && err == nil; i-- {
		if err = ctx.Err(); err == nil {
			err = g.m.Work(ctx, func(w *kernels.Worker) { g.block(w, i) })
		}
	}
	if err != nil {
		return err
	}
	if !g.m.Leaves().Finite(g.d) {
		return fmt.Errorf("gradient: a number is %w", ErrNonFinite)
	}
	return g.m.Work(ctx, func(w *kernels.Worker) {
		g.at(w, model.PosEmbed, 0, g.d, 0, e)
		g.at(w, model.Embed, 0, g.d, 0, e)
	})
}

// stream returns what is recorded of a point, [tokens, n_embd].
func (g *gradient) stream(k model.Kind, layer int) []float32 {
	return g.rec.rows[model.Point{Kind: k, Layer: layer}].data
}

// at hands out the gradient by a point, and takes it before the point's edits: row i of x begins
// at from + i·stride.
func (g *gradient) at(w *kernels.Worker, k model.Kind, layer int, x []float32, from, stride int) {
	p := model.Point{Kind: k, Layer: layer}
	wanted, width := slices.Contains(g.wants, p), p.Width(g.p, 0)
	for i := w.Next(); i < g.n; i = w.Next() {
		row := x[from+i*stride:][:width]
		if wanted {
			g.o.Read(model.Reading{At: p, Index: i, Data: row})
		}
		apply(g.p, g.back, p, row, i)
	}
	w.Sync()
}

// edit makes the edits of a point again.
func (g *gradient) edit(w *kernels.Worker, k model.Kind, layer int, x []float32, from, stride int) {
	p := model.Point{Kind: k, Layer: layer}
	for i := w.Next(); i < g.n; i = w.Next() {
		apply(g.p, g.edits, p, x[from+i*stride:][:p.Width(g.p, 0)], i)
	}
	w.Sync()
}

func apply(p *stack.Params, edits []model.Edit, at model.Point, row []float32, position int) {
	for i := range edits {
		if e := &edits[i]; e.Op != model.Hide && e.Concerns(at) && e.Covers(position) {
			e.Apply(p, row, nil, position)
		}
	}
}

// block goes through a layer: from the gradient by resid_post to that by resid_pre, in g.d.
func (g *gradient) block(w *kernels.Worker, layer int) {
	h, t, e, inner := &g.p.H[layer], g.n, g.p.Embd, g.p.Inner
	pre, mid := g.stream(model.ResidPre, layer), g.stream(model.ResidMid, layer)
	g.at(w, model.ResidPost, layer, g.d, 0, e)

	kernels.LayerNorm(w, g.x, mid, t, h.Ln2.Gain, h.Ln2.Bias, g.p.Epsilon)
	kernels.Linear(w, g.inner, g.x, t, &h.CFC.Weight, h.CFC.Bias)
	g.edit(w, model.MLPPre, layer, g.inner, 0, inner)
	g.copy(w, g.out, g.d)
	g.at(w, model.MLPOut, layer, g.out, 0, e)
	g.transposed(w, g.dinner, g.out, &h.MLPProj.Weight)
	g.at(w, model.MLPPost, layer, g.dinner, 0, inner)
	for i := w.Next(); i < t; i = w.Next() {
		for j := i * inner; j < (i+1)*inner; j++ {
			g.dinner[j] = float32(float64(g.dinner[j]) * g.p.Activation.Slope(g.inner[j]))
		}
	}
	w.Sync()
	g.at(w, model.MLPPre, layer, g.dinner, 0, inner)
	g.transposed(w, g.out, g.dinner, &h.CFC.Weight)
	g.at(w, model.LN2Normalized, layer, g.out, 0, e)
	g.norm(w, g.x, mid, g.out, &h.Ln2)
	g.o.inputs.read(w, layer, g.x)
	kernels.Add(w, g.d, g.x)
	g.at(w, model.ResidMid, layer, g.d, 0, e)

	kernels.LayerNorm(w, g.x, pre, t, h.Ln1.Gain, h.Ln1.Bias, g.p.Epsilon)
	kernels.Linear(w, g.qkv, g.x, t, &h.CAttn.Weight, h.CAttn.Bias)
	for i, k := range []model.Kind{model.Query, model.Key, model.Value} {
		g.edit(w, k, layer, g.qkv, i*e, 3*e)
	}
	g.copy(w, g.out, g.d)
	g.at(w, model.AttnOut, layer, g.out, 0, e)
	g.transposed(w, g.x, g.out, &h.AttnProj.Weight)
	g.at(w, model.Z, layer, g.x, 0, e)
	g.attention(w, layer) // x -> dqk
	for i, k := range []model.Kind{model.Query, model.Key, model.Value} {
		g.at(w, k, layer, g.dqk, i*e, 3*e)
	}
	g.transposed(w, g.out, g.dqk, &h.CAttn.Weight)
	g.at(w, model.LN1Normalized, layer, g.out, 0, e)
	g.o.inputs.readHeads(w, g, layer)
	g.norm(w, g.x, pre, g.out, &h.Ln1)
	kernels.Add(w, g.d, g.x)
	g.at(w, model.ResidPre, layer, g.d, 0, e)
}

func (g *gradient) copy(w *kernels.Worker, to, from []float32) {
	if w.ID() == 0 {
		copy(to, from)
	}
	w.Sync()
}

// transposed sets dst [tokens, in] to x [tokens, out] · mᵀ.
func (g *gradient) transposed(w *kernels.Worker, dst, x []float32, m *kernels.Matrix) {
	t := kernels.Matrix{Format: m.Format, Layout: 1 - m.Layout, In: m.Out, Out: m.In, F32: m.F32,
		F16: m.F16}
	if m.Format == kernels.Q8 || m.Format == kernels.Q4 || m.Stride > m.Out {
		if w.ID() == 0 && len(g.weights) < m.In*m.Out {
			g.weights = make([]float32, m.In*m.Out)
		}
		w.Sync()
		plain(w, g.weights, m)
		t = dense(m.Out, m.In, g.weights)
	}
	kernels.Linear(w, dst, x, g.n, &t, nil)
}

// dense is a matrix [in, out] of float32.
func dense(in, out int, x []float32) kernels.Matrix {
	return kernels.Matrix{Format: kernels.F32, In: in, Out: out, F32: x[:in*out]}
}

// plain sets dst [out, in] to the numbers of a matrix.
func plain(w *kernels.Worker, dst []float32, m *kernels.Matrix) {
	for i := w.Next(); i < m.Out; i = w.Next() {
		m.Row(dst[i*m.In:(i+1)*m.In], i)
	}
	w.Sync()
}

// norm sets dst to the gradient by x [tokens, n_embd], of that by its LayerNorm.
func (g *gradient) norm(w *kernels.Worker, dst, x, by []float32, norm *stack.Norm) {
	e := g.p.Embd
	for i := w.Next(); i < g.n; i = w.Next() {
		normBack(dst[i*e:(i+1)*e], x[i*e:(i+1)*e], by[i*e:(i+1)*e], norm.Gain, g.p.Epsilon)
	}
	w.Sync()
}

// normBack is norm of one row: with y = (x − mean)/σ and b = gain·by it is (b − mean(b) −
// y·mean(b·y))/σ.
func normBack(dst, x, by, gain []float32, epsilon float32) {
	mean, scale := moments(x, new(float64(epsilon)))
	n, all, along := float64(len(x)), 0.0, 0.0
	for j, v := range by {
		b := float64(float64(gain[j]) * float64(v))
		all += b
		along += float64(b * (float64(x[j]) - mean) / scale)
	}
	for j, v := range by {
		b, y := float64(float64(gain[j])*float64(v)), (float64(x[j])-mean)/scale
		dst[j] = float32((b - all/n - float64(y*(along/n))) / scale)
	}
}
