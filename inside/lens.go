// Package inside says what a model does inside: what each layer would predict (Lens), which parts
// add up to a logit (Attribute), which values make the difference between two texts (Patch), and
// what becomes of a logit without a part (Ablate) or without seeing a token (Knockout). Sweep is
// for experiments of your own: one text with many lists of edits. At is for one position of a
// session: its attention, lens and attribution, from one pass. Heads says where each head of
// attention looks. ReadArrays hands out what is computed, raw or as TransformerLens has it.
//
//	table, err := inside.Lens(ctx, m, tokens, inside.LensOptions{})
//	fmt.Println(table.Layers[3][len(tokens)-1].Top)
//
// Its types, in the order to read them:
//
//   - [LensTable] is what each layer would predict, each cell a [Prediction]; [Tuned] is a lens that
//     was trained.
//   - [Metric] is what is asked of a prediction: a logit, or the difference of two.
//   - [Attribution] is a metric as a sum of [Parts].
//   - [PatchTable] is how much of a difference each value makes.
//   - [Effects] is what becomes of a metric without a part.
//   - [HeadTable] has the scores of the heads of attention, each a [HeadScore].
//   - [Position] is all of that at one position of a session.
//   - [Array] is values of the forward pass as a file has them.
//
// Everything is computed by model.Eval, with a model.Trace that reads points of the forward
// pass, and by the same kernels: there is no second forward pass. So a number depends on
// the checkpoint, its number format and the text only, and has the same bits on every machine. A
// model that a device computes is refused, because devices have no traces.
//
// Texts are token ids. What is asked about the next token is asked after the last of them: give the
// beginning of a text to ask about a token in the middle. Results are values with JSON, in these
// words:
//
//	top, p            the likeliest ids, and their probabilities
//	entropy, kl       in nats; kl is the divergence of the last layer's prediction from this one,
//	                  Σ p ln(p/q), where p is the last layer's
//	rank              how many logits are greater than the target's: 0 is the likeliest
//	difference        logit(target) − logit(against), or − the mean of all logits
//	parts             "embed", "pos", "head 3.1", "attn_bias 0", "mlp 2", "ln_f.b"; of Ablate and
//	                  Knockout "head 3.1", "attn 3", "mlp 2", "token 0"
//	heads             previous, first, self, duplicate, induction, entropy, distance: see HeadScore
//	clean, corrupted  the differences of two texts
//	hook_resid_pre …  of a patched text: [layer][position] or [layer][head]
//	share             of the way from corrupted to clean
package inside

// The lens: what would be predicted if the rest of the layers did nothing.

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"picogpt/kernels"
	"picogpt/model"
)

// LensOptions say what Lens reports. The zero value reports the five likeliest tokens at every
// position.
type LensOptions struct {
	Top    int    // how many of the likeliest tokens; 0 means 5
	From   int    // tokens[From:] are reported
	Target *int   // an id whose rank and probability are reported; nil: none
	Tuned  *Tuned // what translates a layer's state before it is read; nil: the logit lens

	// Logits, if not nil, is called with the logits [vocab_size] of each layer, 0 to n_layer, and
	// position, under the rules of model.Input.Visit.
	Logits func(layer, position int, logits []float32)
}

// A LensTable holds what each layer would predict after each token.
type LensTable struct {
	Tokens []int `json:"tokens"`
	From   int   `json:"from,omitempty"` // the position of the first column
	Target *int  `json:"target,omitempty"`

	// [n_layer+1][len(Tokens)−From]: row i reads the residual stream before block i, the last row
	// what the model predicts.
	Layers [][]Prediction `json:"lens"`
}

// A Prediction is a distribution over the next token.
type Prediction struct {
	Top     []int     `json:"top"`     // the likeliest ids; of equal ones, the least id first
	P       []float64 `json:"p"`       // their probabilities
	Entropy float64   `json:"entropy"` // nats
	KL      float64   `json:"kl"`      // Σ p ln(p/q), nats: p is the last layer's, q this one
	Rank    *int      `json:"rank,omitempty"`
	TargetP *float64  `json:"target_p,omitempty"` // of the target
}

// Lens computes the logit lens of a text: the logits of layer l are W_U·ln_f(x), where x is the
// residual stream before block l, with the mean and variance of x, by the same kernels as the
// model's. The last row is what the model predicts, to the last bit. Source: nostalgebraist,
// "interpreting GPT: the logit lens", 2020; with LensOptions.Tuned Belrose et al., 2023. Its memory
// does not grow with the text, except for what it returns.
func Lens(ctx context.Context, m *model.Model, tokens []int, o LensOptions) (*LensTable, error) {
	l := &lens{m: m, o: o, layers: m.Config().Layer, vocab: m.Config().VocabSize}
	if err := l.check(tokens); err != nil {
		return nil, err
	}
	l.table = &LensTable{Tokens: tokens, From: o.From, Target: o.Target,
		Layers: make([][]Prediction, l.layers+1)}
	for i := range l.table.Layers {
		l.table.Layers[i] = make([]Prediction, len(tokens)-o.From)
	}
	if err := l.run(ctx, tokens); err != nil {
		return nil, err
	}
	return l.table, nil
}

