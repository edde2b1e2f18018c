package inside

// Edge attribution: which outputs of heads and MLPs matter to which later ones, by gradients.

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"picogpt/kernels"
	"picogpt/model"
)

// EdgesOptions say how Edges goes from one text to the other: see PatchOptions.
type EdgesOptions struct {
	Path     Path
	Noising  bool
	Progress func(done, steps int) // nil, or called after each step
}

// An EdgeTable holds what each edge of the model is worth: the change of the Metric that the
// gradient foretells if the receiver reads the sender's output of the other text.
type EdgeTable struct {
	Metric
	IDs       [2][]int `json:"ids"` // of the clean text and of the corrupted one
	Noising   bool     `json:"noising,omitempty"`
	Clean     float64  `json:"clean"` // the Metric of the clean text
	Corrupted float64  `json:"corrupted"`
	Path
	Senders   []string `json:"senders"`   // "embed", then of each layer "head 3.1" … and "mlp 3"
	Receivers []string `json:"receivers"` // of each layer "head 3.1 q" …, k, v, "mlp 3"; "logits"

	// [len(Receivers)][senders before it]
	Scores [][]float64 `json:"scores"`
}

// Edges computes edge attribution patching: (output of the sender in the other text − in this one)·
// (gradient by what the receiver reads), summed over all positions, and with EdgesOptions.Path the
// mean of it along the path. A head reads by its queries, keys and values apart. The base is the
// corrupted text, or with Noising the clean one. It holds n_layer·n_head·n_embd numbers a token.
// Sources: Syed et al., "Attribution Patching Outperforms Automated Circuit Discovery", 2023; Hanna
// et al., "Have Faith in Faithfulness", 2024.
func Edges(ctx context.Context, m *model.Model, clean, corrupted []int, metric Metric,
	o EdgesOptions) (*EdgeTable, error) {
	err := checkPatch(m, clean, corrupted, metric, PatchOptions{At: model.Z, Path: &o.Path})
	if err == nil {
		err = additive(m.Edits())
	}
	if err != nil {
		return nil, err
	}
	t := &EdgeTable{Metric: metric, IDs: [2][]int{clean, corrupted}, Noising: o.Noising,
		Path: o.Path}
	to, from := corrupted, clean
	if o.Noising {
		to, from = from, to
	}
	x := newEdges(m, len(to))
	for i, text := range [][]int{from, to} {
		logits, err := x.take(ctx, m, text, 1-2*float32(i))
		if err != nil {
			return nil, err
		}
		if value := metric.Of(logits); (i == 0) == o.Noising {
			t.Corrupted = value
		} else {
			t.Clean = value
		}
	}
	t.Senders, t.Receivers = x.names()
	t.Scores = x.scores
	err = o.Path.run(ctx, m, to, metric, embeddings(m, to), embeddings(m, from),
		GradientOptions{inputs: x}, nil, o.Progress)
	return t, err
}

// edges are the state of a call of Edges, which takes the gradients of one pass.
type edges struct {
	layers, heads, n, tokens int
	senders                  int
	delta                    []float32   // of the senders' outputs, [tokens, senders, n_embd]
	scores                   [][]float64 // [receivers][senders before]
	weight                   float64     // of a pass

	by, out, part, back, weights []float32
}

func newEdges(m *model.Model, tokens int) *edges {
	c := m.Config()
	x := &edges{layers: c.Layer, heads: c.Head, n: c.Embd, tokens: tokens}
	x.senders = 1 + c.Layer*(c.Head+1)
	x.delta = make([]float32, tokens*x.senders*c.Embd)
	x.by = make([]float32, tokens*3*c.Head*c.Embd)
	x.out = make([]float32, x.senders*3*c.Head)
	x.part, x.back = make([]float32, tokens*c.Embd/c.Head), make([]float32, tokens*c.Embd)
	x.weights = make([]float32, 3*c.Embd*c.Embd)
	for l := range c.Layer {
		for range 3 * c.Head {
			x.scores = append(x.scores, make([]float64, x.before(l)))
		}
		x.scores = append(x.scores, make([]float64, x.before(l)+c.Head))
	}
	x.scores = append(x.scores, make([]float64, x.senders))
	return x
}

// before returns how many senders there are before a layer.
func (x *edges) before(layer int) int { return 1 + layer*(x.heads+1) }

