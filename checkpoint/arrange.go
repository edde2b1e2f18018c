// Tensors under other names, or with other shapes, as the ones that the model has.

package checkpoint

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"picogpt/internal/quote"
	"picogpt/model"
	"picogpt/weights"
)

// A stack is the tensors of a file under our names, as they are stored.
type stack struct {
	path    string // of the file
	dialect dialect
	tensors []weights.Tensor
	index   map[string]int // without "transformer."
	outIn   bool           // linear layers are [out, in]
	renamed bool           // our names are others than those in the file
	head    string         // naming.head

	activation model.Activation // that a whole module says; "" if none does
}

// errNoEmbedding is the error of files without an embedding of tokens by a name that is known.
var errNoEmbedding = errors.New("no embedding of tokens, such as wte.weight")

// newStack returns the tensors of a file under our names. Errors name the file.
func newStack(path string, tensors []weights.Tensor) (*stack, error) {
	names := make([]string, len(tensors))
	for i, t := range tensors {
		names[i] = t.Name
	}
	n, ok, err := findNames(names)
	if err == nil && !ok {
		err = fmt.Errorf("%w: the file has %s", errNoEmbedding, some(names))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	s := &stack{path: path, dialect: n.dialect, tensors: slices.Clone(tensors),
		index: map[string]int{}, renamed: !slices.Equal(names, n.ours), head: n.head}
	for i, name := range n.ours {
		s.tensors[i].Name = name
		s.index[strings.TrimPrefix(name, "transformer.")] = i
	}
	t, ok := s.tensor("h.0.attn.c_attn.weight")
	s.outIn = n.dialect.names != nil || ok && t.DType != weights.U8 && len(t.Shape) == 2 &&
		t.Shape[0] == 3*t.Shape[1]
	return s, nil
}

// plain reports whether the tensors are as Hugging Face has them.
func (s *stack) plain() bool { return !s.renamed && !s.outIn }

// tensor returns the tensor of that name.
func (s *stack) tensor(name string) (weights.Tensor, bool) {
	i, ok := s.index[name]
	if !ok {
		return weights.Tensor{}, false
	}
	return s.tensors[i], true
}

// sizes returns what the shapes say of the model, by the keys of config.json.
func (s *stack) sizes() map[string]int {
	sizes := map[string]int{}
	inner := 1
	if s.outIn {
		inner = 0
	}
	for _, x := range []struct {
		key, name string
		dim       int
	}{{"vocab_size", "wte.weight", 0}, {"n_embd", "wte.weight", 1},
		{"n_positions", "wpe.weight", 0}, {"n_inner", "h.0.mlp.c_fc.weight", inner}} {
		if t, ok := s.tensor(x.name); ok && len(t.Shape) == 2 {
			sizes[x.key] = t.Shape[x.dim]
		}
	}
	layers := 0
	for ; ; layers++ {
		if _, ok := s.tensor(fmt.Sprintf("h.%d.ln_1.weight", layers)); !ok {
			break
		}
	}
	sizes["n_layer"] = layers
	return sizes
}

// biased reports whether a linear layer or a LayerNorm has a bias.
func (s *stack) biased() bool {
	return slices.ContainsFunc(s.tensors, func(t weights.Tensor) bool {
		layer, ok := strings.CutSuffix(t.Name, ".bias")
		return ok && hasBias(layer+".weight")
	})
}

// A filling says how tensors are made that a file does not have.
type filling struct {
	zeros   bool // the biases of a kind of layers that has none are zeros
	heads   int  // for the rows of q, k and v that lie together for each head
	version int  // of Megatron's order of these rows: 0, 1, 2
	tied    int  // the index of a head that is wte once more and left out; -1: none
}

// arranged returns the tensors as Hugging Face has them: linear layers [in, out]; q, k, v in one.
func (s *stack) arranged(f filling) ([]weights.Tensor, error) {
	var all []weights.Tensor
	biased := map[string]bool{} // kinds of layers
	for _, t := range s.tensors {
		name, _, _ := cutPart(t.Name)
		if layer, ok := strings.CutSuffix(name, ".bias"); ok {
			biased[kindOf(layer)] = true
		}
	}
	for i, t := range s.tensors {
		if i == f.tied {
			continue
		}
		var err error
		switch name, part, _ := cutPart(t.Name); part {
		case partK, partV:
			continue // with q
		case partQ:
			t, err = s.joined(name)
		case byHead:
			t, err = regrouped(t, name, f)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.path, err)
		}
		if s.outIn && len(t.Shape) == 2 && isLinear(t.Name) {
			t = t.Transposed()
		}
		all = append(all, t)
		if f.zeros && !biased[kindOf(strings.TrimSuffix(t.Name, ".weight"))] {
			all = append(all, zeroBias(t)...)
		}
	}
	return all, nil
}

