package inside

// Direct logit attribution: which parts add up to a difference of logits. And At, which tells all
// of one position from one pass.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"picogpt/kernels"
	"picogpt/model"
	"picogpt/model/stack"
)

// An Attribution divides a Metric into what each part of the model has written to the last token's
// residual stream.
type Attribution struct {
	Metric
	Difference float64 `json:"difference"` // the Metric of the model's logits
	Sum        float64 `json:"sum"`        // of the parts: Difference, but for rounding
	Parts      Parts   `json:"parts"`      // in the order in which they are computed

	// The largest of the parts of MLPs, whatever their sign, if they were asked for: "neuron 3.17",
	// and "mlp_bias 3". All of a layer add up to its MLP.
	Neurons Parts `json:"neurons,omitempty"`

	neurons []float64 // all: [n_layer, n_inner+1], of which the last is the bias
}

// AttributeOptions say what Attribute takes for a part.
type AttributeOptions struct {
	View    View // "" is Raw
	Neurons int  // how many parts of MLPs there are in Attribution.Neurons
}

// Attribute computes the direct logit attribution of what follows a text. With u = W_U[target] −
// W_U[against], or minus the mean of W_U, a part c of the last residual stream gives
// ((c − mean(c))/σ ⊙ g)·u, where σ is the scale of ln_f there, and g its gain. The parts are the
// embeddings, each head without bias (z_h·W_O[h]), the bias of each attention, each MLP, and ln_f's
// bias. In TransformerLens's view a head has no share of the bias of values, which is a part of
// attention's bias there. Their sum is the difference; with weights in q8 or q4 it is so only within
// the rounding of activations. Source: Elhage et al., "A Mathematical Framework for Transformer
// Circuits", 2021.
func Attribute(ctx context.Context, m *model.Model, tokens []int, metric Metric, o AttributeOptions,
) (*Attribution, error) {
	if err := cmp.Or(checkText(m, tokens), metric.check(m), additive(m.Edits())); err != nil {
		return nil, err
	}
	points := attributionPoints
	if o.Neurons > 0 {
		points = append(points[:len(points):len(points)],
			model.Point{Kind: model.MLPPost, Layer: model.AllLayers})
	}
	rec, err := newRecord(m, 1, points...)
	if err != nil {
		return nil, err
	}
	s := m.NewSession()
	defer s.Release()
	if err := rec.run(ctx, s, tokens, len(tokens)-1); err != nil {
		return nil, err
	}
	return attribute(ctx, m, rec, s.Logits(), metric, o)
}

// attribute divides the Metric of logits [vocab_size] into the parts of a record's only token.
func attribute(
	ctx context.Context, m *model.Model, rec *record, logits []float32, metric Metric,
	o AttributeOptions,
) (*Attribution, error) {
	t, err := o.View.prepare(ctx, m, rec.points)
	if err != nil {
		return nil, err
	}
	a := &Attribution{Metric: metric, Difference: metric.Of(logits)}
	d, err := newDirection(ctx, m, metric)
	if err != nil {
		return nil, err
	}
	a.Parts = d.parts(rec, t)
	if o.Neurons > 0 {
		if a.neurons, err = d.neurons(ctx, m, rec); err != nil {
			return nil, err
		}
		for _, i := range largest(a.neurons, o.Neurons) {
			a.Neurons = append(a.Neurons, Part{neuronName(m, i), a.neurons[i]})
		}
	}
	for _, part := range a.Parts {
		a.Sum += part.Value
	}
	if math.IsNaN(a.Sum) || math.IsInf(a.Sum, 0) {
		return nil, fmt.Errorf("attribution: a part is %w", ErrNonFinite)
	}
	return a, nil
}

// attributionPoints hold what the parts are computed from.
var attributionPoints = []model.Point{{Kind: model.Embed}, {Kind: model.PosEmbed},
	{Kind: model.Result, Layer: model.AllLayers}, {Kind: model.MLPOut, Layer: model.AllLayers},
	{Kind: model.FinalScale}}