const (
	// lensLogits bounds the logits that exist at a time: 34 MB, 166 rows of GPT-2's vocabulary.
	// Each group of rows transposes all of W_U, which with 64 rows took three quarters of the time;
	// more rows do not stay in the processor's caches.
	lensLogits = 8 << 20

	// lensTokens bounds the tokens whose residual streams exist at a time.
	lensTokens = 256
)

// A lens is the state of a call of Lens.
type lens struct {
	m             *model.Model
	o             LensOptions
	layers, vocab int
	table         *LensTable

	rec    *record   // the residual streams of some tokens
	group  int       // positions at a time, each with all layers
	x      []float32 // [group, n_layer+1, n_embd]
	norm   []float32 // the same, after ln_f
	logits []float32 // [group, n_layer+1, vocab_size]

	final   [][]float64  // [group][vocab_size]: the last layer's probabilities
	scratch [][]float64  // [workers][vocab_size]: another layer's
	bad     atomic.Int64 // 1 + layer·n_positions + position of logits that are not finite; 0: none
}

func (l *lens) check(tokens []int) error {
	if err := checkText(l.m, tokens); err != nil {
		return err
	}
	if l.m.Params().LMHead == nil {
		return model.ErrNoLogits
	}
	if l.o.From < 0 || l.o.From >= len(tokens) {
		return fmt.Errorf("lens: from position %d, want 0 to %d", l.o.From, len(tokens)-1)
	}
	if err := l.checkTop(); err != nil {
		return err
	}
	if l.o.Target != nil {
		if err := checkID("target", *l.o.Target, l.m); err != nil {
			return err
		}
	}
	return l.o.Tuned.check(l.m)
}

func (l *lens) checkTop() error {
	if l.o.Top < 0 {
		return fmt.Errorf("lens: top %d, want 0 (5) or more", l.o.Top)
	}
	l.o.Top = min(cmp.Or(l.o.Top, 5), l.vocab)
	return nil
}

// run evaluates the text, some tokens at a time, and reads their residual streams.
func (l *lens) run(ctx context.Context, tokens []int) (err error) {
	most := min(lensTokens, len(tokens)-l.o.From)
	l.prepare(most)
	if l.rec, err = newRecord(l.m, most, l.points()...); err != nil {
		return err
	}
	s := l.m.NewSession()
	defer s.Release()
	if l.o.From > 0 {
		in := model.Input{Session: s, Tokens: tokens[:l.o.From], NoLogits: true}
		if err := eval(ctx, l.m, in); err != nil {
			return err
		}
	}
	for from := l.o.From; from < len(tokens); from += lensTokens {
		part := tokens[from:min(from+lensTokens, len(tokens))]
		in := model.Input{Session: s, Tokens: part, NoLogits: true, Trace: l.rec.trace(0)}
		if err := eval(ctx, l.m, in); err != nil {
			return err
		}
		for first := 0; first < len(part); first += l.group {
			if err := l.readGroup(ctx, from, first, min(l.group, len(part)-first)); err != nil {
				return err
			}
		}
	}
	return nil
}

// points returns the residual streams before each block and after the last.
func (l *lens) points() []model.Point {
	return []model.Point{{Kind: model.ResidPre, Layer: model.AllLayers},
		{Kind: model.ResidPost, Layer: l.layers - 1}}
}

func (l *lens) prepare(tokens int) {
	width := l.layers + 1
	most := max(1, lensLogits/(width*l.vocab))
	groups := (tokens + most - 1) / most
	l.group = (tokens + groups - 1) / groups // about equal: few rows by themselves take more time
	rows := l.group * width
	l.x, l.norm = make([]float32, rows*l.m.Config().Embd), make([]float32, rows*l.m.Config().Embd)
	l.logits = make([]float32, rows*l.vocab)
	l.final, l.scratch = make([][]float64, l.group), make([][]float64, l.m.Threads())
	for _, list := range [][][]float64{l.final, l.scratch} {
		for i := range list {
			list[i] = make([]float64, l.vocab)
		}
	}
}

// stream returns the residual streams that a layer reads, of all recorded tokens.
func (l *lens) stream(layer int) *values {
	if layer == l.layers {
		return l.rec.rows[model.Point{Kind: model.ResidPost, Layer: layer - 1}]
	}
	return l.rec.rows[model.Point{Kind: model.ResidPre, Layer: layer}]
}

