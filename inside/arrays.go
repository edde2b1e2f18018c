package inside

// Arrays: what a pass computes at points, for all tokens of a text, raw or in another view: the
// same computation in TransformerLens's coordinates.

import (
	"context"
	"math"
	"sync"

	"picogpt/kernels"
	"picogpt/model"
)

// An Array is what a point has for all tokens of a text, row-major, as TransformerLens's cache has
// it but for the batch: [n_head, tokens, tokens] of a Pattern and of Scores, where those of a token
// are a row, [tokens, n_head, head_dim] of a Query, Key, Value and Z, [tokens, n_head, n_embd] of a
// Result, [tokens, 1] of the scales, and else [tokens, width]. Keys after a token have the weight 0 and the score −Inf.
type Array struct {
	Point model.Point
	Shape []int
}

// Bytes returns how many bytes the float32s of an array take.
func (a Array) Bytes() int64 {
	n := int64(4)
	for _, d := range a.Shape {
		n *= int64(d)
	}
	return n
}

// Arrays returns the arrays of points for a text of so many tokens, in the order in which a pass
// computes them. AllLayers stands for the points of every block.
func Arrays(m *model.Model, tokens int, points ...model.Point) ([]Array, error) {
	all, err := m.Points(points...)
	var arrays []Array
	for _, p := range all {
		heads := m.Config().Head
		shape := []int{tokens, m.Width(p, 0)}
		switch p.Kind {
		case model.Query, model.Key, model.Value, model.Z, model.Result:
			shape = []int{tokens, heads, shape[1] / heads}
		case model.Scores, model.Pattern:
			shape = []int{heads, tokens, tokens}
		}
		arrays = append(arrays, Array{p, shape})
	}
	return arrays, err
}

// ReadArrays evaluates a text, and hands out its arrays in parts: put gets elements of arrays[i]
// from element at on. It gets each once, and is called under the rules of model.Input.Visit: by the
// workers, several at a time, and x is valid only during the call. Its first error ends the work.
// No array is ever whole in memory.
func ReadArrays(
	ctx context.Context, m *model.Model, tokens []int, view View, arrays []Array,
	put func(i, at int, x []float32) error,
) error {
	if err := checkText(m, tokens); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &arrayReader{tokens: len(tokens), arrays: arrays, of: map[model.Point][]int{}, put: put,
		cancel: cancel}
	trace := &model.Trace{Read: r.read}
	for i, a := range arrays {
		from := view.source(m, a.Point)
		r.of[from] = append(r.of[from], i)
		trace.Points = append(trace.Points, from)
	}
	var err error
	if r.view, err = view.prepare(ctx, m, trace.Points); err != nil {
		return err
	}
	s := m.NewSession()
	defer s.Release()
	err = eval(ctx, m, model.Input{Session: s, Tokens: tokens, NoLogits: true, Trace: trace})
	if r.err != nil {
		return r.err
	}
	return err
}

// ReadGradients is ReadArrays of the gradient of a Metric by the raw values, and returns the Metric.
func ReadGradients(ctx context.Context, m *model.Model, tokens []int, metric Metric,
	arrays []Array, put func(i, at int, x []float32) error) (float64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &arrayReader{tokens: len(tokens), arrays: arrays, of: map[model.Point][]int{}, put: put,
		cancel: cancel, gradients: true}
	o := GradientOptions{Read: r.read}
	for i, a := range arrays {
		r.of[a.Point] = []int{i}
		o.Points = append(o.Points, a.Point)
	}
	value, err := Gradient(ctx, m, tokens, metric, o)
	if r.err != nil {
		err = r.err
	}
	return value, err
}

// An arrayReader is the state of a call of ReadArrays.
type arrayReader struct {
	gradients bool // are read, not values

	tokens int
	arrays []Array
	of     map[model.Point][]int // the arrays that are made of a point
	view   *processed            // nil: raw
	put    func(i, at int, x []float32) error

	once   sync.Once
	err    error // the first of put
	cancel func()
}

// read hands out what a point has for one token.
func (r *arrayReader) read(v model.Reading) {
	for _, i := range r.of[v.At] {
		x := v.Data
		if r.view != nil {
			x = r.view.value(r.arrays[i].Point, x)
		}
		if err := r.row(i, v.Index, x); err != nil {
			r.once.Do(func() { r.err = err })
			r.cancel()
		}
	}
}

// row hands out what an array has for one token.
func (r *arrayReader) row(i, token int, x []float32) error {
	kind := r.arrays[i].Point.Kind
	if kind != model.Scores && kind != model.Pattern {
		return r.put(i, token*len(x), x)
	}
	row, seen := make([]float32, r.tokens), token+1 // x: [n_head, seen]
	if kind == model.Scores && !r.gradients {
		for j := seen; j < r.tokens; j++ {
			row[j] = float32(math.Inf(-1))
		}
	}
	for h := range len(x) / seen {
		copy(row, x[h*seen:(h+1)*seen])
		if err := r.put(i, (h*r.tokens+token)*r.tokens, row); err != nil {
			return err
		}
	}
	return nil
}

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
	case model.Embed, model.PosEmbed, model.ResidPre, model.ResidMid, model.ResidPost,
		model.AttnOut, model.MLPOut:
		return centred(x, nil)
	case model.LN1Normalized, model.LN2Normalized, model.FinalNormalized:
		return centred(x, &t.epsilon)
	case model.Value, model.Z:
		return minus(x, t.values(p.Layer))
	case model.Result:
		y, n := minus(x, t.results[p.Layer]), len(t.values(p.Layer))
		for h := 0; h < len(y); h += n {
			copy(y[h:], centred(y[h:h+n], nil))
		}
		return y
	}
	return x
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
