package inside_test

// TransformerLens's view beside a model whose weights are really processed, in float64.

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/inside"
	"picogpt/model"
	"picogpt/weights"
)

// A matrix is [len(v)/n, n].
type matrix struct {
	n int
	v []float64
}

func (m matrix) row(i int) []float64 { return m.v[i*m.n : (i+1)*m.n] }
func (m matrix) rows() int           { return len(m.v) / m.n }

// times returns m·o + bias, which may be nil.
func (m matrix) times(o matrix, bias []float64) matrix {
	p := matrix{o.n, make([]float64, m.rows()*o.n)}
	for i := range m.rows() {
		copy(p.row(i), bias)
		for k, x := range m.row(i) {
			for j, w := range o.row(k) {
				p.row(i)[j] += x * w
			}
		}
	}
	return p
}

// columns returns the columns from a to b.
func (m matrix) columns(a, b int) matrix {
	p := matrix{n: b - a}
	for i := range m.rows() {
		p.v = append(p.v, m.row(i)[a:b]...)
	}
	return p
}

// transposed returns the rows as columns.
func (m matrix) transposed() matrix {
	p := matrix{m.rows(), make([]float64, len(m.v))}
	for i := range m.rows() {
		for j, x := range m.row(i) {
			p.row(j)[i] = x
		}
	}
	return p
}

// centre takes the mean from each row.
func (m matrix) centre() {
	for i := range m.rows() {
		mean := 0.0
		for _, x := range m.row(i) {
			mean += x / float64(m.n)
		}
		for j := range m.row(i) {
			m.row(i)[j] -= mean
		}
	}
}

// plus adds another matrix.
func (m matrix) plus(o matrix) matrix {
	p := matrix{m.n, slices.Clone(m.v)}
	for i, x := range o.v {
		p.v[i] += x
	}
	return p
}

// A lensModel is a small GPT-2 as TransformerLens holds it: LayerNorms have no parameters.
type lensModel struct {
	heads          int
	embed, pos, wU matrix
	bU             []float64
	layers         []lensLayer
	off            [2]int // 1 + the layer and the head whose z is 0
}

type lensLayer struct {
	qkv, o, in, out     matrix
	bQKV, bO, bIn, bOut []float64
}

// fold processes a checkpoint's tensors: fold_ln, center_writing_weights, center_unembed and
// fold_value_biases, in this order.
func fold(tensors map[string]matrix, heads, layers int) *lensModel {
	// A LayerNorm's gain and bias go into the linear layer that reads it.
	foldNorm := func(ln, linear string) (matrix, []float64) {
		w, b := tensors[linear+".weight"], slices.Clone(tensors[linear+".bias"].v)
		gain, bias := tensors[ln+".weight"].v, tensors[ln+".bias"]
		for j, x := range bias.times(w, nil).v {
			b[j] += x
		}
		w = matrix{w.n, slices.Clone(w.v)}
		for i, g := range gain {
			for j := range w.row(i) {
				w.row(i)[j] *= g
			}
		}
		w = w.transposed() // the mean over n_embd reads nothing of a normalized vector
		w.centre()
		return w.transposed(), b
	}
	writing := func(name string) (matrix, []float64) {
		w, b := tensors[name+".weight"], tensors[name+".bias"]
		w.centre()
		b.centre()
		return w, b.v
	}
	m := &lensModel{heads: heads, embed: tensors["wte.weight"], pos: tensors["wpe.weight"]}
	tensors["unembed.weight"] = m.embed.transposed()
	tensors["unembed.bias"] = matrix{m.embed.rows(), make([]float64, m.embed.rows())}
	m.wU, m.bU = foldNorm("ln_f", "unembed")
	m.embed = matrix{m.embed.n, slices.Clone(m.embed.v)}
	for i := range layers {
		h, l := fmt.Sprintf("h.%d.", i), lensLayer{}
		l.qkv, l.bQKV = foldNorm(h+"ln_1", h+"attn.c_attn")
		l.in, l.bIn = foldNorm(h+"ln_2", h+"mlp.c_fc")
		l.o, l.bO = writing(h + "attn.c_proj")
		l.out, l.bOut = writing(h + "mlp.c_proj")
		m.layers = append(m.layers, l)
	}
	m.embed.centre()
	m.pos.centre()
	m.wU.centre()
	matrix{len(m.bU), m.bU}.centre()
	for i := range m.layers {
		l, n := &m.layers[i], m.embed.n
		values := matrix{n, l.bQKV[2*n:]}
		l.bO = values.times(l.o, l.bO).v
		clear(values.v)
	}
	return m
}

// norm returns x/scale with the mean taken away, and the scales.
func norm(x matrix) (matrix, matrix) {
	y, scales := matrix{x.n, slices.Clone(x.v)}, matrix{n: 1}
	y.centre()
	for i := range y.rows() {
		sum := 0.0
		for _, v := range y.row(i) {
			sum += v * v / float64(x.n)
		}
		scale := math.Sqrt(sum + 1e-5)
		scales.v = append(scales.v, scale)
		for j := range y.row(i) {
			y.row(i)[j] /= scale
		}
	}
	return y, scales
}

