package inside

// One position: all that is computed there, from one pass.

import (
	"context"
	"fmt"
	"math"

	"picogpt/model"
)

// AtOptions say what At reports. The zero value explains the likeliest next token.
type AtOptions struct {
	Top    int          // how many of the likeliest tokens of each layer; 0 means 5
	Metric *Metric      // what is explained; nil: the likeliest token minus the mean of all
	Edits  []model.Edit // of the text; the session was made with them
}

// A Position is what a model computes for one token of a text.
type Position struct {
	Attention   [][]float32  // [n_layer][n_head, position+1]: weights, of the token itself last
	Lens        []Prediction // [n_layer+1]: as LensTable.Layers, with the rank of the Metric's target
	Target      int          // the Metric's
	Attribution *Attribution // nil with edits of the residual stream: its parts do not add up
}

// At evaluates one token after those that a session holds, and reports what Lens and Attribute do,
// and the attention weights, at its position. The session then holds the token; it has the bits of
// a text that is evaluated at once. The work and the memory are those of 1 + n_layer + n_head tokens
// at most, whatever the length of the text.
func At(ctx context.Context, s *model.Session, token int, o AtOptions) (*Position, error) {
	m, layers := s.Model(), s.Model().Config().Layer
	if o.Metric != nil {
		if err := o.Metric.check(m); err != nil {
			return nil, err
		}
	}
	at := s.Len()
	l := &lens{m: m, o: LensOptions{Top: o.Top, From: at}, layers: layers, vocab: m.Config().VocabSize}
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
		metric = &Metric{Target: greatest(s.Logits(), 1)[0]}
	}
	p.Target = metric.Target
	l.o.Target, l.rec = &p.Target, rec
	if p.Lens, err = l.column(ctx, at); err != nil {
		return nil, err
	}
	if additive(m.Edits()) == nil && additive(o.Edits) == nil {
		p.Attribution, err = attribute(ctx, m, rec, s.Logits(), *metric)
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
