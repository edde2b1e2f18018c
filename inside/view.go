package inside

// Views: the same computation in other coordinates.

import (
	"context"
	"math"

	"picogpt/kernels"
	"picogpt/model"
)

// A View says in which coordinates values are.
type View string

// The views. TransformerLens is that of a model that TransformerLens has processed, as
// HookedTransformer.from_pretrained does by default: with fold_ln, center_writing_weights,
// center_unembed and fold_value_biases. No weight changes for it: what is written to the residual
// stream, and the stream, is without its mean over n_embd; a LayerNorm's output is without its gain
// and bias; values, and their weighted sums Z, are without b_V + ln_1.b·W_V. All else is equal.
// (The logits of such a model are without their mean.) Edits are made before, to the raw values.
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
	qkv     [][]float32 // of the layers that need it: b + ln_1.b·W of c_attn [3*n_embd]
}

// prepare returns what turns values of points into those of the view, nil for Raw.
func (v View) prepare(
	ctx context.Context, m *model.Model, points []model.Point,
) (*processed, error) {
	if v != TransformerLens {
		return nil, nil
	}
	p := m.Params()
	t := &processed{epsilon: float64(p.Epsilon), qkv: make([][]float32, len(p.H))}
	for _, at := range points {
		if at.Kind == model.Value || at.Kind == model.Z {
			t.qkv[at.Layer] = make([]float32, 3*p.Embd)
		}
	}
	return t, m.Work(ctx, func(w *kernels.Worker) {
		for i, qkv := range t.qkv {
			if h := &p.H[i]; qkv != nil {
				kernels.Linear(w, qkv, h.Ln1.Bias, 1, &h.CAttn.Weight, h.CAttn.Bias)
			}
		}
	})
}

// value returns what the view has at a point for one token, from what its source has.
func (t *processed) value(p model.Point, x []float32) []float32 {
	switch p.Kind {
	case model.Embed, model.PosEmbed, model.ResidPre, model.ResidMid, model.ResidPost,
		model.AttnOut, model.MLPOut:
		return centred(x, nil)
	case model.LN1Normalized, model.LN2Normalized, model.FinalNormalized:
		return centred(x, &t.epsilon)
	case model.Value, model.Z:
		y := make([]float32, len(x))
		for i, bias := range t.qkv[p.Layer][2*len(x):] {
			y[i] = x[i] - bias
		}
		return y
	}
	return x
}

// centred returns x − mean(x); with epsilon that over √(variance + epsilon).
func centred(x []float32, epsilon *float64) []float32 {
	mean, variance, scale := 0.0, 0.0, 1.0
	for _, v := range x {
		mean += float64(v)
	}
	mean /= float64(len(x))
	if epsilon != nil {
		for _, v := range x {
			d := float64(v) - mean
			variance += float64(d * d)
		}
		scale = math.Sqrt(variance/float64(len(x)) + *epsilon)
	}
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32((float64(v) - mean) / scale)
	}
	return y
}