// run returns what the model has at each point for some tokens, and the logits.
func (m *lensModel) run(ids []int) map[string][]float64 {
	all := map[string][]float64{}
	put := func(name string, x matrix) matrix {
		all[name] = x.v
		return x
	}
	embed, pos := matrix{n: m.embed.n}, matrix{n: m.embed.n}
	for i, id := range ids {
		embed.v, pos.v = append(embed.v, m.embed.row(id)...), append(pos.v, m.pos.row(i)...)
	}
	x := put("hook_embed", embed).plus(put("hook_pos_embed", pos))
	for i := range m.layers {
		name := fmt.Sprintf("blocks.%d.", i)
		put(name+"hook_resid_pre", x)
		normed, scale := norm(x)
		put(name+"ln1.hook_scale", scale)
		put(name+"ln1.hook_normalized", normed)
		x = put(name+"hook_resid_mid", x.plus(m.attention(i, normed, put)))
		normed, scale = norm(x)
		put(name+"ln2.hook_scale", scale)
		put(name+"ln2.hook_normalized", normed)
		l := &m.layers[i]
		post := put(name+"mlp.hook_pre", normed.times(l.in, l.bIn))
		post.v = slices.Clone(post.v)
		for j, v := range post.v {
			post.v[j] = v / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(v+0.044715*v*v*v)))
		}
		put(name+"mlp.hook_post", post)
		x = put(name+"hook_resid_post", x.plus(put(name+"hook_mlp_out", post.times(l.out, l.bOut))))
	}
	normed, scale := norm(x)
	put("ln_final.hook_scale", scale)
	put("logits", put("ln_final.hook_normalized", normed).times(m.wU, m.bU))
	return all
}

// attention returns what the attention of a layer adds to the stream.
func (m *lensModel) attention(layer int, normed matrix, put func(string, matrix) matrix) matrix {
	l, n, tokens := &m.layers[layer], normed.n, normed.rows()
	name, dim := fmt.Sprintf("blocks.%d.", layer), n/m.heads
	qkv := normed.times(l.qkv, l.bQKV)
	q := put(name+"attn.hook_q", qkv.columns(0, n))
	k := put(name+"attn.hook_k", qkv.columns(n, 2*n))
	v := put(name+"attn.hook_v", qkv.columns(2*n, 3*n))
	scores, z := matrix{n: tokens}, matrix{n, make([]float64, tokens*n)}
	for h := range m.heads {
		keys := k.columns(h*dim, (h+1)*dim).transposed()
		scores.v = append(scores.v, q.columns(h*dim, (h+1)*dim).times(keys, nil).v...)
	}
	pattern := matrix{tokens, make([]float64, len(scores.v))}
	for r := range scores.rows() {
		h, to, sum := r/tokens, r%tokens, 0.0
		for from := range tokens {
			s := &scores.row(r)[from]
			if *s /= math.Sqrt(float64(dim)); from > to {
				*s = math.Inf(-1)
			}
			pattern.row(r)[from] = math.Exp(*s)
			sum += pattern.row(r)[from]
		}
		for from := range tokens {
			pattern.row(r)[from] /= sum
			for j := range dim {
				z.row(to)[h*dim+j] += pattern.row(r)[from] * v.row(from)[h*dim+j]
			}
		}
	}
	put(name+"attn.hook_attn_scores", scores)
	put(name+"attn.hook_pattern", pattern)
	if m.off[0] == layer+1 {
		for to := range tokens {
			clear(z.row(to)[m.off[1]*dim : (m.off[1]+1)*dim])
		}
	}
	results := matrix{n, nil}
	for to := range tokens {
		for h := range m.heads {
			alone := matrix{n, make([]float64, n)}
			copy(alone.v[h*dim:(h+1)*dim], z.row(to)[h*dim:])
			results.v = append(results.v, alone.times(l.o, nil).v...)
		}
	}
	put(name+"attn.hook_result", results)
	return put(name+"hook_attn_out", put(name+"attn.hook_z", z).times(l.o, l.bO))
}

