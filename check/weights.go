package check

// The configuration and the weights: they must be the same numbers.

import (
	"fmt"
	"math"
	"slices"

	"picogpt/check/reference"
	"picogpt/weights"
)

// config compares what the two have read of the configuration.
func (c *comparison) config() {
	e, r := c.Model.Config(), c.Reference.HParams
	row := Row{What: "config", Verdict: Same}
	for _, field := range []struct {
		name              string
		engine, reference any
	}{
		{"vocab_size", e.VocabSize, r.Vocab}, {"n_positions", e.Positions, r.Positions},
		{"n_embd", e.Embd, r.Embd}, {"n_head", e.Head, r.Head}, {"n_layer", e.Layer, r.Layer},
		{"n_inner", e.Inner, r.Inner},
		{"activation_function", string(e.Activation), r.Activation},
		{"layer_norm_epsilon", e.LayerNormEpsilon, r.Epsilon},
		{"scale_attn_weights", e.ScaleAttnWeights, r.ScaleAttn},
		{"scale_attn_by_inverse_layer_idx", e.ScaleAttnByInverseLayerIdx, r.InverseLayer},
		{"tie_word_embeddings", e.TieWordEmbeddings, r.Tied},
	} {
		row.Count++
		if field.engine != field.reference && row.Verdict == Same {
			row.Verdict = Fault
			row.Where = fmt.Sprintf("%s: %v, reference %v", field.name, field.engine,
				field.reference)
		}
	}
	row.Compared = fmt.Sprintf("%d fields", row.Count)
	c.report.add(row)
}

// weights compares every number that the engine computes with. The reference's are rounded first
// as the engine's number format says.
func (c *comparison) weights() error {
	format := c.Model.Format()
	wanted, skipped, different := map[string]tensor{}, 0, 0
	for _, t := range tensors(c.Reference.Params) {
		wanted[t.name] = t
	}
	row := Row{What: "weights", Verdict: Same}
	err := c.Model.Export(c.ctx, func(all []weights.Tensor) error {
		for _, e := range all {
			r, ok := wanted[e.Name]
			if !ok {
				row.Where, row.Verdict = e.Name+": the reference has none", Fault
				continue
			}
			if delete(wanted, e.Name); e.DType == weights.U8 {
				skipped++
				continue
			}
			if r.matrix {
				round(r.data, format)
			} else {
				round(r.data, "f32")
			}
			values, err := e.Float32s()
			if err != nil {
				return err
			}
			row.Count += len(values)
			if where, diff := apart(r, values); where != "" {
				if different++; different == 1 {
					row.Where, row.Verdict = where, Fault
				}
				row.Difference = max(row.Difference, diff)
			}
			if err := c.ctx.Err(); err != nil {
				return err
			}
		}
		return c.head(wanted, all, &row)
	})
	if different > 1 {
		row.Where += fmt.Sprintf(", and %d more tensors", different-1)
	}
	if row.Compared = fmt.Sprintf("%d numbers", row.Count); skipped > 0 {
		row.Compared += fmt.Sprintf("; %d tensors are in %s", skipped, format)
	}
	c.report.add(row)
	c.otherWeights = row.Verdict == Fault
	return err
}

// head compares a head that only the reference holds with the engine's embedding: the engine drops
// one that is equal to it.
func (c *comparison) head(left map[string]tensor, all []weights.Tensor, row *Row) error {
	r, ok := left["lm_head.weight"]
	i := slices.IndexFunc(all, func(t weights.Tensor) bool { return t.Name == "wte.weight" })
	if !ok || i < 0 || all[i].DType == weights.U8 {
		return nil
	}
	values, err := all[i].Float32s()
	round(r.data, c.Model.Format())
	if where, diff := apart(r, values); where != "" && row.Verdict == Same {
		row.Where, row.Difference, row.Verdict = where, diff, Fault
	}
	return err
}

// A tensor is one of the reference's.
type tensor struct {
	name   string
	cols   int       // of a row
	data   []float64 // shared with the Params
	matrix bool      // of a linear layer, the embedding or the head, which have the number format
}

// tensors returns the reference's tensors by Hugging Face's names.
func tensors(p *reference.Params) (all []tensor) {
	matrix := func(name string, m *reference.Matrix, format bool) {
		all = append(all, tensor{name, m.Cols, m.Data, format})
	}
	vector := func(name string, x []float64) {
		all = append(all, tensor{name: name, cols: len(x), data: x})
	}
	linear := func(name string, l reference.Linear) {
		matrix(name+".weight", l.W, true)
		vector(name+".bias", l.B)
	}
	norm := func(name string, n reference.LayerNorm) {
		vector(name+".weight", n.G)
		vector(name+".bias", n.B)
	}
	matrix("wte.weight", p.WTE, true)
	matrix("wpe.weight", p.WPE, false)
	for i, b := range p.Blocks {
		h := fmt.Sprintf("h.%d.", i)
		norm(h+"ln_1", b.LN1)
		linear(h+"attn.c_attn", b.Attn.CAttn)
		linear(h+"attn.c_proj", b.Attn.CProj)
		norm(h+"ln_2", b.LN2)
		linear(h+"mlp.c_fc", b.MLP.CFC)
		linear(h+"mlp.c_proj", b.MLP.CProj)
	}
	norm("ln_f", p.LNF)
	if p.Head != p.WTE {
		matrix("lm_head.weight", p.Head, true)
	}
	return all
}

// count returns the number of weights; a head that is the embedding counts once.
func count(p *reference.Params) (n int) {
	for _, t := range tensors(p) {
		n += len(t.data)
	}
	return n
}

// apart returns where the engine's values first differ from a tensor, "" if they do not, and the
// largest difference.
func apart(t tensor, values []float32) (where string, diff float64) {
	if len(values) != len(t.data) {
		return fmt.Sprintf("%s: %d numbers, reference %d", t.name, len(values), len(t.data)),
			math.Inf(1)
	}
	for i, want := range t.data {
		got := float64(values[i])
		if got == want || math.IsNaN(got) && math.IsNaN(want) {
			continue
		}
		if where == "" {
			at := fmt.Sprintf("[%d]", i)
			if t.cols < len(t.data) {
				at = fmt.Sprintf("[%d %d]", i/t.cols, i%t.cols)
			}
			where = fmt.Sprintf("%s %s: %v, reference %v", t.name, at, values[i], float32(want))
		}
		diff = max(diff, math.Abs(got-want))
	}
	return where, diff
}

// round rounds numbers to a format, to nearest, ties to even: first to float32, as the engine reads
// float64. q8 and q4 are no roundings of single numbers: these stay in float32.
func round(x []float64, format string) {
	bits, least := 0, 0
	switch format {
	case "f16":
		bits, least = 11, -13
	case "bf16":
		bits, least = 8, -125
	}
	for i, v := range x {
		if v = float64(float32(v)); bits > 0 && v != 0 && !math.IsInf(v, 0) && !math.IsNaN(v) {
			_, exponent := math.Frexp(v) // |v| is at least 2^(exponent-1)
			step := math.Ldexp(1, max(exponent, least)-bits)
			v = math.RoundToEven(v/step) * step
		}
		x[i] = v
	}
}
