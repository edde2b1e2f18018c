package cpu

// Traces: at each point of the forward pass, edits change the values and readers get them. What a
// pass without traces computes has the same bits. A pass with traces runs a barrier more at each
// point that some span reads or edits.

import (
	"math"

	"picogpt/internal/engine"
	"picogpt/kernels"
	"picogpt/model/stack"
)

// A trace is what the spans of a pass read and edit.
type trace struct {
	points engine.Points // of all spans
	// [n_head, rows, tokens] for each span that wants them: see kernels.Span
	weights, scores []float32
	keep            []bool
	rows            [][]float32 // one for each worker: the values of one token
	// of one token: z of each head beside zeros [n_head, n_embd], and z W_O [n_head, n_embd]
	apart, results []float32
}

// prepareTrace finds what the spans of the pass read and edit. Then b.trace is nil if they do
// nothing.
func (b *backend) prepareTrace() {
	b.trace = nil
	for i := range b.pass.Spans {
		s := &b.pass.Spans[i]
		if s.Trace == nil {
			continue
		}
		if b.trace == nil {
			b.trace = &trace{points: make(engine.Points, len(b.params.H)),
				rows: make([][]float32, b.team.Size())}
		}
		b.trace.points.Union(s.Trace.Reads)
		for j := range s.Trace.Edits {
			b.trace.points.Add(s.Trace.Edits[j].At)
		}
	}
}

// at edits and reads a point, where a span of the pass wants it.
func (b *backend) at(w *kernels.Worker, k stack.Kind, layer int) {
	if p := (stack.Point{Kind: k, Layer: layer}); b.trace != nil && b.trace.points.Has(p) {
		b.visitPoint(w, p)
	}
}

// visitPoint edits and reads a point, row by row.
func (b *backend) visitPoint(w *kernels.Worker, p stack.Point) {
	if p.Kind == stack.FinalNormalized {
		b.layerNorm(w, b.norm, b.x, all, finalNorm)
	}
	for r := w.Next(); r < b.rows; r = w.Next() {
		span, token := b.At(r)
		if s := &b.pass.Spans[span]; s.Trace != nil {
			if s.Trace.Edits != nil && p.Kind.TakesEdits() {
				b.edit(s, p, b.values(w, p, r), token, r)
			}
			if s.Trace.Reads.Has(p) && token >= s.Trace.From {
				s.Trace.Read(p, token, b.values(w, p, r))
			}
		}
	}
	w.Sync()
}

// edit applies the edits of a point to the values of one token, a row of the pass.
func (b *backend) edit(s *engine.Span, p stack.Point, x []float32, token, row int) {
	n := b.params.Embd
	for i := range s.Trace.Edits {
		if e := &s.Trace.Edits[i]; e.Concerns(p) && e.Covers(s.Position+token) {
			e.Apply(b.params, x, b.norm[row*n:(row+1)*n], s.Position+token)
		}
	}
}

// values returns the values of a point for one row: where the pass has them, or a copy.
func (b *backend) values(w *kernels.Worker, p stack.Point, row int) []float32 {
	c := b.params
	n, inner := c.Embd, c.Inner
	switch p.Kind {
	case stack.ResidPre, stack.ResidMid, stack.ResidPost:
		return b.x[row*n : (row+1)*n]
	case stack.LN1Normalized, stack.LN2Normalized, stack.FinalNormalized, stack.Z:
		return b.norm[row*n : (row+1)*n]
	case stack.Query, stack.Key, stack.Value:
		part := int(p.Kind - stack.Query)
		return b.qkv[(row*3+part)*n : (row*3+part+1)*n]
	case stack.AttnOut, stack.MLPOut:
		return b.sum[row*n : (row+1)*n]
	case stack.MLPPre, stack.MLPPost:
		return b.inner[row*inner : (row+1)*inner]
	case stack.Scores, stack.Pattern:
		return b.attentionRow(w, p.Kind, row)
	case stack.LN1Scale, stack.LN2Scale, stack.FinalScale:
		x := b.buffer(w, 1)
		x[0] = normScale(b.x[row*n:(row+1)*n], c.Epsilon)
		return x
	}
	panic("cpu: no values at " + p.String())
}

// buffer returns memory of the worker for the values of one token.
func (b *backend) buffer(w *kernels.Worker, n int) []float32 {
	x := &b.trace.rows[w.ID()]
	grow(x, n)
	return *x
}

// normScale returns √(variance + epsilon), by which a LayerNorm divides.
func normScale(x []float32, epsilon float32) float32 {
	mean, variance := 0.0, 0.0
	for _, v := range x {
		mean += float64(v)
	}
	mean /= float64(len(x))
	for _, v := range x {
		d := float64(v) - mean
		variance += float64(d * d)
	}
	return float32(math.Sqrt(variance/float64(len(x)) + float64(epsilon)))
}

// attentionRow returns the attention weights, or the scores, of one row: [n_head, position+1].
func (b *backend) attentionRow(w *kernels.Worker, k stack.Kind, row int) []float32 {
	i, token := b.At(row)
	s, all := &b.spans[i], b.spans[i].Weights
	if k == stack.Scores {
		all = s.Scores
	}
	keys := s.Tokens - s.Rows + token + 1
	x := b.buffer(w, s.Heads*keys)
	for h := range s.Heads {
		copy(x[h*keys:(h+1)*keys], all[(h*s.Rows+token)*s.Tokens:])
	}
	return x
}