// The last checkpoint has gains of 0, which a view that divides by them could not show.
func TestTheViewIsThatOfProcessedWeights(t *testing.T) {
	ids := []int{3, 1, 4, 1, 5, 9, 2, 6, 5, 28, 0, 7}
	for seed := range uint64(3) {
		o := fixture.Options{Seed: seed, QKVBias: 0.3}
		list, tensors := fixture.Tensors(o), map[string]matrix{}
		for _, w := range list {
			if seed == 2 && w.Name == "h.1.ln_1.weight" {
				clear(w.Data[:8]) // two of float32
			}
			x, err := w.Float32s()
			if err != nil {
				t.Fatal(err)
			}
			m := matrix{n: w.Shape[len(w.Shape)-1]}
			for _, v := range x {
				m.v = append(m.v, float64(v))
			}
			tensors[w.Name] = m
		}
		var file bytes.Buffer
		if err := weights.Write(&file, nil, list); err != nil {
			t.Fatal(err)
		}
		m := testmodel.New(t, fixture.Config(o), file.Bytes(), model.Options{Threads: 2})
		want := fold(tensors, m.Config().Head, m.Config().Layer).run(ids)
		got, _ := arrays(t, m, ids, inside.TransformerLens)
		got["logits"] = nil
		err := m.Eval(context.Background(), model.Input{Session: m.NewSession(), Tokens: ids[:1],
			Visit: func(r model.Row) {
				mean := 0.0
				for _, x := range r.Logits {
					mean += float64(x) / float64(len(r.Logits))
				}
				for _, x := range r.Logits {
					got["logits"] = append(got["logits"], float32(float64(x)-mean))
				}
			}})
		if err != nil {
			t.Fatal(err)
		}
		want["logits"] = want["logits"][:m.Config().VocabSize]
		if len(got) != len(want) {
			t.Errorf("%d points, want %d", len(got), len(want))
		}
		for name := range want {
			nearAll(t, fmt.Sprintf("seed %d: %s", seed, name), got[name], want[name], 1e-5)
		}
		raw, _ := arrays(t, m, ids, inside.Raw)
		logitsWithout(t, m, tensors, ids)
		attributionOf(t, m, want, fold(tensors, m.Config().Head, m.Config().Layer), ids)
		for name, x := range raw { // the view is another one
			same := slices.Equal(got[name], x)
			if point, _ := model.ParsePoint(name); same != sameInBoth(point.Kind) {
				t.Errorf("seed %d: %s: raw and processed values are equal: %v", seed, name, same)
			}
		}
	}
}

// logitsWithout compares logits where heads have no z in the view.
func logitsWithout(t *testing.T, m *model.Model, tensors map[string]matrix, ids []int) {
	t.Helper()
	for layer := range m.Config().Layer {
		for head := range m.Config().Head {
			folded := fold(tensors, m.Config().Head, m.Config().Layer)
			folded.off = [2]int{layer + 1, head}
			want := folded.run(ids)["logits"]
			want = want[len(want)-m.Config().VocabSize:]
			for _, e := range []model.Edit{{Op: model.Set}, {Op: model.Scale}} {
				e.At, e.Head = model.Point{Kind: model.Z, Layer: layer}, head
				e.Values = []float32{0}
				edits, err := inside.TransformerLens.Edits(t.Context(), m, []model.Edit{e})
				if err != nil {
					t.Fatal(err)
				}
				s := m.NewSession()
				in := model.Input{Session: s, Tokens: ids, Trace: model.Editing(edits)}
				if err := m.Eval(t.Context(), in); err != nil {
					t.Fatal(err)
				}
				got, mean := slices.Clone(s.Logits()), 0.0
				for _, x := range got {
					mean += float64(x) / float64(len(got))
				}
				for i := range got {
					got[i] -= float32(mean)
				}
				nearAll(t, fmt.Sprintf("%s head %d.%d", e.Op, layer, head), got, want, 1e-5)
			}
		}
	}
}

// attributionOf compares what heads add to a logit in the view.
func attributionOf(t *testing.T, m *model.Model, points map[string][]float64, folded *lensModel,
	ids []int,
) {
	t.Helper()
	o := inside.AttributeOptions{View: inside.TransformerLens}
	a, err := inside.Attribute(t.Context(), m, ids, inside.Metric{Target: 5}, o)
	if err != nil {
		t.Fatal(err)
	}
	c, n := m.Config(), m.Config().Embd
	scale := points["ln_final.hook_scale"][len(ids)-1]
	of := func(x []float64) (sum float64) {
		for i, v := range x {
			sum += v * folded.wU.row(i)[5] / scale
		}
		return sum
	}
	for l := range c.Layer {
		results := points[fmt.Sprintf("blocks.%d.attn.hook_result", l)]
		results = results[len(results)-c.Head*n:]
		for h := range c.Head {
			name := fmt.Sprintf("head %d.%d", l, h)
			got, _ := a.Parts.Value(name)
			near(t, name, got, of(results[h*n:(h+1)*n]), 1e-5)
		}
		name := fmt.Sprintf("attn_bias %d", l)
		got, _ := a.Parts.Value(name)
		near(t, name, got, of(folded.layers[l].bO), 1e-5)
	}
	near(t, "sum", a.Sum, a.Difference, 1e-4)
	zeros, err := inside.Ablate(t.Context(), m, ids, inside.Metric{Target: 5},
		inside.AblateOptions{View: inside.TransformerLens})
	if err != nil {
		t.Fatal(err)
	}
	for l := range c.Layer {
		for h := range c.Head {
			folded.off = [2]int{l + 1, h}
			logits := folded.run(ids)["logits"]
			got, _ := zeros.Parts.Value(fmt.Sprintf("head %d.%d", l, h))
			near(t, "without a head", got, logits[len(logits)-c.VocabSize+5], 1e-4)
		}
	}
}

// sameInBoth reports whether the views have the same values at points of a kind.
func sameInBoth(k model.Kind) bool {
	return slices.Contains([]model.Kind{model.LN1Scale, model.LN2Scale, model.FinalScale,
		model.Query, model.Key, model.Scores, model.Pattern, model.MLPPre, model.MLPPost}, k)
}