// readGroup predicts with all layers after n positions: those of the record from first on. The
// record begins at position from.
func (l *lens) readGroup(ctx context.Context, from, first, n int) error {
	p, width := l.m.Params(), l.layers+1
	err := l.m.Work(ctx, func(w *kernels.Worker) {
		for t := w.Next(); t < n*width; t = w.Next() {
			copy(l.x[t*p.Embd:(t+1)*p.Embd], l.stream(t%width).row(first+t/width))
		}
		w.Sync()
		l.o.Tuned.translate(w, l, n)
		kernels.LayerNorm(w, l.norm, l.x, n*width, p.LnF.Gain, p.LnF.Bias, p.Epsilon)
		kernels.Linear(w, l.logits, l.norm, n*width, p.LMHead, nil) // -> [n, n_layer+1, vocab_size]
		for i := w.Next(); i < n; i = w.Next() {
			l.predict(w, from+first, i, l.layers)
		}
		w.Sync()
		for t := w.Next(); t < n*l.layers; t = w.Next() {
			l.predict(w, from+first, t/l.layers, t%l.layers)
		}
		w.Sync()
	})
	if bad := int(l.bad.Load()) - 1; err == nil && bad >= 0 {
		return fmt.Errorf("lens: layer %d: the logits after position %d are %w", bad/p.Positions,
			bad%p.Positions, ErrNonFinite)
	}
	return err
}

// predict fills the cell of a layer for position i of a group that begins at position from. The
// last layer comes first, because others are compared with it.
func (l *lens) predict(w *kernels.Worker, from, i, layer int) {
	logits := l.logits[(i*(l.layers+1)+layer)*l.vocab:][:l.vocab]
	if l.o.Logits != nil {
		l.o.Logits(layer, from+i, logits)
	}
	p, leaves := l.final[i], w.Leaves()
	if layer < l.layers {
		p = l.scratch[w.ID()]
	}
	if !leaves.Widen(p, logits) {
		at := int64(layer*l.m.Config().Positions + from + i + 1)
		for old := l.bad.Load(); old == 0 || at < old; old = l.bad.Load() { // the least is reported
			if l.bad.CompareAndSwap(old, at) {
				break
			}
		}
		return
	}
	lse := leaves.LogSumExp(logits)
	leaves.Exp64s(p, p, lse, 1)
	cell := &l.table.Layers[layer][from+i-l.o.From]
	var cross float64
	cell.Entropy, cross = entropies(p, l.final[i], logits, lse)
	if layer < l.layers { // the last layer's entropy is there already
		cell.KL = max(0, cross-l.table.Layers[l.layers][from+i-l.o.From].Entropy)
	}
	cell.Top = Greatest(logits, l.o.Top)
	cell.P = make([]float64, len(cell.Top))
	for j, id := range cell.Top {
		cell.P[j] = p[id]
	}
	if l.o.Target != nil {
		rank, target := rankOf(logits, *l.o.Target), p[*l.o.Target]
		cell.Rank, cell.TargetP = &rank, &target
	}
}

// entropies returns the entropy of p, −Σ p ln p, and its cross entropy under another distribution,
// −Σ other ln p, where ln p[i] = logits[i] − lse. The sums are in four lanes by i mod 4.
func entropies(p, other []float64, logits []float32, lse float64) (entropy, cross float64) {
	var own, others [4]float64
	i := 0
	for ; i+4 <= len(logits); i += 4 {
		x, a, b := logits[i:i+4:i+4], p[i:i+4:i+4], other[i:i+4:i+4]
		d0, d1 := lse-float64(x[0]), lse-float64(x[1])
		d2, d3 := lse-float64(x[2]), lse-float64(x[3])
		own[0] += float64(a[0] * d0)
		own[1] += float64(a[1] * d1)
		own[2] += float64(a[2] * d2)
		own[3] += float64(a[3] * d3)
		others[0] += float64(b[0] * d0)
		others[1] += float64(b[1] * d1)
		others[2] += float64(b[2] * d2)
		others[3] += float64(b[3] * d3)
	}
	for ; i < len(logits); i++ {
		d := lse - float64(logits[i])
		own[i%4] += float64(p[i] * d)
		others[i%4] += float64(other[i] * d)
	}
	return max(0, own[0]+own[1]+(own[2]+own[3])), others[0] + others[1] + (others[2] + others[3])
}

// Greatest returns the ids of the n greatest logits, the greatest first; of equal ones, the least
// id first.
func Greatest[T float32 | float64](logits []T, n int) []int {
	ids := make([]int, 0, n+1)
	least := T(math.Inf(-1))
	for id, v := range logits {
		if v <= least && len(ids) == n {
			continue
		}
		at, _ := slices.BinarySearchFunc(ids, v, func(other int, v T) int {
			if logits[other] >= v {
				return -1
			}
			return 1
		})
		ids = slices.Insert(ids, at, id)
		if len(ids) > n {
			ids = ids[:n]
		}
		least = logits[ids[len(ids)-1]]
	}
	return ids
}

// rankOf returns how many logits are greater than that of an id.
func rankOf(logits []float32, id int) int {
	rank, target := 0, logits[id]
	for _, v := range logits {
		if v > target {
			rank++
		}
	}
	return rank
}
