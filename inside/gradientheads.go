package inside

// Gradients through attention.

import (
	"math"
	"slices"

	"picogpt/kernels"
	"picogpt/model"
)

// attention sets g.dqk to the gradient by q, k and v of a layer, of that by z in g.x. Each head's
// products are those of Linear.
func (g *gradient) attention(w *kernels.Worker, layer int) {
	t, e, d := g.n, g.p.Embd, g.p.HeadDim()
	points := [2]model.Point{{Kind: model.Pattern, Layer: layer}, {Kind: model.Scores, Layer: layer}}
	keep := [2]bool{slices.Contains(g.wants, points[0]), slices.Contains(g.wants, points[1])}
	if w.ID() == 0 {
		for i, to := range []*[]float32{&g.patterns, &g.scores} {
			if keep[i] && *to == nil {
				*to = make([]float32, t*g.p.Heads*t)
			}
		}
	}
	w.Sync()
	q, k, v, z := g.head[0], g.head[1], g.head[2], g.head[3]
	weights, by, weightsT, byT := g.square[0], g.square[1], g.square[2], g.square[3]
	for h := range g.p.Heads {
		for i := w.Next(); i < t; i = w.Next() {
			for part, to := range [][]float32{q, k, v} {
				copy(to[i*d:(i+1)*d], g.qkv[(i*3+part)*e+h*d:])
			}
			copy(z[i*d:(i+1)*d], g.x[i*e+h*d:])
		}
		w.Sync()
		keys, values := dense(d, t, k), dense(d, t, v)
		keys.Layout, values.Layout = kernels.OutIn, kernels.OutIn
		kernels.Linear(w, weights, q, t, &keys, nil) // [tokens, d] -> [tokens, tokens]
		kernels.Linear(w, by, z, t, &values, nil)
		for i := w.Next(); i < t; i = w.Next() {
			row, from := weights[i*t:(i+1)*t], by[i*t:(i+1)*t]
			g.softmax(row, layer, h, i)
			if keep[0] {
				copy(g.patterns[(i*g.p.Heads+h)*t:], from)
			}
			sum := 0.0
			for j := range i + 1 {
				sum += float64(float64(row[j]) * float64(from[j]))
			}
			for j := range from {
				from[j] = float32(float64(row[j]) * (float64(from[j]) - sum))
			}
			if keep[1] {
				copy(g.scores[(i*g.p.Heads+h)*t:], from)
			}
			for j := range from {
				from[j] *= g.p.H[layer].Scale
			}
		}
		w.Sync()
		for j := w.Next(); j < t; j = w.Next() {
			for i := range t {
				weightsT[j*t+i], byT[j*t+i] = weights[i*t+j], by[i*t+j]
			}
		}
		w.Sync()
		dz, dk, dq := dense(t, d, z), dense(t, d, k), dense(t, d, q)
		kernels.Linear(w, v, weightsT, t, &dz, nil) // -> [tokens, d]
		kernels.Linear(w, z, by, t, &dk, nil)       // by q
		kernels.Linear(w, k, byT, t, &dq, nil)
		for i := w.Next(); i < t; i = w.Next() {
			for part, from := range [][]float32{z, k, v} {
				copy(g.dqk[(i*3+part)*e+h*d:], from[i*d:(i+1)*d])
			}
		}
		w.Sync()
	}
	for i := w.Next(); i < t; i = w.Next() {
		for at, from := range [][]float32{g.patterns, g.scores} {
			if keep[at] {
				row := make([]float32, 0, g.p.Heads*(i+1))
				for h := range g.p.Heads {
					row = append(row, from[(i*g.p.Heads+h)*t:][:i+1]...)
				}
				g.o.Read(model.Reading{At: points[at], Index: i, Data: row})
			}
		}
	}
	w.Sync()
}

// softmax makes weights of the products of query i and all keys: of a token after it, and of one
// that an edit hides, 0.
func (g *gradient) softmax(row []float32, layer, head, i int) {
	clear(row[i+1:])
	seen, scale := make([]float64, i+1), float64(g.p.H[layer].Scale)
	for j := range seen {
		seen[j] = float64(scale * float64(row[j]))
	}
	at := model.Point{Kind: model.Pattern, Layer: layer}
	for k := range g.edits {
		if e := &g.edits[k]; e.Op == model.Hide && e.Concerns(at) && e.Covers(i) &&
			(e.Head == head || e.Head == model.AllHeads) {
			for j := e.KeysFrom; j < min(e.KeysTo, i+1); j++ {
				seen[j] = math.Inf(-1)
			}
		}
	}
	most := slices.Max(seen)
	if math.IsInf(most, -1) {
		clear(row)
		return
	}
	g.m.Leaves().Exp64s(seen, seen, most, 1)
	sum := g.m.Leaves().Sum64(seen, 0)
	for j, s := range seen {
		row[j] = float32(s / sum)
	}
}
