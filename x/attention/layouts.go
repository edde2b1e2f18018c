package attention

// The published layouts of multi-head attention's parameters, each a constructor.

import (
	"fmt"
	"math"

	"picogpt/kernels"
)

// NewGPT2 returns multi-head attention as GPT-2 and picoGPT store it: q, k, v = split(x·c_attn +
// bias), then c_proj. cAttn [width, 3·width], cAttnBias [3·width], cProj [width, width], cProjBias
// [width]. With Options.Causal it is the decoder's form, without it the encoder's. (Radford et al.,
// 2019; jaymody/picoGPT, mha.)
func NewGPT2(cAttn, cAttnBias, cProj, cProjBias []float32, width, heads int) *Layer {
	check("c_attn [width 3·width]", len(cAttn), width, 3*width)
	check("c_attn bias [3·width]", len(cAttnBias), 3*width)
	check("c_proj [width width]", len(cProj), width, width)
	check("c_proj bias [width]", len(cProjBias), width)
	var p [3]projection
	for i := range p {
		p[i] = inOut(cAttn[min(len(cAttn), i*width):], 3*width, width, width,
			cAttnBias[i*width:(i+1)*width])
	}
	out := inOut(cProj, width, width, width, cProjBias)
	return newLayer(p[0], p[1], p[2], &out, heads)
}

// NewTorch returns multi-head attention as PyTorch's nn.MultiheadAttention stores it: inProjWeight
// [3·width, width], inProjBias [3·width] (nil for none), with the rows of q, k and v; outProjWeight
// [width, width], outProjBias [width] (nil for none). Options.MeanWeights returns its averaged
// weights.
func NewTorch(
	inProjWeight, inProjBias, outProjWeight, outProjBias []float32, width, heads int,
) *Layer {
	check("in_proj_weight [3·width width]", len(inProjWeight), 3*width, width)
	check("out_proj.weight [width width]", len(outProjWeight), width, width)
	if inProjBias == nil {
		inProjBias = make([]float32, 3*width)
	}
	check("in_proj_bias [3·width]", len(inProjBias), 3*width)
	checkBias("out_proj.bias [width]", outProjBias, width)
	var p [3]projection
	for i := range p {
		p[i] = outIn(inProjWeight[i*width*width:(i+1)*width*width], width, width,
			inProjBias[i*width:(i+1)*width])
	}
	out := outIn(outProjWeight, width, width, outProjBias)
	return newLayer(p[0], p[1], p[2], &out, heads)
}

// NewEinsum returns multi-head attention of four matrices without biases, as einsum code writes it:
// each of K, Q, V [width, width] gives its output by row, out[i] = Σ_j K[i,j]·x[j], with
// consecutive rows for each head; L [width, width] joins the heads in the same way.
func NewEinsum(k, q, v, l []float32, width, heads int) *Layer {
	return rows(q, k, v, l, nil, width, heads)
}

// NewFullWidth returns multi-head attention with projections of q, k and v without bias and an
// output projection with bias, each [out, in] as PyTorch's nn.Linear stores it. Scores are scaled
// by 1/√width, the full width and not the head's. wq, wk, wv, wu [width, width], bu [width].
// (Bloem, "Transformers from scratch", 2019, which scales q and k by width^¼ each.)
func NewFullWidth(wq, wk, wv, wu, bu []float32, width, heads int) *Layer {
	checkBias("bias of the unifying projection [width]", bu, width)
	l := rows(wq, wk, wv, wu, bu, width, heads)
	l.scale = float32(1 / math.Sqrt(float64(width)))
	return l
}

// rows returns a layer of four square matrices stored [out, in].
func rows(q, k, v, u, bias []float32, width, heads int) *Layer {
	for _, m := range []struct {
		name string
		data []float32
	}{{"Q", q}, {"K", k}, {"V", v}, {"the unifying projection", u}} {
		check(m.name+" [width width]", len(m.data), width, width)
	}
	out := outIn(u, width, width, bias)
	return newLayer(outIn(q, width, width, nil), outIn(k, width, width, nil),
		outIn(v, width, width, nil), &out, heads)
}

// Head holds the parameters of a single head, stored [out, in]: wq, wk [key_dim, in], wv
// [value_dim, in], with biases or nil.
type Head struct {
	WQ, WK, WV []float32
	BQ, BK, BV []float32

	// Reduce [reduced, width], if not nil, is applied to each input first; then in above is
	// reduced. Otherwise in is width.
	Reduce []float32
}

// NewHead returns one plain head, without an output projection: width -> valueDim. h.Reduce must be
// nil.
func NewHead(h Head, width, keyDim, valueDim int) *Layer {
	if h.Reduce != nil {
		panic("attention: NewHead: Reduce is set, want nil (see NewReduced)")
	}
	q, k, v := h.projections(width, keyDim, valueDim)
	return newLayer(q, k, v, nil, 1)
}

