package checkpoint

// PyTorch files: a state dict in one file or in shards (Hugging Face's pytorch_model.bin, minGPT's
// model.pt), or a training checkpoint that holds one (nanoGPT's ckpt.pt).

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"picogpt/internal/folder"
	"picogpt/internal/format/pickle"
	"picogpt/internal/format/torch"
	"picogpt/internal/quote"
	"picogpt/weights"
)

// isPyTorch reports whether the file is a zip, a file of the older form, or an index of shards.
func isPyTorch(p probe) bool {
	return p.begins("PK\x03\x04", "PK\x05\x06") || torch.IsLegacy(p.head) || isPyTorchIndex(p.name)
}

func isPyTorchIndex(name string) bool { return strings.HasSuffix(name, ".bin.index.json") }

// openPyTorch opens a file that torch.save wrote. It executes nothing in it.
func openPyTorch(fsys fs.FS, name string, o Options) (f found, err error) {
	if isPyTorchIndex(name) {
		return openShards(fsys, name)
	}
	path := folder.Path(fsys, name)
	file, err := torch.Open(fsys, name)
	if err != nil {
		return found{}, fmt.Errorf("%s: %w", path, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, file.Close())
		}
	}()
	root, ok := file.Root.(*pickle.Dict)
	if !ok {
		return found{}, fmt.Errorf("%s: %s, want a dict of tensors: save model.state_dict()", path,
			pickle.Kind(file.Root))
	}
	s := &state{path: path, files: []*torch.File{file}}
	if isNanoGPT(root) {
		return openNanoGPT(fsys, root, s, o)
	}
	if err := s.read(root); err != nil {
		return found{}, fmt.Errorf("%s: %w", path, err)
	}
	return s.bare(fsys)
}

// openShards opens the files of an index.
func openShards(fsys fs.FS, name string) (f found, err error) {
	index, err := weights.ReadIndex(fsys, name)
	if err != nil {
		return found{}, err
	}
	s := &state{path: folder.Path(fsys, name)}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	holder := map[string]string{}
	for _, shard := range index.Shards() {
		path := folder.Path(fsys, shard)
		file, err := torch.Open(fsys, shard)
		if err != nil {
			return found{}, fmt.Errorf("%s: %w", path, err)
		}
		s.files = append(s.files, file)
		from := len(s.names)
		root, ok := file.Root.(*pickle.Dict)
		if !ok {
			return found{}, fmt.Errorf("%s: %s, want a dict of tensors", path,
				pickle.Kind(file.Root))
		}
		if err := s.read(root); err != nil {
			return found{}, fmt.Errorf("%s: %w", path, err)
		}
		for _, tensor := range s.names[from:] {
			holder[tensor] = shard
		}
	}
	if err := index.Check(holder); err != nil {
		return found{}, err
	}
	return s.bare(fsys)
}

// A state is a state dict: tensors by name, in one file or several.
type state struct {
	path    string // of the file or the index
	files   []*torch.File
	names   []string
	tensors map[string]*torch.Tensor

	unbiased bool // no layer has a bias
}

// read adds the tensors of a dict. It is an error if a value is not a tensor.
func (s *state) read(d *pickle.Dict) error {
	if s.tensors == nil {
		s.tensors = map[string]*torch.Tensor{}
	}
	if _, ok := d.Get("param_groups"); ok {
		return errors.New("the state of an optimizer, which holds no weights")
	}
	for _, key := range d.Keys {
		name, ok := key.(string)
		if !ok {
			return fmt.Errorf("key %v, want the names of tensors", key)
		}
		v, _ := d.Get(key)
		tensor, ok := v.(*torch.Tensor)
		if !ok {
			return fmt.Errorf("%s: %s, want a tensor: save model.state_dict() by itself",
				quote.Plain(name, 80), pickle.Kind(v))
		}
		name = strings.TrimPrefix(name, compiled)
		if _, ok := s.tensors[name]; ok {
			return fmt.Errorf("%s: there twice, want it once", quote.Plain(name, 80))
		}
		s.names = append(s.names, name)
		s.tensors[name] = tensor
	}
	return nil
}

