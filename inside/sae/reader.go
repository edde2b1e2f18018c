package sae

// Readers: the features of a text, what they leave out, and what that costs.

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"picogpt/inside"
	"picogpt/kernels"
	"picogpt/model"
)

// A Token is what a dictionary makes of one token.
type Token struct {
	Features []int     `json:"features"` // the active ones, ascending
	Values   []float32 `json:"values"`   // of them
	Error    float64   `json:"error"`    // ‖x − x̂‖², where x̂ is the sum of features and b_dec
	Square   float64   `json:"square"`   // ‖x‖²
}

// A Text is what a dictionary makes of a text. Of a transcoder x is what it stands for. The sums
// are in float64.
type Text struct {
	IDs       []int   `json:"ids"`
	Tokens    []Token `json:"tokens"`
	Active    float64 `json:"l0"`                 // features of a token, in the mean
	MSE       float64 `json:"mse"`                // ‖x − x̂‖², in the mean
	Explained float64 `json:"explained_variance"` // 1 − mse/variance, over all tokens

	made []float32 // x̂ [tokens, out]
}

// Values returns x̂ of a token, in the dictionary's view [d_out].
func (t *Text) Values(token int) []float32 {
	n := len(t.made) / len(t.Tokens)
	return t.made[token*n : (token+1)*n]
}

// groupRows is how many tokens are read together: all their features are in memory.
const groupRows = 64

// Read evaluates a text and returns its features.
func (r *Reader) Read(ctx context.Context, tokens []int) (*Text, error) {
	arrays, err := inside.Arrays(r.m, len(tokens), r.In, r.Out)
	if err != nil {
		return nil, err
	}
	n := len(tokens)
	x, y := make([]float32, n*r.Width), make([]float32, n*r.OutWidth)
	err = inside.ReadArrays(ctx, r.m, tokens, inside.Raw, arrays,
		func(i, at int, row []float32) error {
			if arrays[i].Point == r.In {
				r.from.View(x[at:], row)
			}
			if arrays[i].Point == r.Out {
				r.to.View(y[at:], row)
			}
			return nil
		})
	if err != nil {
		return nil, err
	}
	t := &Text{IDs: tokens, Tokens: make([]Token, n), made: make([]float32, n*r.OutWidth)}
	enc := kernels.Matrix{Format: kernels.F32, In: r.Width, Out: r.Features, F32: r.enc}
	acts := make([]float32, min(n, groupRows)*r.Features)
	var scales, offsets [groupRows]float64
	var bad atomic.Int64 // 1 + a feature that is not finite; 0: none
	for first := 0; first < n && err == nil && bad.Load() == 0; first += groupRows {
		rows := min(n-first, groupRows)
		x := x[first*r.Width:]
		err = r.m.Work(ctx, func(w *kernels.Worker) {
			for i := w.Next(); i < rows; i = w.Next() {
				scales[i], offsets[i] = r.normalize(x[i*r.Width : (i+1)*r.Width])
			}
			w.Sync()
			kernels.Linear(w, acts, x, rows, &enc, nil)
			for i := w.Next(); i < rows; i = w.Next() {
				one := &t.Tokens[first+i]
				if wrong := r.activate(one, acts[i*r.Features:(i+1)*r.Features]); wrong >= 0 {
					bad.Store(int64(wrong) + 1)
				}
				r.decode(t.Values(first+i), one, scales[i], offsets[i])
			}
			w.Sync()
		})
	}
	if bad.Load() > 0 && err == nil {
		return nil, fmt.Errorf("feature %d is %w: its weights, or the model's numbers, are not",
			bad.Load()-1, inside.ErrNonFinite)
	}
	if t.measure(y); t.MSE-t.MSE != 0 && err == nil {
		err = fmt.Errorf("the sum of features is %w: weights of the decoder are not",
			inside.ErrNonFinite)
	}
	return t, err
}

// normalize sets x to what the encoder gets of it. What comes out is to be multiplied by scale, and
// offset added.
func (d *Dictionary) normalize(x []float32) (scale, offset float64) {
	in, n := 1.0, float64(len(x))
	scale = 1
	switch d.Normalize {
	case "layer_norm":
		offset = mean(x)
		square := 0.0
		for _, v := range x {
			c := float64(v) - offset
			square += float64(c * c)
		}
		scale = math.Sqrt(square / (n - 1))
		in = 1 / (scale + 1e-5)
	case "constant_norm_rescale":
		in = math.Sqrt(n) / math.Sqrt(dot(x, x))
		scale = 1 / in
	}
	for i, v := range x {
		if x[i] = float32(float64(float64(v)-offset) * in); *d.ApplyBDec {
			x[i] -= d.bDec[i]
		}
	}
	if d.transcoder { // SAELens leaves the other width as it is
		return 1, 0
	}
	return scale, offset
}

