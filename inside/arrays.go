package inside

// Arrays: what a pass computes at points, for all tokens of a text.

import (
	"context"
	"math"
	"sync"

	"picogpt/model"
)

// An Array is what a point has for all tokens of a text, row-major, as TransformerLens's cache has
// it but for the batch: [n_head, tokens, tokens] of a Pattern and of Scores, where those of a token
// are a row, [tokens, n_head, head_dim] of a Query, Key, Value and Z, [tokens, 1] of the scales,
// and else [tokens, width]. Keys after a token have the weight 0 and the score −Inf.
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
		case model.Query, model.Key, model.Value, model.Z:
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

// An arrayReader is the state of a call of ReadArrays.
type arrayReader struct {
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
	if kind == model.Scores {
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
