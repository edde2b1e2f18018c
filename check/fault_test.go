package check_test

// Faults are seeded in the engine's reading and in its arithmetic. Each is found, and its place is
// named.

import (
	"context"
	"encoding/binary"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"picogpt/check"
	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/internal/cpu"
	"picogpt/internal/engine"
	"picogpt/kernels"
	"picogpt/model"
	"picogpt/model/stack"
	"picogpt/weights"
)

// The engine reads a checkpoint that differs from the reference's in one thing.
func TestFaultsOfReadingAreNamed(t *testing.T) {
	type change struct {
		what     string
		options  func(o *fixture.Options)
		tensor   string
		elements func(x []uint32, cols int)
		text     func(tokens, merges []string)
		place    string
	}
	transposed := func(x []uint32, cols int) {
		for i := range cols {
			for j := range i {
				x[i*cols+j], x[j*cols+i] = x[j*cols+i], x[i*cols+j]
			}
		}
	}
	faults := []change{
		{what: "epsilon", options: func(o *fixture.Options) { o.Epsilon = 1e-6 },
			place: "config: layer_norm_epsilon: 1e-06, reference 1e-05"},
		{what: "heads", options: func(o *fixture.Options) { o.Head = 4 },
			place: "config: n_head: 4, reference 2"},
		{what: "activation", options: func(o *fixture.Options) { o.Activation = "gelu" },
			place: "config: activation_function: gelu, reference gelu_new"},
		{what: "scale", options: func(o *fixture.Options) { o.NoScale = true },
			place: "config: scale_attn_weights: false"},
		{what: "inverse", options: func(o *fixture.Options) { o.InverseLayer = true },
			place: "config: scale_attn_by_inverse_layer_idx: true"},
		{what: "transposed projection", tensor: "h.1.attn.c_proj.weight", elements: transposed,
			place: "weights: h.1.attn.c_proj.weight [0 1]: "},
		{what: "shifted positions", tensor: "wpe.weight", elements: func(x []uint32, cols int) {
			copy(x, slices.Clone(x)[cols:])
		}, place: "weights: wpe.weight [0 0]: "},
		{what: "heads side by side", tensor: "h.0.attn.c_attn.weight",
			elements: func(x []uint32, cols int) {
				for row := range slices.Chunk(x, cols) { // [q0 q1 k0 k1 …] -> [q0 k0 q1 k1 …]
					w := cols / 6
					swap := slices.Clone(row)
					copy(row[w:2*w], swap[2*w:])
					copy(row[2*w:3*w], swap[w:])
				}
			}, place: "weights: h.0.attn.c_attn.weight [0 8]: "},
		{what: "a bias", tensor: "h.1.mlp.c_fc.bias", elements: func(x []uint32, _ int) { clear(x) },
			place: "weights: h.1.mlp.c_fc.bias [0]: 0, reference "},
		{what: "one bit", tensor: "ln_f.weight", elements: func(x []uint32, _ int) { x[3] ^= 1 },
			place: "weights: ln_f.weight [3]: "},
		{what: "a head", options: func(o *fixture.Options) { o.Untied = true },
			place: "config: tie_word_embeddings: false, reference true"},
		{what: "swapped merges", text: func(_, merges []string) {
			merges[7], merges[8] = merges[8], merges[7]
		}, place: `vocabulary: merge 7: [" " "s"], reference ["e" "r"]`},
		{what: "swapped ids", text: func(tokens, _ []string) {
			tokens[300], tokens[301] = tokens[301], tokens[300]
		}, place: "vocabulary: id 300: "},
	}
	base := fixture.Options{Embd: 16, Head: 2, Layer: 2, Positions: 24}
	for _, f := range cases.Some(faults, 7, 0) {
		t.Run(f.what, func(t *testing.T) {
			root, o := t.TempDir(), base
			good, bad := filepath.Join(root, "good"), filepath.Join(root, "bad")
			writeText(t, good, base, nil)
			if f.options != nil {
				f.options(&o)
			}
			writeText(t, bad, o, f.text)
			p, close := open(t, bad, model.Options{})
			defer close()
			second, end := open(t, good, model.Options{})
			defer end()
			p.Reference = second.Reference
			if f.elements != nil {
				p = changed(t, p, f.tensor, f.elements)
				defer p.Model.Close()
			}
			found(t, p, f.place)
		})
	}
}

// changed is the pair with other numbers in one of the engine's tensors.
func changed(
	t *testing.T, p check.Pair, name string, change func(x []uint32, cols int),
) check.Pair {
	t.Helper()
	all := slices.Clone(p.Tensors.All())
	for i := range all {
		if all[i].Name != name {
			continue
		}
		x := make([]uint32, all[i].Len())
		for j := range x {
			x[j] = binary.LittleEndian.Uint32(all[i].Data[4*j:])
		}
		change(x, all[i].Shape[len(all[i].Shape)-1])
		all[i].Data = nil
		for _, v := range x {
			all[i].Data = binary.LittleEndian.AppendUint32(all[i].Data, v)
		}
	}
	tensors, err := weights.New(weights.Source{Name: "changed", Tensors: all})
	if err != nil {
		t.Fatal(err)
	}
	p.Tensors = tensors
	if p.Model, err = model.New(context.Background(), p.Model.Config(), tensors,
		p.Options); err != nil {
		t.Fatal(err)
	}
	return p
}

