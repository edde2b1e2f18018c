package inside

// Arrays: what a pass computes at points, or gradients by it, for all tokens of a text.

import (
	"cmp"
	"context"
	"math"
	"slices"

	"picogpt/model"
)

// An Array is what a point has for all tokens of a text, row-major, as TransformerLens's cache has
// it but for the batch: [n_head, tokens, tokens] of a Pattern and of Scores, where those of a token
// are a row, [tokens, n_head, head_dim] of a Query, Key, Value and Z, [tokens, n_head, n_embd] of a
// Result, [tokens, 1] of the scales, and else [tokens, width]. Keys after a token have the weight 0
// and the score −Inf.
type Array struct {
	Point model.Point
	Shape []int

	positions, heads []int // that it has, in this order; nil: all
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
		arrays = append(arrays, Array{Point: p, Shape: shape})
	}
	return arrays, err
}

// Select returns what arrays have at some positions, and of some heads: arrays of heads whose layer
// has none of them are left out. nil is all; positions and heads are ascending.
func Select(arrays []Array, positions []int, heads []Head) (some []Array) {
	for _, a := range arrays {
		k, row, head := a.Point.Kind, 0, 1 // axes
		if k == model.Scores || k == model.Pattern {
			row, head = 1, 0
		}
		if a.Shape = slices.Clone(a.Shape); positions != nil {
			a.positions, a.Shape[row] = positions, len(positions)
		}
		if heads != nil && (k.PerHead() || k == model.Result) {
			for _, h := range heads {
				if h.Layer == a.Point.Layer {
					a.heads = append(a.heads, h.Head)
				}
			}
			if a.Shape[head] = len(a.heads); a.heads == nil {
				continue
			}
		}
		some = append(some, a)
	}
	return some
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
	r := &arrayReader{tokens: len(tokens), heads: m.Config().Head, arrays: arrays, put: put,
		hidden: float32(math.Inf(-1))}
	return r.run(ctx, m, view, func(ctx context.Context, points []model.Point) (err error) {
		if r.view, err = view.prepare(ctx, m, points); err != nil {
			return err
		}
		s := m.NewSession()
		defer s.Release()
		return eval(ctx, m, model.Input{Session: s, Tokens: tokens, NoLogits: true,
			Trace: &model.Trace{Points: points, Read: r.read}})
	})
}

// ReadGradients is ReadArrays of the gradient of a Metric by the raw values, and returns the
// Metric.
func ReadGradients(ctx context.Context, m *model.Model, tokens []int, metric Metric,
	arrays []Array, put func(i, at int, x []float32) error) (value float64, err error) {
	r := &arrayReader{tokens: len(tokens), heads: m.Config().Head, arrays: arrays, put: put}
	err = r.run(ctx, m, Raw, func(ctx context.Context, points []model.Point) (err error) {
		value, err = Gradient(ctx, m, tokens, metric, GradientOptions{Points: points, Read: r.read})
		return err
	})
	return value, err
}

// An arrayReader is the state of a call of ReadArrays or ReadGradients.
type arrayReader struct {
	tokens int
	heads  int // of the model
	arrays []Array
	hidden float32               // what scores of keys after a token are
	of     map[model.Point][]int // the arrays that are made of a point
	view   *processed            // nil: raw
	put    func(i, at int, x []float32) error
	cancel context.CancelCauseFunc
}

// run calls pass with the points that are to be read, and ends it at the first error of put.
func (r *arrayReader) run(ctx context.Context, m *model.Model, view View,
	pass func(context.Context, []model.Point) error) error {
	ctx, r.cancel = context.WithCancelCause(ctx)
	defer r.cancel(nil)
	r.of = map[model.Point][]int{}
	var points []model.Point
	for i, a := range r.arrays {
		from := view.source(m, a.Point)
		r.of[from] = append(r.of[from], i)
		points = append(points, from)
	}
	err := pass(ctx, points)
	return cmp.Or(context.Cause(ctx), err)
}

// read hands out what a point has for one token.
func (r *arrayReader) read(v model.Reading) {
	for _, i := range r.of[v.At] {
		x := v.Data
		if r.view != nil {
			x = r.view.value(r.arrays[i].Point, x)
		}
		if err := r.row(i, v.Index, x); err != nil {
			r.cancel(err)
		}
	}
}

// row hands out what an array has for one token.
func (r *arrayReader) row(i, token int, x []float32) error {
	a, at, rows := &r.arrays[i], token, r.tokens
	if a.positions != nil {
		at, rows = slices.Index(a.positions, token), len(a.positions)
	}
	if at < 0 {
		return nil
	}
	if a.heads != nil {
		all, width := x, len(x)/r.heads
		x = nil
		for _, h := range a.heads {
			x = append(x, all[h*width:(h+1)*width]...)
		}
	}
	kind := a.Point.Kind
	if kind != model.Scores && kind != model.Pattern {
		return r.put(i, at*len(x), x)
	}
	row, seen := make([]float32, r.tokens), token+1 // x: [heads, seen]
	if kind == model.Scores {
		for j := seen; j < r.tokens; j++ {
			row[j] = r.hidden
		}
	}
	for h := range len(x) / seen {
		copy(row, x[h*seen:(h+1)*seen])
		if err := r.put(i, (h*rows+at)*r.tokens, row); err != nil {
			return err
		}
	}
	return nil
}
