package inside

// Records: what a pass computed at some points.

import (
	"context"

	"picogpt/model"
)

// A record holds the values of points for some tokens. Points whose width depends on the position
// cannot be in it.
type record struct {
	points []model.Point
	rows   map[model.Point]*values
}

// values are those of a point: [tokens, width].
type values struct {
	width int
	data  []float32
}

// row returns the values for one token.
func (v *values) row(i int) []float32 { return v.data[i*v.width : (i+1)*v.width] }

// newRecord makes room for the points of so many tokens.
func newRecord(m *model.Model, tokens int, points ...model.Point) (*record, error) {
	all, err := m.Points(points...)
	if err != nil {
		return nil, err
	}
	r := &record{all, map[model.Point]*values{}}
	for _, p := range all {
		width := m.Width(p, 0)
		r.rows[p] = &values{width, make([]float32, tokens*width)}
	}
	return r, nil
}

// trace returns a trace that records Tokens[from:], the first of them as token 0.
func (r *record) trace(from int) *model.Trace {
	return &model.Trace{Points: r.points, From: from, Read: func(v model.Reading) {
		copy(r.rows[v.At].row(v.Index-from), v.Data) // each call has memory of its own
	}}
}

// run evaluates tokens in a session, and records those from an index on.
func (r *record) run(ctx context.Context, s *model.Session, tokens []int, from int) error {
	return eval(ctx, s.Model(), model.Input{Session: s, Tokens: tokens, Trace: r.trace(from)})
}

// eval is Eval. Its errors do not number the inputs, which the caller of this package has not made.
func eval(ctx context.Context, m *model.Model, batch ...model.Input) error {
	return model.Cause(m.Eval(ctx, batch...))
}