// compiled is the prefix that torch.compile adds to each name.
const compiled = "_orig_mod."

func (s *state) close() (all error) {
	for _, f := range s.files {
		all = errors.Join(all, f.Close())
	}
	return all
}

// bare opens a state dict by itself, with config.json in the same folder: Hugging Face's or
// minGPT's. The shape of c_attn tells them apart: [n, 3n] or [3n, n].
func (s *state) bare(fsys fs.FS) (found, error) {
	config, err := s.readConfig(fsys)
	if err != nil {
		return found{}, err
	}
	f := found{format: "pytorch", config: config}
	for _, name := range []string{"transformer.h.0.attn.c_attn.weight", "h.0.attn.c_attn.weight"} {
		if t, ok := s.tensors[name]; ok && len(t.Shape()) == 2 && t.Shape()[0] == 3*t.Shape()[1] {
			f.format = "mingpt"
		}
	}
	s.unbiased = f.format == "mingpt" && !s.hasBiases()
	f.tensors, err = s.open(f.format != "pytorch", config.TieWordEmbeddings)
	return f, err
}

// open returns the tensors with Hugging Face's names and orientation. If the file's linear layers
// are [out, in], it transposes them; if the model has no biases, they are zeros. A head that equals
// wte is left out if tied is set, because it would have to be made.
func (s *state) open(outIn, tied bool) (*weights.Tensors, error) {
	source := weights.Source{Name: s.path, Close: s.close}
	for _, f := range s.files {
		source.Size += f.Size()
	}
	used := int64(0)
	for _, name := range s.names {
		t := s.tensors[name]
		w, err := t.Weights(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.path, err)
		}
		if tied && w.Data == nil && s.isWTE(name, t) {
			continue
		}
		used += w.Size()
		if outIn && len(w.Shape) == 2 && isLinear(name) {
			w = w.Transposed()
		}
		source.Tensors = append(source.Tensors, w)
		if s.unbiased {
			source.Tensors = append(source.Tensors, zeroBias(w)...)
		}
	}
	if used > 2*source.Size { // so many tied or expanded tensors would take too much memory
		return nil, fmt.Errorf("%s: tensors of %d bytes in a file of %d: they share storages",
			s.path, used, source.Size)
	}
	return weights.New(source)
}

// isWTE reports whether a tensor is a head that is tied to wte: the same numbers in the file.
func (s *state) isWTE(name string, t *torch.Tensor) bool {
	if name != "lm_head.weight" && name != "lm_head.decoder.weight" {
		return false
	}
	wte, ok := s.tensors["transformer.wte.weight"]
	if !ok {
		wte, ok = s.tensors["wte.weight"]
	}
	return ok && t.Same(wte)
}

// isLinear reports whether a name is that of a linear layer's weight in a block.
func isLinear(name string) bool {
	for _, end := range []string{".attn.c_attn.weight", ".attn.c_proj.weight", ".mlp.c_fc.weight",
		".mlp.c_proj.weight"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

// hasBiases reports whether a linear layer or a LayerNorm has a bias.
func (s *state) hasBiases() bool {
	for _, name := range s.names {
		if layer, ok := strings.CutSuffix(name, ".bias"); ok && hasBias(layer+".weight") {
			return true
		}
	}
	return false
}

// hasBias reports whether GPT-2 has a bias for the weight of that name.
func hasBias(weight string) bool {
	layer := strings.TrimSuffix(weight, ".weight")
	part := layer[strings.LastIndexByte(layer, '.')+1:]
	return isLinear(weight) || part == "ln_1" || part == "ln_2" || part == "ln_f"
}

// zeroBias returns the bias of a linear layer, [in, out], or of a LayerNorm, all zeros.
func zeroBias(w weights.Tensor) []weights.Tensor {
	layer, ok := strings.CutSuffix(w.Name, ".weight")
	if !ok || len(w.Shape) == 0 || !hasBias(w.Name) {
		return nil
	}
	return []weights.Tensor{{Name: layer + ".bias", DType: weights.F32,
		Shape: w.Shape[len(w.Shape)-1:], Fill: func(dst []byte, _ int64) error {
			clear(dst)
			return nil
		}}}
}
