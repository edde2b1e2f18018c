package inside

// Neurons: the units of MLPs, what each adds to a logit, and the texts in which it is strongest.

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"

	"picogpt/kernels"
	"picogpt/model"
)

// neurons returns what neurons add to the Metric, as Attribution.neurons has them.
func (d *direction) neurons(ctx context.Context, m *model.Model, rec *record) ([]float64, error) {
	for _, e := range m.Edits() {
		if e.At.Kind == model.MLPOut {
			return nil, fmt.Errorf("neurons of a model with an edit of %s: they do not add up", e.At)
		}
	}
	p := d.params
	scale := float64(rec.rows[model.Point{Kind: model.FinalScale}].data[0])
	all := make([]float64, len(p.H)*(p.Inner+1))
	return all, m.Work(ctx, func(w *kernels.Worker) {
		row := make([]float32, p.Inner)
		for l := w.Next(); l < len(p.H); l = w.Next() {
			out, sums := &p.H[l].MLPProj, all[l*(p.Inner+1):(l+1)*(p.Inner+1)]
			for j, u := range d.u {
				out.Weight.Row(row, j)
				u = (u - d.mean) / scale
				for i, v := range row {
					sums[i] += float64(u * float64(v))
				}
				sums[p.Inner] += float64(u * float64(out.Bias[j]))
			}
			for i, v := range rec.rows[model.Point{Kind: model.MLPPost, Layer: l}].row(0) {
				sums[i] *= float64(v)
			}
		}
		w.Sync()
	})
}

// neuronName names a number of Attribution.neurons.
func neuronName(m *model.Model, i int) string {
	inner := m.Params().Inner
	if layer, at := i/(inner+1), i%(inner+1); at < inner {
		return fmt.Sprintf("neuron %d.%d", layer, at)
	}
	return fmt.Sprintf("mlp_bias %d", i/(inner+1))
}

// largest returns the indices of the n numbers that are the farthest from 0, or of all.
func largest(x []float64, n int) []int {
	sizes := make([]float64, len(x))
	for i, v := range x {
		sizes[i] = math.Abs(v)
	}
	return Greatest(sizes, min(n, len(x)))
}

// A Strong is a text and the token of it at which a number is greatest.
type Strong struct {
	Text   int     `json:"text"` // which of the texts, from 0
	At     int     `json:"at"`   // the token's position
	Value  float32 `json:"value"`
	Tokens []int   `json:"tokens"`
}

// Strongest evaluates texts, and returns the k in which a number of a point, such as a neuron of
// MLPPost, is greatest, each with its strongest token; of equal ones the first. Memory holds k texts.
func Strongest(ctx context.Context, m *model.Model, texts iter.Seq2[[]int, error], p model.Point,
	index, k int) ([]Strong, error) {
	if points, err := m.Points(p); err != nil || len(points) != 1 {
		return nil, cmp.Or(err, fmt.Errorf("%s: want one point", p))
	}
	if n := m.Width(p, 0); n != m.Width(p, 1) || index < 0 || index >= n {
		return nil, fmt.Errorf("number %d of %s: want one of 0 to %d, the same for all tokens", index,
			p, n-1)
	}
	count, all := 0, []Strong{}
	for ids, err := range texts {
		if err != nil {
			return nil, err
		}
		if err = checkText(m, ids); err != nil {
			return nil, fmt.Errorf("text %d: %w", count, err)
		}
		s, x := m.NewSession(), make([]float32, len(ids))
		err = eval(ctx, m, model.Input{Session: s, Tokens: ids, NoLogits: true, Trace: &model.Trace{
			Points: []model.Point{p}, Read: func(r model.Reading) { x[r.Index] = r.Data[index] }}})
		s.Release()
		if err != nil {
			return nil, err
		}
		at := 0
		for j, v := range x {
			if v != v {
				return nil, fmt.Errorf("text %d: %s at token %d is %w", count, p, j, ErrNonFinite)
			}
			if v > x[at] {
				at = j
			}
		}
		all = append(all, Strong{count, at, x[at], ids})
		slices.SortStableFunc(all, func(a, b Strong) int { return cmp.Compare(b.Value, a.Value) })
		all = all[:max(0, min(k, len(all)))]
		count++
	}
	return all, nil
}