// watchAttention prepares the spans of attention in a layer: what they hide, and what is read of
// them.
func (b *backend) watchAttention(w *kernels.Worker, layer int) {
	if b.trace == nil {
		return
	}
	if w.ID() == 0 {
		b.watch(layer)
	}
	w.Sync()
}

func (b *backend) watch(layer int) {
	t, weights, scores, hidden := b.trace, 0, 0, 0
	pattern := stack.Point{Kind: stack.Pattern, Layer: layer}
	for i := range b.spans {
		s, from := &b.spans[i], b.pass.Spans[i].Trace
		s.Keep, s.Weights, s.Scores = nil, nil, nil
		if from == nil {
			continue
		}
		size := s.Heads * s.Rows * s.Tokens
		if from.Reads.Has(pattern) {
			s.Weights = part(&t.weights, &weights, size)
		}
		if from.Reads.Has(stack.Point{Kind: stack.Scores, Layer: layer}) {
			s.Scores = part(&t.scores, &scores, size)
		}
		for j := range from.Edits {
			if e := &from.Edits[j]; e.Concerns(pattern) {
				if s.Keep == nil {
					s.Keep = part(&t.keep, &hidden, size)
					for k := range s.Keep {
						s.Keep[k] = true
					}
				}
				hide(s, e)
			}
		}
	}
}

// part returns the next n elements of a buffer from *used on. If it is too small there is a new one:
// the parts before stay where they are.
func part[T any](buffer *[]T, used *int, n int) []T {
	if len(*buffer)-*used < n {
		*buffer, *used = make([]T, n), 0
	}
	x := (*buffer)[*used : *used+n]
	*used += n
	return x
}

// hide hides the keys that an edit names.
func hide(s *kernels.Span, e *stack.Edit) {
	for h := range s.Heads {
		if e.Head != stack.AllHeads && e.Head != h {
			continue
		}
		for i := range s.Rows {
			if position := s.Tokens - s.Rows + i; e.Covers(position) {
				row := s.Keep[(h*s.Rows+i)*s.Tokens:][:s.Tokens]
				clear(row[min(e.KeysFrom, s.Tokens):min(e.KeysTo, s.Tokens)])
			}
		}
	}
}

// embedTraced: x = wte[tokens] + wpe[positions], each of which may be edited.
func (b *backend) embedTraced(w *kernels.Worker) {
	n := b.params.Embd
	token, position := stack.Point{Kind: stack.Embed}, stack.Point{Kind: stack.PosEmbed}
	for r := w.Next(); r < b.rows; r = w.Next() {
		i, at := b.At(r)
		s, p := &b.pass.Spans[i], b.paramsOf(i)
		x, wpe := b.x[r*n:(r+1)*n], b.buffer(w, n) // [n_embd]
		p.WTE.Row(x, s.Tokens[at])
		copy(wpe, p.WPE[(s.Position+at)*n:])
		if t := s.Trace; t != nil {
			b.edit(s, token, x, at, r)
			b.edit(s, position, wpe, at, r)
			if at >= t.From && t.Reads.Has(token) {
				t.Read(token, at, x)
			}
			if at >= t.From && t.Reads.Has(position) {
				t.Read(position, at, wpe)
			}
		}
		for j := range x {
			x[j] += wpe[j]
		}
	}
	w.Sync()
}

// readResults hands out z W_O of each head: a head alone, with zeros for the others, goes through
// c_proj without its bias, token by token.
func (b *backend) readResults(w *kernels.Worker, layer int) {
	p := stack.Point{Kind: stack.Result, Layer: layer}
	if b.trace == nil || !b.trace.points.Has(p) {
		return
	}
	t, heads, n := b.trace, b.params.Heads, b.params.Embd
	dim := n / heads
	for r := range b.rows {
		span, token := b.At(r)
		s := &b.pass.Spans[span]
		if s.Trace == nil || !s.Trace.Reads.Has(p) || token < s.Trace.From {
			continue
		}
		if w.ID() == 0 {
			grow(&t.apart, heads*n)
			grow(&t.results, heads*n)
			clear(t.apart)
			for h := range heads {
				copy(t.apart[h*(n+dim):], b.norm[r*n+h*dim:r*n+(h+1)*dim])
			}
		}
		w.Sync()
		kernels.Linear(w, t.results, t.apart, heads, &b.paramsOf(span).H[layer].AttnProj.Weight, nil)
		if w.ID() == 0 {
			s.Trace.Read(p, token, t.results)
		}
		w.Sync()
	}
}

// addLayerNorm: x += sum; norm = ln_2(x)
func (b *backend) addLayerNorm(w *kernels.Worker, layer int, rows rowSet) {
	n, norm := b.params.Embd, func(g *group) *stack.Norm { return &g.params.H[layer].Ln2 }
	p := stack.Point{Kind: stack.ResidMid, Layer: layer}
	if b.trace == nil || !b.trace.points.Has(p) {
		runs(b.parts, rows, norm, func(f *stack.Norm, from, to int) {
			kernels.AddLayerNorm(w, b.norm[from*n:], b.x[from*n:], b.sum[from*n:], to-from, f.Gain,
				f.Bias, b.params.Epsilon)
		})
		return
	}
	kernels.Add(w, b.x, b.sum)
	b.visitPoint(w, p)
	b.layerNorm(w, b.norm, b.x, rows, norm)
}
