package check

// The place of a fault where both have the same numbers: models of a part of the layers, and with a
// part of the weights zero, are made for both, and the first that differs tells.

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"picogpt/check/reference"
	"picogpt/model"
	"picogpt/weights"
)

// A part says which weights of a model are zero.
type part struct {
	layers   int
	noWPE    bool // positions add nothing
	noAttn   bool // the last block's attention adds nothing
	noMLP    bool // its MLP adds nothing
	noScores bool // its queries and keys are zero, so that each token reads all alike
}

// place names the first part of the model where the two differ on ids.
func (c *comparison) place(ids []int, together int) (string, error) {
	var failed error
	differ := func(p part) bool {
		if failed != nil {
			return false
		}
		var is bool
		is, failed = c.differ(p, ids, together)
		return is
	}
	name := func() string {
		switch {
		case differ(part{layers: 1, noAttn: true, noMLP: true, noWPE: true}):
			return "wte, ln_f or the head"
		case differ(part{layers: 1, noAttn: true, noMLP: true}):
			return "wpe or the positions"
		}
		all := len(c.Reference.Params.Blocks)
		n := 1 + sort.Search(all, func(i int) bool { return differ(part{layers: i + 1}) })
		block := fmt.Sprintf("h.%d", n-1)
		switch {
		case n > all:
			return "the whole model, and no part of it"
		case !differ(part{layers: n, noMLP: true}):
			return block + ".mlp or ln_2"
		case differ(part{layers: n, noMLP: true, noScores: true}):
			return block + ".attn: ln_1, the values or c_proj"
		}
		return block + ".attn: the queries, keys or scores (heads, scale, mask)"
	}
	where := name()
	return where, failed
}

// differ reports whether the two break the promise on a part of the model.
func (c *comparison) differ(p part, ids []int, together int) (bool, error) {
	config := c.Model.Config()
	config.Layer = p.layers
	tensors, err := p.tensors(c.Tensors)
	if err != nil {
		return false, err
	}
	o := c.Pair.Options
	o.Progress = nil
	m, err := model.New(c.ctx, config, tensors, o)
	if err != nil {
		return false, err
	}
	defer m.Close()
	_, engine, err := evaluate(c.ctx, m, ids, together, 0)
	if _, ok := errors.AsType[*model.NonFiniteError](err); ok {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	oracle, err := reference.GPT2(ids, p.params(c.Reference.Params), c.Reference.HParams)
	if err != nil {
		return false, err
	}
	for i, row := range engine {
		if g := gapOf(i, row, oracle); !(g.share() <= Promise) {
			return true, nil
		}
	}
	return false, nil
}

// tensors returns the part's tensors for the engine: those of its layers, zeros in place of some.
func (p part) tensors(of *weights.Tensors) (*weights.Tensors, error) {
	last := fmt.Sprintf("h.%d.", p.layers-1)
	var kept []weights.Tensor
	for _, t := range of.All() {
		name := strings.TrimPrefix(t.Name, "transformer.")
		layer := 0
		if _, err := fmt.Sscanf(name, "h.%d.", &layer); err == nil && layer >= p.layers {
			continue
		}
		from := -1 // the elements of each row before it become zero
		switch end := strings.TrimPrefix(name, last); {
		case p.noWPE && name == "wpe.weight",
			p.noAttn && (end == "attn.c_proj.weight" || end == "attn.c_proj.bias"),
			p.noMLP && (end == "mlp.c_proj.weight" || end == "mlp.c_proj.bias"):
			from = t.Shape[len(t.Shape)-1]
		case p.noScores && (end == "attn.c_attn.weight" || end == "attn.c_attn.bias"):
			from = t.Shape[len(t.Shape)-1] / 3 * 2 // [queries, keys, values]
		}
		if from >= 0 {
			data, err := t.Bytes()
			if err != nil {
				return nil, err
			}
			data = slices.Clone(data)
			size := t.DType.Size()
			for row := range slices.Chunk(data, size*t.Shape[len(t.Shape)-1]) {
				clear(row[:from*size])
			}
			t = weights.Tensor{Name: t.Name, DType: t.DType, Shape: t.Shape, Data: data}
		}
		kept = append(kept, t)
	}
	return weights.New(weights.Source{Name: of.Name(), Tensors: kept, Metadata: of.Metadata()})
}

// params returns the same part for the reference.
func (p part) params(of *reference.Params) *reference.Params {
	cut := *of
	cut.Blocks = slices.Clone(of.Blocks[:p.layers])
	if p.noWPE {
		cut.WPE = zero(of.WPE, 1)
	}
	b := &cut.Blocks[p.layers-1]
	if p.noAttn {
		b.Attn.CProj = without(b.Attn.CProj, 1)
	}
	if p.noMLP {
		b.MLP.CProj = without(b.MLP.CProj, 1)
	}
	if p.noScores {
		b.Attn.CAttn = without(b.Attn.CAttn, 2./3)
	}
	return &cut
}

// without is a layer whose first outputs, a share of all, are zero.
func without(l reference.Linear, share float64) reference.Linear {
	b := slices.Clone(l.B)
	clear(b[:int(share*float64(len(b))+0.5)])
	return reference.Linear{W: zero(l.W, share), B: b}
}

func zero(m *reference.Matrix, share float64) *reference.Matrix {
	m = m.Clone()
	rows, cols := m.Rows, m.Cols
	for i := range rows {
		clear(m.Row(i)[:int(share*float64(cols)+0.5)])
	}
	return m
}
