package inside

// Views: the coordinates of values. TransformerLens's are those of a model that it has processed.

import (
	"context"
	"fmt"
	"math"

	"picogpt/kernels"
	"picogpt/model"
	"picogpt/model/stack"
)

// A View says in which coordinates values are.
type View string

// The views. TransformerLens is that of a model that TransformerLens has processed, as
// HookedTransformer.from_pretrained does by default: with fold_ln, center_writing_weights,
// center_unembed and fold_value_biases. No weight changes for it: what is written to the residual
// stream, and the stream, is without its mean over n_embd; a LayerNorm's output is without its gain
// and bias; values, and their weighted sums Z, are without b_V + ln_1.b·W_V, and so are the results
// of heads, which are without their mean, too. All else is equal. (The logits of such a model are
// without their mean.) Edits are made before, to the raw values: see Edits.
const (
	Raw             View = "raw" // as the checkpoint's model computes them, and Hugging Face's
	TransformerLens View = "transformerlens"
)

// source returns the point that is read for a point of the view. TransformerLens's LayerNorm is
// made from the stream before it, because a gain of 0 cannot be undone.
func (v View) source(m *model.Model, p model.Point) model.Point {
	if v == TransformerLens {
		switch p.Kind {
		case model.LN1Normalized:
			p.Kind = model.ResidPre
		case model.LN2Normalized:
			p.Kind = model.ResidMid
		case model.FinalNormalized:
			p = model.Point{Kind: model.ResidPost, Layer: m.Config().Layer - 1}
		}
	}
	return p
}

// processed turns raw values into those of TransformerLens.
type processed struct {
	epsilon float64

	// Of the layers that need it: b + ln_1.b·W of c_attn [3*n_embd], and what each head makes of
	// its part of the values' [n_head, n_embd].
	qkv, results [][]float32
}

// values returns the bias of the values of a layer, which the view takes from them [n_embd].
func (t *processed) values(layer int) []float32 {
	return t.qkv[layer][len(t.qkv[layer])/3*2:]
}

// prepare returns what turns values of points into those of the view, nil for Raw.
func (v View) prepare(
	ctx context.Context, m *model.Model, points []model.Point,
) (*processed, error) {
	if v != TransformerLens {
		return nil, nil
	}
	p := m.Params()
	n, dim := p.Embd, p.HeadDim()
	t := &processed{float64(p.Epsilon), make([][]float32, len(p.H)), make([][]float32, len(p.H))}
	all, err := m.Points(points...)
	if err != nil {
		return nil, err
	}
	for _, at := range all {
		if at.Kind == model.Value || at.Kind == model.Z || at.Kind == model.Result {
			t.qkv[at.Layer] = make([]float32, 3*n)
			t.results[at.Layer] = make([]float32, p.Heads*n)
		}
	}
	apart := make([]float32, p.Heads*n) // a head alone in each row
	return t, m.Work(ctx, func(w *kernels.Worker) {
		for i, qkv := range t.qkv {
			if qkv == nil {
				continue
			}
			h := &p.H[i]
			kernels.Linear(w, qkv, h.Ln1.Bias, 1, &h.CAttn.Weight, h.CAttn.Bias)
			if w.ID() == 0 {
				for j := range p.Heads {
					copy(apart[j*(n+dim):], qkv[2*n+j*dim:2*n+(j+1)*dim])
				}
			}
			w.Sync()
			kernels.Linear(w, t.results[i], apart, p.Heads, &h.AttnProj.Weight, nil)
		}
	})
}

// Edits returns the raw edits that do what some edits say in the view: what is set at values or at
// Z gets their bias after that, and what is scaled has it away. All other edits are the same.
func (v View) Edits(ctx context.Context, m *model.Model, edits []model.Edit) ([]model.Edit, error) {
	var points []model.Point
	for _, e := range edits {
		points = append(points, e.At)
	}
	t, err := v.prepare(ctx, m, points)
	if t == nil {
		return edits, err
	}
	var raw []model.Edit
	for _, e := range edits {
		at := e.At.Kind
		if at != model.Value && at != model.Z || e.Op != model.Set && e.Op != model.Scale {
			raw = append(raw, e)
			continue
		}
		for i := range t.qkv {
			if e.At.Layer != i && e.At.Layer != model.AllLayers {
				continue
			}
			one, bias := e, t.values(i)
			if dim := m.Params().HeadDim(); e.Head != model.AllHeads {
				bias = bias[e.Head*dim : (e.Head+1)*dim]
			}
			one.At.Layer = i
			add := one
			add.Op, add.Values = model.Add, bias
			if e.Op == model.Scale {
				less := add
				less.Values = minus(make([]float32, len(bias)), bias)
				raw = append(raw, less)
			}
			raw = append(raw, one, add)
		}
	}
	return raw, nil
}