// additive refuses edits after which the residual stream is not the sum of its parts.
func additive(edits []model.Edit) error {
	whole := []model.Kind{model.ResidPre, model.AttnOut, model.ResidMid, model.ResidPost}
	for _, e := range edits {
		if slices.Contains(whole, e.At.Kind) {
			return fmt.Errorf("attribution of a model with an edit of %s: the parts do not add up",
				e.At)
		}
	}
	return nil
}

// A direction is what the unembedding reads for a Metric.
type direction struct {
	params *stack.Params
	u      []float64 // g ⊙ u [n_embd]
	mean   float64   // of its elements
	bias   float64   // ln_f's bias · u
}

func newDirection(ctx context.Context, m *model.Model, metric Metric) (*direction, error) {
	if metric.LogProb {
		return nil, errors.New("attribution of logprob: want a difference of logits, which is a sum")
	}
	p := m.Params()
	u, err := unembed(ctx, m, metric.slopes(make([]float32, p.Vocab)))
	if err != nil {
		return nil, err
	}
	d := &direction{params: p, u: u}
	for i := range d.u {
		d.bias += float64(float64(p.LnF.Bias[i]) * d.u[i])
		d.u[i] *= float64(p.LnF.Gain[i])
		d.mean += d.u[i] / float64(p.Embd)
	}
	return d, nil
}

// unembed returns Σ slopes[id]·W_U[id], [n_embd]. The rows are added in chunks, always as many, so
// that the sum has one order.
func unembed(ctx context.Context, m *model.Model, slopes []float64) ([]float64, error) {
	const chunks = 64
	p := m.Params()
	if p.LMHead == nil {
		return nil, model.ErrNoLogits
	}
	n, sums := p.Embd, make([]float64, chunks*p.Embd)
	err := m.Work(ctx, func(w *kernels.Worker) {
		row := make([]float32, n)
		for c := w.Next(); c < chunks; c = w.Next() {
			sum := sums[c*n : (c+1)*n]
			for id := c * p.Vocab / chunks; id < (c+1)*p.Vocab/chunks; id++ {
				if slopes[id] == 0 {
					continue
				}
				p.LMHead.Row(row, id)
				for i, v := range row {
					sum[i] += float64(slopes[id] * float64(v))
				}
			}
		}
		w.Sync()
	})
	for i := n; i < len(sums); i++ {
		sums[i%n] += sums[i]
	}
	return sums[:n], err
}

// of returns what a part of the residual stream [n_embd] adds to the Metric, times σ: the mean of
// the part is subtracted from the direction instead, which gives the same.
func (d *direction) of(part []float32) float64 {
	sum := 0.0
	for i, v := range part {
		sum += float64(float64(v) * (d.u[i] - d.mean))
	}
	return sum
}

// parts returns the parts of a record's only token, in the order in which they are computed; t is
// what turns them into another view's, or nil.
func (d *direction) parts(rec *record, t *processed) (all Parts) {
	row := func(k model.Kind, layer int) []float32 {
		return rec.rows[model.Point{Kind: k, Layer: layer}].row(0)
	}
	scale, n := float64(row(model.FinalScale, 0)[0]), d.params.Embd
	add := func(name string, x []float32) { all = append(all, Part{name, d.of(x) / scale}) }
	add("embed", row(model.Embed, 0))
	add("pos", row(model.PosEmbed, 0))
	for i := range d.params.H {
		results, bias := row(model.Result, i), d.params.H[i].AttnProj.Bias
		if t != nil {
			results, bias = minus(results, t.results[i]), slices.Clone(bias)
			for j, x := range t.results[i] {
				bias[j%n] += x
			}
		}
		for h := range d.params.Heads {
			add(fmt.Sprintf("head %d.%d", i, h), results[h*n:(h+1)*n])
		}
		add(fmt.Sprintf("attn_bias %d", i), bias)
		add(fmt.Sprintf("mlp %d", i), row(model.MLPOut, i))
	}
	return append(all, Part{"ln_f.b", d.bias})
}