func open(t *testing.T, dir string, o model.Options) (check.Pair, func()) {
	t.Helper()
	p, close, err := check.Open(context.Background(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return p, close
}

// found wants a fault at a place.
func found(t *testing.T, p check.Pair, place string) {
	t.Helper()
	r, err := p.Compare(context.Background(), check.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Agree || r.Err() == nil || !strings.Contains(r.Place, place) {
		t.Errorf("place %q, want one with %q\n%v", r.Place, place, r)
	}
}

// A faulty device is the processor with other parameters than it was given: the weights that it
// has loaded are right, and what it computes is wrong.
type faulty func(p *stack.Params)

func (f faulty) Open(
	_ context.Context, p *stack.Params, cache *engine.Budget, team *kernels.Team,
) (engine.Backend, error) {
	wrong := *p
	wrong.H = slices.Clone(p.H)
	f(&wrong)
	return cpu.New(team, &wrong, cache), nil
}

func TestFaultsOfArithmeticArePlaced(t *testing.T) {
	// Models of a part of the layers may not have the block.
	block := func(i int, wrong func(b *stack.Block, p *stack.Params)) faulty {
		return func(p *stack.Params) {
			if i < len(p.H) {
				wrong(&p.H[i], p)
			}
		}
	}
	faults := []struct {
		what  string
		wrong faulty
		place string
	}{
		{"epsilon", func(p *stack.Params) { p.Epsilon = 0.01 }, "ln_f"},
		{"no ln_f bias", func(p *stack.Params) { p.LnF.Bias = make([]float32, p.Embd) }, "ln_f"},
		{"no positions", func(p *stack.Params) { p.WPE = make([]float32, len(p.WPE)) }, "wpe"},
		{"shifted positions", func(p *stack.Params) {
			p.WPE = append(slices.Clone(p.WPE[p.Embd:]), p.WPE[:p.Embd]...)
		}, "wpe"},
		{"far positions", func(p *stack.Params) {
			p.WPE = slices.Clone(p.WPE)
			copy(p.WPE[20*p.Embd:], p.WPE[:p.Embd])
		}, "wpe"},
		{"head split", func(p *stack.Params) { p.Heads *= 2 }, "h.0.attn: the queries"},
		{"scale of all", func(p *stack.Params) {
			for i := range p.H {
				p.H[i].Scale *= 2
			}
		}, "h.0.attn: the queries"},
		{"scale of the last", block(2, func(b *stack.Block, _ *stack.Params) { b.Scale *= 2 }),
			"h.2.attn: the queries"},
		{"attention's bias", block(1, func(b *stack.Block, p *stack.Params) {
			b.AttnProj.Bias = make([]float32, p.Embd)
		}), "h.1.attn: ln_1, the values or c_proj"},
		{"ln_1", block(1, func(b *stack.Block, _ *stack.Params) { b.Ln1 = b.Ln2 }),
			"h.1.attn: ln_1"},
		{"ln_2", block(1, func(b *stack.Block, _ *stack.Params) { b.Ln2 = b.Ln1 }),
			"h.1.mlp or ln_2"},
		{"MLP's bias", block(2, func(b *stack.Block, p *stack.Params) {
			b.CFC.Bias = make([]float32, p.Inner)
		}), "h.2.mlp or ln_2"},
		{"activation", func(p *stack.Params) { p.Activation = kernels.ReLU }, "h.0.mlp or ln_2"},
		{"no number", block(1, func(b *stack.Block, p *stack.Params) {
			b.CFC.Bias = slices.Clone(b.CFC.Bias)
			b.CFC.Bias[0] = float32(math.NaN())
		}), "h.1."}, // zero times it is none either
		{"a block twice", block(1, func(b *stack.Block, p *stack.Params) { *b = p.H[0] }),
			"h.1.attn"},
	}
	dir := t.TempDir()
	err := fixture.Write(dir, fixture.Options{Embd: 16, Head: 2, Layer: 3, Positions: 24})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range cases.Some(faults, 7, 1) {
		t.Run(f.what, func(t *testing.T) {
			p, close := open(t, dir, model.Options{Device: f.wrong})
			defer close()
			found(t, p, f.place)
		})
	}
}

// Without a fault the same device agrees.
func TestTheDeviceOfTheFaultsIsRightByItself(t *testing.T) {
	dir := t.TempDir()
	if err := fixture.Write(dir, fixture.Options{}); err != nil {
		t.Fatal(err)
	}
	r := compare(t, dir, model.Options{Device: faulty(func(*stack.Params) {})}, check.Options{})
	if !r.Agree || math.IsNaN(row(r, "logits").Difference) {
		t.Errorf("%v", r)
	}
}
