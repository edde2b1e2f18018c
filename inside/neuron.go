package inside

// Neurons: the units of MLPs, what each adds to a logit, the tokens that it reads and writes, and the
// texts in which it is strongest.

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
	return highest(sizes, min(n, len(x)))
}

// highest returns the indices of the n greatest numbers, the greatest first.
func highest(x []float64, n int) []int {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(x[j], x[i]) })
	return slices.Clone(order[:n])
}

// A Neuron is what a unit of an MLP reads and writes, from its weights alone, in the view
// TransformerLens (see Circuit).
type Neuron struct {
	Layer  int          `json:"layer"`
	Neuron int          `json:"neuron"`
	Reads  []TokenValue `json:"reads"`  // whose embeddings raise it most, before the activation
	Raises []TokenValue `json:"raises"` // whose logits an activation of 1 raises most
	Lowers []TokenValue `json:"lowers"` // or lowers
}

// A TokenValue is a token and its number.
type TokenValue struct {
	ID    int     `json:"id"`
	Value float64 `json:"value"`
}

// ReadNeuron returns the tokens of a neuron, top of each.
func ReadNeuron(
	ctx context.Context, m *model.Model, layer, neuron, top int,
) (*Neuron, error) {
	p := m.Params()
	if layer < 0 || layer >= len(p.H) || neuron < 0 || neuron >= p.Inner {
		return nil, fmt.Errorf("neuron %d.%d: want layer 0 to %d, neuron 0 to %d", layer, neuron,
			len(p.H)-1, p.Inner-1)
	}
	if p.LMHead == nil {
		return nil, model.ErrNoLogits
	}
	r, h := &circuitReader{ctx, m, p, CircuitOptions{}}, &p.H[layer]
	in, out, row := make([]float32, p.Embd), make([]float64, p.Embd), make([]float32, p.Inner)
	h.CFC.Weight.Row(in, neuron)
	for j := range out {
		h.MLPProj.Weight.Row(row, j)
		out[j] = float64(row[neuron])
	}
	reads, err := r.tokens(&p.WTE, nil, [][]float64{withoutMean(gained(in, h.Ln2.Gain))})
	if err != nil {
		return nil, err
	}
	writes, err := r.unembedded([][]float64{withoutMean(out)})
	if err != nil {
		return nil, err
	}
	if sum := total(reads[0]) + total(writes[0]); math.IsNaN(sum - sum) {
		return nil, fmt.Errorf("neuron %d.%d: a weight is %w", layer, neuron, ErrNonFinite)
	}
	n := &Neuron{Layer: layer, Neuron: neuron}
	for to, x := range map[*[]TokenValue][]float64{&n.Reads: reads[0], &n.Raises: writes[0]} {
		for _, id := range highest(x, min(top, len(x))) {
			*to = append(*to, TokenValue{id, x[id]})
		}
	}
	scale(writes[0], -1)
	for _, id := range highest(writes[0], min(top, p.Vocab)) {
		n.Lowers = append(n.Lowers, TokenValue{id, -writes[0][id]})
	}
	return n, nil
}

// A Strong is a text and the token of it at which a number is greatest.
type Strong struct {
	Text   int     `json:"text"` // which of the texts, from 0
	At     int     `json:"at"`   // the token's position
	Value  float32 `json:"value"`
	Tokens []int   `json:"tokens"`
}

// Strongest evaluates texts, and returns the k in which a number of a point, such as a neuron of
// MLPPost, is greatest, each with its strongest token; of equal ones the first. Memory holds k texts
// and those that are evaluated together. The bits do not depend on what is evaluated together.
func Strongest(ctx context.Context, m *model.Model, texts iter.Seq2[[]int, error], p model.Point,
	index, k int) ([]Strong, error) {
	const most = 512 // tokens of texts that are evaluated together, if they are several
	if points, err := m.Points(p); err != nil || len(points) != 1 {
		return nil, cmp.Or(err, fmt.Errorf("%s: want one point", p))
	}
	if n := m.Width(p, 0); n != m.Width(p, 1) || index < 0 || index >= n {
		return nil, fmt.Errorf("number %d of %s: want one of 0 to %d, the same for all tokens", index,
			p, n-1)
	}
	var batch [][]int
	count, tokens, all := 0, 0, []Strong{}
	for ids, err := range texts {
		if err == nil {
			err = checkText(m, ids)
		}
		if err == nil && tokens+len(ids) > most {
			all, err = strongest(ctx, m, all, batch, count, p, index, k)
			batch, count, tokens = nil, count+len(batch), 0
		}
		if err != nil {
			return nil, err
		}
		batch, tokens = append(batch, ids), tokens+len(ids)
	}
	return strongest(ctx, m, all, batch, count, p, index, k)
}

// strongest adds a batch of texts, the first of which is number count, to the k strongest so far.
func strongest(ctx context.Context, m *model.Model, all []Strong, batch [][]int, count int,
	p model.Point, index, k int) ([]Strong, error) {
	inputs := make([]model.Input, len(batch))
	values := make([][]float32, len(batch))
	for i, ids := range batch {
		values[i] = make([]float32, len(ids))
		s := m.NewSession()
		defer s.Release()
		inputs[i] = model.Input{Session: s, Tokens: ids, NoLogits: true,
			Trace: &model.Trace{Points: []model.Point{p}, Read: func(r model.Reading) {
				values[i][r.Index] = r.Data[index]
			}}}
	}
	if len(batch) == 0 {
		return all, nil
	}
	if err := eval(ctx, m, inputs...); err != nil {
		return nil, err
	}
	for i, x := range values {
		at := 0
		for j, v := range x {
			if v != v {
				return nil, fmt.Errorf("text %d: %s at token %d is %w", count+i, p, j, ErrNonFinite)
			}
			if v > x[at] {
				at = j
			}
		}
		all = append(all, Strong{count + i, at, x[at], batch[i]})
	}
	slices.SortStableFunc(all, func(a, b Strong) int { return cmp.Compare(b.Value, a.Value) })
	return all[:min(k, len(all))], nil
}