func (x *edges) names() (senders, receivers []string) {
	senders = []string{"embed"}
	for l := range x.layers {
		for h := range x.heads {
			senders = append(senders, fmt.Sprintf("head %d.%d", l, h))
		}
		for _, part := range []string{"q", "k", "v"} {
			for h := range x.heads {
				receivers = append(receivers, fmt.Sprintf("head %d.%d %s", l, h, part))
			}
		}
		mlp := fmt.Sprintf("mlp %d", l)
		senders, receivers = append(senders, mlp), append(receivers, mlp)
	}
	return senders, append(receivers, "logits")
}

// take adds the outputs of a text, times sign, and returns the logits after it.
func (x *edges) take(ctx context.Context, m *model.Model, tokens []int, sign float32,
) ([]float32, error) {
	s := m.NewSession()
	defer s.Release()
	add := func(r model.Reading) {
		at := 0
		switch r.At.Kind {
		case model.Result:
			at = x.before(r.At.Layer)
		case model.MLPOut:
			at = x.before(r.At.Layer) + x.heads
		}
		to := x.delta[(r.Index*x.senders+at)*x.n:][:len(r.Data)]
		for i, v := range r.Data {
			to[i] += sign * v
		}
	}
	err := eval(ctx, m, model.Input{Session: s, Tokens: tokens, Trace: &model.Trace{Read: add,
		Points: []model.Point{{Kind: model.ResidPre}, {Kind: model.Result, Layer: model.AllLayers},
			{Kind: model.MLPOut, Layer: model.AllLayers}}}})
	return slices.Clone(s.Logits()), err
}

// read takes the gradient by what an MLP, or the last LayerNorm, reads: [tokens, n_embd].
func (x *edges) read(w *kernels.Worker, layer int, by []float32) {
	if x == nil {
		return
	}
	receiver := layer*(3*x.heads+1) + 3*x.heads
	if layer == x.layers {
		receiver = len(x.scores) - 1
	}
	x.score(w, receiver, 1, by)
}

// readHeads takes the gradients by what the heads of a layer read.
func (x *edges) readHeads(w *kernels.Worker, g *gradient, layer int) {
	if x == nil {
		return
	}
	h, d, n := &g.p.H[layer], g.p.HeadDim(), x.n
	plain(w, x.weights, &h.CAttn.Weight) // [3*n_embd, n_embd]
	pre := g.stream(model.ResidPre, layer)
	for i := range 3 * x.heads { // q, k, v of each head
		for t := w.Next(); t < x.tokens; t = w.Next() {
			copy(x.part[t*d:(t+1)*d], g.dqk[t*3*n+i*d:])
		}
		w.Sync()
		columns := dense(d, n, x.weights[i*d*n:])
		kernels.Linear(w, x.back, x.part, x.tokens, &columns, nil) // -> [tokens, n_embd]
		for t := w.Next(); t < x.tokens; t = w.Next() {
			normBack(x.by[(t*3*x.heads+i)*n:][:n], pre[t*n:(t+1)*n], x.back[t*n:(t+1)*n],
				h.Ln1.Gain, g.p.Epsilon)
		}
		w.Sync()
	}
	x.score(w, layer*(3*x.heads+1), 3*x.heads, x.by)
}

// score adds to the scores of so many receivers the products of gradients [tokens, receivers,
// n_embd] with what the senders before them differ by, token by token.
func (x *edges) score(w *kernels.Worker, first, receivers int, by []float32) {
	senders := len(x.scores[first])
	for t := range x.tokens {
		m := dense(x.n, receivers, by[t*receivers*x.n:])
		m.Layout = kernels.OutIn
		kernels.Linear(w, x.out, x.delta[t*x.senders*x.n:], senders, &m, nil)
		for r := w.Next(); r < receivers; r = w.Next() {
			for s := range senders {
				x.scores[first+r][s] += float64(x.weight * float64(x.out[s*receivers+r]))
			}
		}
		w.Sync()
	}
}

// An Edge is one edge of a table.
type Edge struct {
	From, To string
	Score    float64
}

// Strongest returns the n edges with the largest scores, whatever their sign; 0 is all.
func (t *EdgeTable) Strongest(n int) []Edge {
	var all []Edge
	for r, row := range t.Scores {
		for s, score := range row {
			all = append(all, Edge{t.Senders[s], t.Receivers[r], score})
		}
	}
	slices.SortStableFunc(all, func(a, b Edge) int {
		return cmp.Compare(math.Abs(b.Score), math.Abs(a.Score))
	})
	if n > 0 {
		all = all[:min(n, len(all))]
	}
	return all
}
