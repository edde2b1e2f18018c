package inside

// Metrics: what the tools ask of logits, of which texts, and what they hold of a pass: parts of the
// model by name, and records of points.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"picogpt/kernels"
	"picogpt/model"
)

// ErrNonFinite is in the error of Lens, Attribute or At where a number that they report would be a
// NaN or an infinity, though the model's logits are not.
var ErrNonFinite = errors.New("not finite")

// A Metric is the number that the tools explain: the logit of Target minus that of Against, or
// minus the mean of all logits if Against is nil; or with LogProb the logarithm of its probability.
type Metric struct {
	Target  int  `json:"target"`
	Against *int `json:"against,omitempty"`
	LogProb bool `json:"logprob,omitempty"`
}

// Of returns the number for a row of logits.
func (q Metric) Of(logits []float32) float64 {
	target := float64(logits[q.Target])
	if q.LogProb {
		return target - kernels.Leaves{}.LogSumExp(logits)
	}
	if q.Against != nil {
		return target - float64(logits[*q.Against])
	}
	sum := 0.0
	for _, v := range logits {
		sum += float64(v)
	}
	return target - sum/float64(len(logits))
}

// slopes returns the derivatives of the number by the logits.
func (q Metric) slopes(logits []float32) []float64 {
	d := make([]float64, len(logits))
	switch {
	case q.LogProb:
		lse := kernels.Leaves{}.LogSumExp(logits)
		for i, x := range logits {
			d[i] = -kernels.Exp64(float64(x) - lse)
		}
	case q.Against != nil:
		d[*q.Against] = -1
	default:
		for i := range d {
			d[i] = -1 / float64(len(d))
		}
	}
	d[q.Target]++
	return d
}

func (q Metric) check(m *model.Model) error {
	if q.LogProb && q.Against != nil {
		return errors.New("logprob and against: want one of them")
	}
	if err := checkID("target", q.Target, m); err != nil || q.Against == nil {
		return err
	}
	if *q.Against == q.Target {
		return fmt.Errorf("target and against: id %d both, want two tokens", q.Target)
	}
	return checkID("against", *q.Against, m)
}

func checkID(what string, id int, m *model.Model) error {
	if most := m.Config().VocabSize - 1; id < 0 || id > most {
		return fmt.Errorf("%s: id %d, want 0 to %d", what, id, most)
	}
	return nil
}

// checkText returns an error that says what a text wants, before anything is computed.
func checkText(m *model.Model, tokens []int) error {
	if len(tokens) == 0 {
		return errors.New("no tokens, want at least one")
	}
	if most := m.Config().Positions; len(tokens) > most {
		return &model.ContextError{Added: len(tokens), Positions: most}
	}
	for i, id := range tokens {
		if err := checkID(fmt.Sprintf("token %d", i), id, m); err != nil {
			return err
		}
	}
	return nil
}

// A Part is a part of the model, such as "embed", "head 3.1" (layer 3, head 1) or "mlp 2", and what
// it is worth.
type Part struct {
	Name  string
	Value float64
}

// Parts are some parts in an order. In JSON they are an object, in this order.
type Parts []Part

// Value returns the value of a part, and whether there is one of that name.
func (p Parts) Value(name string) (float64, bool) {
	for _, part := range p {
		if part.Name == name {
			return part.Value, true
		}
	}
	return 0, false
}

// MarshalJSON writes {"embed":0.1,"head 0.0":0.2}.
func (p Parts) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, part := range p {
		if i > 0 {
			b.WriteByte(',')
		}
		value, err := json.Marshal(part.Value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", part.Name, err)
		}
		name, _ := json.Marshal(part.Name) // a string always has JSON
		b.Write(append(append(name, ':'), value...))
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (p *Parts) UnmarshalJSON(b []byte) error {
	d := json.NewDecoder(strings.NewReader(string(b)))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return fmt.Errorf("parts: want an object")
	}
	*p = Parts{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		part := Part{Name: name.(string)} // the decoder takes no other name
		if err := d.Decode(&part.Value); err != nil {
			return fmt.Errorf("parts: %w", err)
		}
		*p = append(*p, part)
	}
	return nil
}

// A record holds the values of points for some tokens.
type record struct {
	points []model.Point
	rows   map[model.Point]*values
}

// values are those of a point: [tokens, width], or of a Pattern, whose width is that of the token at
// position 0 and grows by as much, a triangle.
type values struct {
	width    int
	data     []float32
	triangle bool
}

// row returns the values for one token.
func (v *values) row(i int) []float32 { return v.data[v.start(i):v.start(i+1)] }

// start returns where the values for a token begin.
func (v *values) start(i int) int {
	if v.triangle {
		return i * (i + 1) / 2 * v.width
	}
	return i * v.width
}

// head returns the values of a head at the tokens from one to another: [to-from, width/heads].
func (v *values) head(head, heads, from, to int) (all []float32) {
	dim := v.width / heads
	for i := from; i < to; i++ {
		all = append(all, v.row(i)[head*dim:(head+1)*dim]...)
	}
	return all
}

// newRecord makes room for the points of so many tokens.
func newRecord(m *model.Model, tokens int, points ...model.Point) (*record, error) {
	all, err := m.Points(points...)
	if err != nil {
		return nil, err
	}
	r := &record{all, map[model.Point]*values{}}
	for _, p := range all {
		v := &values{width: m.Width(p, 0), triangle: p.Kind == model.Pattern}
		v.data = make([]float32, v.start(tokens))
		r.rows[p] = v
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