// value returns what the view has at a point for one token, from what its source has.
func (t *processed) value(p model.Point, x []float32) []float32 {
	switch p.Kind {
	case model.LN1Normalized, model.LN2Normalized, model.FinalNormalized:
		return centred(x, &t.epsilon)
	case model.Result:
		y, n := minus(x, t.results[p.Layer]), len(t.values(p.Layer))
		for h := 0; h < len(y); h += n {
			copy(y[h:], centred(y[h:h+n], nil))
		}
		return y
	}
	a := t.affine(p)
	if !a.Centred && a.Shift == nil {
		return x
	}
	y := make([]float32, len(x))
	a.View(y, x)
	return y
}

// An Affine says how the values of a point in a View come from the raw ones: they are
// (x − mean(x) − Shift)·Scale, with the mean where Centred. nil is zeros, or ones.
type Affine struct {
	Centred      bool
	Shift, Scale []float32
}

// View sets y to raw values in the view. Both may be the same.
func (a Affine) View(y, raw []float32) {
	mean := 0.0
	if a.Centred {
		mean, _ = moments(raw, nil)
	}
	for i, v := range raw {
		y[i] = float32(float64(v) - mean)
		if a.Shift != nil {
			y[i] -= a.Shift[i]
		}
		if a.Scale != nil {
			y[i] *= a.Scale[i]
		}
	}
}

// Affine returns that of a point, of one layer. An output of a LayerNorm has none in a view that
// divides by a gain of 0. A Result's is not told.
func (v View) Affine(ctx context.Context, m *model.Model, p model.Point) (a Affine, err error) {
	t, err := v.prepare(ctx, m, []model.Point{p})
	if t == nil || err != nil {
		return a, err
	}
	a = t.affine(p)
	norm := map[model.Kind]*stack.Norm{model.FinalNormalized: &m.Params().LnF,
		model.LN1Normalized: &m.Params().H[p.Layer].Ln1,
		model.LN2Normalized: &m.Params().H[p.Layer].Ln2}[p.Kind]
	if norm == nil {
		return a, nil
	}
	a = Affine{Shift: norm.Bias, Scale: make([]float32, len(norm.Gain))}
	for i, gain := range norm.Gain {
		if a.Scale[i] = 1 / gain; gain == 0 {
			return a, fmt.Errorf("%s: the gain of number %d is 0, which cannot be undone", p, i)
		}
	}
	return a, nil
}

// affine returns that of a point that is no output of a LayerNorm.
func (t *processed) affine(p model.Point) Affine {
	switch p.Kind {
	case model.Embed, model.PosEmbed, model.ResidPre, model.ResidMid, model.ResidPost,
		model.AttnOut, model.MLPOut:
		return Affine{Centred: true}
	case model.Value, model.Z:
		return Affine{Shift: t.values(p.Layer)}
	}
	return Affine{}
}

// minus returns x − y.
func minus(x, y []float32) []float32 {
	z := make([]float32, len(x))
	for i := range x {
		z[i] = x[i] - y[i]
	}
	return z
}

// centred returns x − mean(x); with epsilon that over √(variance + epsilon).
func centred(x []float32, epsilon *float64) []float32 {
	mean, scale := moments(x, epsilon)
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32((float64(v) - mean) / scale)
	}
	return y
}

// moments returns the mean, and with epsilon √(variance + epsilon), else 1.
func moments(x []float32, epsilon *float64) (mean, scale float64) {
	for _, v := range x {
		mean += float64(v)
	}
	mean /= float64(len(x))
	if epsilon == nil {
		return mean, 1
	}
	variance := 0.0
	for _, v := range x {
		d := float64(v) - mean
		variance += float64(d * d)
	}
	return mean, math.Sqrt(variance/float64(len(x)) + *epsilon)
}