// NewHeads returns several heads, whose rows follow one another in h: wq, wk [heads·key_dim,
// width], wv [heads·value_dim, width]. The heads' results lie side by side, without an output
// projection.
func NewHeads(h Head, width, heads, keyDim, valueDim int) *Layer {
	q, k, v := h.projections(width, heads*keyDim, heads*valueDim)
	return newLayer(q, k, v, nil, heads)
}

// NewReduced returns one or more heads that first reduce the width and then project: width ->
// reduced -> keyDim and valueDim. wu [width, heads·valueDim] and bu [width] project the heads'
// results, side by side, back; with wu nil these are the result.
func NewReduced(heads []Head, wu, bu []float32, width, reduced, keyDim, valueDim int) *Layer {
	l := &Layer{heads: len(heads), width: width, dk: keyDim, dv: valueDim, scale: headScale(keyDim)}
	for i := range heads {
		h := &heads[i]
		check("Reduce [reduced width]", len(h.Reduce), reduced, width)
		q, k, v := h.projections(reduced, keyDim, valueDim)
		l.reduce = append(l.reduce, outIn(h.Reduce, width, reduced, nil))
		l.query, l.key, l.value = append(l.query, q), append(l.key, k), append(l.value, v)
	}
	if wu != nil {
		check("wu [width heads·value_dim]", len(wu), width, len(heads)*valueDim)
		checkBias("bu [width]", bu, width)
		out := outIn(wu, len(heads)*valueDim, width, bu)
		l.output = &out
	}
	return l
}

func (h *Head) projections(in, dk, dv int) (q, k, v projection) {
	check("WQ [key_dim in]", len(h.WQ), dk, in)
	check("WK [key_dim in]", len(h.WK), dk, in)
	check("WV [value_dim in]", len(h.WV), dv, in)
	checkBias("BQ [key_dim]", h.BQ, dk)
	checkBias("BK [key_dim]", h.BK, dk)
	checkBias("BV [value_dim]", h.BV, dv)
	return outIn(h.WQ, in, dk, h.BQ), outIn(h.WK, in, dk, h.BK), outIn(h.WV, in, dv, h.BV)
}

func newLayer(q, k, v projection, out *projection, heads int) *Layer {
	dk, dv := q.weight.Out, v.weight.Out
	if heads < 1 || dk%heads != 0 || dv%heads != 0 {
		panic(fmt.Sprintf("attention: %d heads of queries %d wide and values %d wide, want a "+
			"divisor of both", heads, dk, dv))
	}
	return &Layer{heads: heads, width: q.weight.In, dk: dk / heads, dv: dv / heads,
		scale: headScale(dk / heads),
		query: []projection{q}, key: []projection{k}, value: []projection{v},
		all: sideBySide(q, k, v), output: out}
}

func headScale(dk int) float32 { return float32(1 / math.Sqrt(float64(dk))) }

func checkBias(name string, bias []float32, n int) {
	if bias != nil {
		check(name, len(bias), n)
	}
}

// inOut copies the first out columns of a matrix [in, …] whose rows lie ld apart.
func inOut(m []float32, ld, in, out int, bias []float32) projection {
	w := make([]float32, 0, in*out)
	for i := range in {
		w = append(w, m[i*ld:i*ld+out]...)
	}
	return newProjection(w, in, out, bias)
}

// outIn copies a matrix [out, in], transposed: the kernels' chains run faster over columns than
// over rows.
func outIn(m []float32, in, out int, bias []float32) projection {
	w := make([]float32, in*out)
	kernels.Transpose(w, out, m, in, out, in)
	return newProjection(w, in, out, bias)
}

// sideBySide returns several projections of one input as one.
func sideBySide(parts ...projection) *projection {
	in, out, biased := parts[0].weight.In, 0, false
	for _, p := range parts {
		out += p.weight.Out
		biased = biased || p.bias != nil
	}
	w, bias := make([]float32, 0, in*out), []float32(nil)
	for i := range in {
		for _, p := range parts {
			n := p.weight.Out
			w = append(w, p.weight.F32[i*n:(i+1)*n]...)
		}
	}
	if biased {
		bias = make([]float32, out)
		at := 0
		for _, p := range parts {
			copy(bias[at:at+p.weight.Out], p.bias)
			at += p.weight.Out
		}
	}
	p := newProjection(w, in, out, bias)
	return &p
}

func newProjection(w []float32, in, out int, bias []float32) projection {
	if bias != nil {
		bias = append([]float32(nil), bias...)
	}
	return projection{kernels.Matrix{Format: kernels.F32, Layout: kernels.InOut, In: in, Out: out,
		F32: w}, bias}
}