// kindOf returns the kind of a layer. Programs leave out the biases of all LayerNorms, of all c_attn
// or of all other linear layers, and not of some of them.
func kindOf(layer string) string {
	return map[string]string{"ln_1": "norm", "ln_2": "norm", "ln_f": "norm", "c_attn": "c_attn",
		"c_proj": "linear", "c_fc": "linear"}[layer[strings.LastIndexByte(layer, '.')+1:]]
}

// joined returns the tensor of that name, whose rows are those of q, k and v.
func (s *stack) joined(name string) (weights.Tensor, error) {
	var list []weights.Tensor
	for _, part := range []string{partQ, partK, partV} {
		t, ok := s.tensor(name + part)
		if !ok {
			return t, fmt.Errorf("%s: the rows of%s are missing", quote.Plain(name, 80), part)
		}
		if len(list) > 0 && (t.DType != list[0].DType || !slices.Equal(t.Shape, list[0].Shape)) ||
			len(t.Shape) == 0 {
			return t, fmt.Errorf("%s: the rows of%s are %s %v, want %s %v as those of q",
				quote.Plain(name, 80), part, t.DType, t.Shape, list[0].DType, list[0].Shape)
		}
		list = append(list, t)
	}
	rows := list[0].Shape[0]
	return gathered(name, 3*rows, list, func(r int) (int, int) { return r / rows, r % rows }), nil
}

// regrouped returns the tensor with all rows of q first, then those of k and v. Megatron has them
// together for each head.
func regrouped(t weights.Tensor, name string, f filling) (weights.Tensor, error) {
	if f.heads < 1 || len(t.Shape) == 0 || t.Shape[0]%(3*f.heads) != 0 {
		return t, fmt.Errorf("%s: shape %v, want q, k and v of %d heads", quote.Plain(name, 80),
			t.Shape, f.heads)
	}
	n := t.Shape[0] / 3
	width := n / f.heads
	return gathered(name, 3*n, []weights.Tensor{t}, func(r int) (int, int) {
		part, head, i := r/n, r%n/width, r%width
		switch f.version {
		case 0:
			return 0, r
		case 1:
			return 0, (head*width+i)*3 + part
		}
		return 0, (head*3+part)*width + i
	}), nil
}

// gathered returns a tensor of that many rows. Row r is a row of one of the tensors of the list,
// which have the same type and rows of the same size.
func gathered(
	name string, rows int, list []weights.Tensor, at func(r int) (tensor, row int),
) weights.Tensor {
	t := weights.Tensor{Name: name, DType: list[0].DType,
		Shape: append([]int{rows}, list[0].Shape[1:]...)}
	width := t.Size() / int64(max(rows, 1))
	t.Fill = func(dst []byte, from int64) error {
		for len(dst) > 0 {
			n := min(width-from%width, int64(len(dst)))
			i, row := at(int(from / width))
			part, begin := list[i], int64(row)*width+from%width
			if part.Data != nil {
				copy(dst[:n], part.Data[begin:])
			} else if err := part.Fill(dst[:n], begin); err != nil {
				return err
			}
			dst, from = dst[n:], from+n
		}
		return nil
	}
	t.Done = func() {
		for _, part := range list {
			if part.Done != nil {
				part.Done()
			}
		}
	}
	return t
}

// isLinear reports whether a name is that of a linear layer's weight in a block.
func isLinear(name string) bool {
	return slices.ContainsFunc([]string{".attn.c_attn.weight", ".attn.c_proj.weight",
		".mlp.c_fc.weight", ".mlp.c_proj.weight"},
		func(end string) bool { return strings.HasSuffix(name, end) })
}

// hasBias reports whether GPT-2 has a bias for the weight of that name.
func hasBias(weight string) bool {
	return isLinear(weight) || kindOf(strings.TrimSuffix(weight, ".weight")) == "norm"
}

// zeroBias returns the bias of a linear layer, [in, out], or of a LayerNorm, all zeros.
func zeroBias(w weights.Tensor) []weights.Tensor {
	layer, ok := strings.CutSuffix(w.Name, ".weight")
	if !ok || len(w.Shape) == 0 || !hasBias(w.Name) {
		return nil
	}
	return []weights.Tensor{{Name: layer + ".bias", DType: weights.F32, Added: true,
		Shape: w.Shape[len(w.Shape)-1:], Fill: func(dst []byte, _ int64) error {
			clear(dst)
			return nil
		}}}
}

// some returns three of the names for an error.
func some(names []string) string {
	const most = 3
	shown := []string{}
	for _, name := range names[:min(len(names), most)] {
		shown = append(shown, quote.Plain(name, 80))
	}
	switch {
	case len(shown) == 0:
		return "no tensors"
	case len(names) > most:
		shown = append(shown, "…")
	}
	return strings.Join(shown, ", ")
}