// activate finds the active features of a token, from its input times the encoder. It returns a
// feature that is not finite, −1 if all are.
func (d *Dictionary) activate(t *Token, acts []float32) (bad int) {
	for i := range acts {
		pre := acts[i] + d.bias[i]
		off := d.gated && pre <= 0 || d.jump && pre <= d.threshold[i]
		switch {
		case pre-pre != 0:
			return i
		case off:
			pre = 0
		case d.gated:
			pre = float32(acts[i]*d.gain[i]) + d.shift[i]
		case d.Rescale:
			pre *= d.lengths[i]
		}
		acts[i] = max(0, pre)
	}
	least, left := float32(0), 0 // of topk: of those equal to the least, the first ones count
	if d.top {
		sorted := slices.Sorted(slices.Values(acts))
		sorted = sorted[len(sorted)-d.K:]
		for _, v := range sorted {
			if least = sorted[0]; v == least {
				left++
			}
		}
	}
	t.Features, t.Values = []int{}, []float32{}
	for i, v := range acts {
		if v > least || v > 0 && v == least && left > 0 {
			t.Features, t.Values = append(t.Features, i), append(t.Values, v)
			if v == least {
				left--
			}
		}
	}
	return -1
}

// decode sets made to the sum of a token's features and b_dec, as it comes out.
func (d *Dictionary) decode(made []float32, t *Token, scale, offset float64) {
	sums := make([]float64, d.OutWidth)
	for j, v := range d.bDec {
		sums[j] = float64(v)
	}
	for i, f := range t.Features {
		value := float64(t.Values[i])
		if d.Rescale {
			value = float64(t.Values[i] / d.lengths[f])
		}
		for j, v := range d.direction(f) {
			sums[j] += float64(value * float64(v))
		}
	}
	for j, v := range sums {
		made[j] = float32(float64(v*scale) + offset)
	}
}

// measure compares what was made with what it stands for.
func (t *Text) measure(x []float32) {
	n := len(x) / len(t.Tokens)
	means, all, off := make([]float64, n), 0.0, 0.0
	for i := range t.Tokens {
		row, made, k := x[i*n:(i+1)*n], t.Values(i), &t.Tokens[i]
		k.Square = dot(row, row)
		for j, v := range row {
			d := float64(v) - float64(made[j])
			k.Error += float64(d * d)
			means[j] += float64(v)
		}
		all, off = all+k.Square, off+k.Error
		t.Active += float64(len(k.Features))
	}
	count := float64(len(t.Tokens))
	t.Active, t.MSE = t.Active/count, off/count
	variance := all / count
	for _, m := range means {
		m /= count
		variance -= float64(m * m)
	}
	if t.Explained = 1 - t.MSE/variance; variance < 1e-10 { // as SAELens has it
		t.Explained = 0
	}
}

// Losses are the mean of −ln p of a text's tokens but the first: of the model, with the features in
// place of what they stand for, and with zeros there. Recovered is (Ablated − Features)/(Ablated −
// Clean): 1 where the features lose nothing, nil for 0/0. The definitions are those of SAELens's
// evals: ce_loss_without_sae, _with_sae, _with_ablation and ce_loss_score.
type Losses struct {
	Clean     float64  `json:"loss"`
	Features  float64  `json:"loss_features"`
	Ablated   float64  `json:"loss_ablated"`
	Recovered *float64 `json:"loss_recovered"`
}

// Losses evaluates a text of at least two tokens three times.
func (r *Reader) Losses(ctx context.Context, t *Text) (*Losses, error) {
	n := len(t.IDs)
	if n < 2 {
		return nil, errors.New("loss: want two tokens at least")
	}
	set := model.Edit{At: r.Out, Head: model.AllHeads, Op: model.Set, To: n}
	zero := set
	set.Values, zero.Values = slices.Clone(t.made), []float32{0}
	if r.to.Shift != nil {
		zero.Values = r.to.Shift
		for i := range set.Values {
			set.Values[i] += r.to.Shift[i%r.OutWidth]
		}
	}
	var batch []model.Input
	logs := make([]float64, 3*n)
	for i, edits := range [][]model.Edit{nil, {set}, {zero}} {
		s := r.m.NewSession()
		defer s.Release()
		batch = append(batch, model.Input{Session: s, Tokens: t.IDs, NoLogits: true,
			Trace: model.Editing(edits), Visit: func(row model.Row) {
				if at := row.Index + 1; at < n {
					logs[i*n+at] = inside.Metric{Target: t.IDs[at], LogProb: true}.Of(row.Logits)
				}
			}})
	}
	if err := r.m.Eval(ctx, batch...); err != nil {
		return nil, model.Cause(err)
	}
	var means [3]float64
	for i, v := range logs {
		means[i/n] -= v / float64(n-1)
	}
	l := &Losses{Clean: means[0], Features: means[1], Ablated: means[2]}
	if of := l.Ablated - l.Clean; of != 0 {
		l.Recovered = new((l.Ablated - l.Features) / of)
	}
	return l, nil
}