// AtOptions say what At reports. The zero value explains the likeliest next token.
type AtOptions struct {
	Top    int          // how many of the likeliest tokens of each layer; 0 means 5
	Metric *Metric      // what is explained; nil: the likeliest token minus the mean of all
	Edits  []model.Edit // of the text; the session was made with them
}

// A Position is what a model computes for one token of a text.
type Position struct {
	Attention   [][]float32  // [n_layer][n_head, position+1]: weights, of the token itself last
	Lens        []Prediction // [n_layer+1]: as LensTable.Layers, with the rank of the target
	Target      int          // the Metric's
	Attribution *Attribution // nil with edits of the residual stream: its parts do not add up
}

// At evaluates one token after those that a session holds, and reports what Lens and Attribute do,
// and the attention weights, at its position. The session then holds the token; it has the bits of
// a text that is evaluated at once. The work and the memory are those of 1 + n_layer + n_head
// tokens at most, whatever the length of the text.
func At(ctx context.Context, s *model.Session, token int, o AtOptions) (*Position, error) {
	m, layers := s.Model(), s.Model().Config().Layer
	if o.Metric != nil {
		if err := o.Metric.check(m); err != nil {
			return nil, err
		}
	}
	at := s.Len()
	l := &lens{m: m, o: LensOptions{Top: o.Top, From: at}, layers: layers,
		vocab: m.Config().VocabSize}
	if err := l.checkTop(); err != nil {
		return nil, err
	}
	rec, err := newRecord(m, 1, append(l.points(), attributionPoints...)...)
	if err != nil {
		return nil, err
	}
	p := &Position{Attention: make([][]float32, layers)}
	if err := p.evaluate(ctx, s, token, rec, o.Edits); err != nil {
		return nil, err
	}
	metric := o.Metric
	if metric == nil {
		metric = &Metric{Target: Greatest(s.Logits(), 1)[0]}
	}
	p.Target = metric.Target
	l.o.Target, l.rec = &p.Target, rec
	if p.Lens, err = l.column(ctx, at); err != nil {
		return nil, err
	}
	if additive(m.Edits()) == nil && additive(o.Edits) == nil {
		p.Attribution, err = attribute(ctx, m, rec, s.Logits(), *metric, AttributeOptions{})
	}
	return p, err
}

// evaluate evaluates the token with the edits, and takes the attention and the record of it.
func (p *Position) evaluate(
	ctx context.Context, s *model.Session, token int, rec *record, edits []model.Edit,
) error {
	for i := range p.Attention {
		p.Attention[i] = make([]float32, s.Model().Config().Head*(s.Len()+1))
	}
	trace := rec.trace(0)
	read := trace.Read
	trace.Edits = edits
	trace.Points = append(trace.Points, model.Point{Kind: model.Pattern, Layer: model.AllLayers})
	trace.Read = func(v model.Reading) {
		if v.At.Kind == model.Pattern {
			copy(p.Attention[v.At.Layer], v.Data)
		} else {
			read(v)
		}
	}
	in := model.Input{Session: s, Tokens: []int{token}, Trace: trace}
	if err := eval(ctx, s.Model(), in); err != nil {
		return err
	}
	for i, layer := range p.Attention {
		for _, w := range layer {
			if math.IsNaN(float64(w)) { // edits can make scores infinite, and hide it again
				return fmt.Errorf("attention: layer %d: a weight is %w", i, ErrNonFinite)
			}
		}
	}
	return nil
}

// column predicts with all layers at the only position of the record.
func (l *lens) column(ctx context.Context, at int) (all []Prediction, err error) {
	l.table = &LensTable{Layers: make([][]Prediction, l.layers+1)}
	for i := range l.table.Layers {
		l.table.Layers[i] = make([]Prediction, 1)
	}
	l.prepare(1)
	if err := l.readGroup(ctx, at, 0, 1); err != nil {
		return nil, err
	}
	for _, row := range l.table.Layers {
		all = append(all, row[0])
	}
	return all, nil
}
