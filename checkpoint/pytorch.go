// PyTorch files: a state dict in one file or in shards (Hugging Face's pytorch_model.bin, minGPT's
// model.pt), or what a training has saved with one in it (nanoGPT's ckpt.pt).

package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"picogpt/internal/folder"
	"picogpt/internal/quote"
	"picogpt/internal/torch"
	"picogpt/model"
	"picogpt/weights"
)

// isPyTorch reports whether the file is a zip, a file of the older form, or an index of shards. Some
// zips are by their names something else.
func isPyTorch(p probe) bool {
	if ext := path.Ext(p.name); ext == ".npz" || ext == ".distcp" {
		return false
	}
	return p.begins("PK\x03\x04", "PK\x05\x06") || torch.IsLegacy(p.head) || isPyTorchIndex(p.name)
}

func isPyTorchIndex(name string) bool { return path.Ext(folder.Indexed(name)) == ".bin" }

// openPyTorch opens a file that torch.save wrote, or an index of such files. It executes nothing in
// them.
func openPyTorch(in *opening) (*Checkpoint, error) {
	s := &state{opening: in}
	if isPyTorchIndex(in.name) {
		if err := s.openShards(); err != nil {
			return nil, err
		}
		return s.open(nil)
	}
	file, err := s.openFile(in.name)
	if err == nil {
		err = s.find(file.Root)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.path, err)
	}
	return s.open(file.Root)
}

// openFile opens one of the files.
func (s *state) openFile(name string) (*torch.File, error) {
	file, err := torch.Open(s.fsys, name)
	if err == nil {
		s.add(file.Close)
		s.size += file.Size()
	}
	return file, err
}

// openShards adds the tensors of the files of an index.
func (s *state) openShards() error {
	index, err := weights.ReadIndex(s.fsys, s.name)
	if err != nil {
		return err
	}
	holder := map[string]string{}
	for _, shard := range index.Shards() {
		from := len(s.names)
		file, err := s.openFile(shard)
		if err == nil {
			_, err = file.Dict()
		}
		if err == nil {
			err = s.take(file.Root)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", folder.Path(s.fsys, shard), err)
		}
		for _, tensor := range s.names[from:] {
			if _, twice := holder[tensor]; twice {
				return fmt.Errorf("%s: %s: there twice, want it once", folder.Path(s.fsys, shard),
					quote.Plain(tensor, 80))
			}
			holder[tensor] = shard
		}
	}
	return index.Check(holder)
}

// open returns the checkpoint of a state dict. root is the object that it was found in, or nil.
func (s *state) open(root any) (*Checkpoint, error) {
	source := weights.Source{Name: s.path, Close: s.close, Size: s.size}
	all := make([]weights.Tensor, len(s.tensors))
	used := int64(0)
	for i, t := range s.tensors {
		var err error
		if all[i], err = t.Weights(s.names[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", s.path, err)
		}
	}
	stack, err := newStack(s.path, all)
	if errors.Is(err, errNoEmbedding) { // a config may say that this is another architecture
		if _, other := model.ReadConfig(s.fsys); other != nil && !errors.Is(other, fs.ErrNotExist) {
			err = other
		}
	}
	if err != nil {
		return nil, err
	}
	stack.activation = s.activation
	c, fill, err := stack.config(s.fsys, root, s.Options)
	if err != nil {
		return nil, err
	}
	c.Notes = append(c.Notes, s.notes...)
	head, inPlace, err := s.tied(stack)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.path, err)
	}
	c.tied = head >= 0
	if c.Config.TieWordEmbeddings && !inPlace {
		fill.tied = head
	}
	for i, t := range stack.tensors {
		if i != fill.tied {
			used += t.Size()
		}
	}
	if used > 2*source.Size { // so many tied or expanded tensors would take too much memory
		return nil, fmt.Errorf("%s: tensors of %d bytes in a file of %d: they share storages",
			s.path, used, source.Size)
	}
	if source.Tensors, err = stack.arranged(fill); err != nil {
		return nil, err
	}
	if c.format == "nanogpt" || !hasTokenizerFile(s.fsys) {
		if c.vocabulary, err = nanoMeta(s.fsys, root, c.Config.VocabSize); err != nil {
			return nil, err
		}
	}
	c.Tensors, err = weights.New(source)
	return c, err
}

// tied returns the index of a head that is wte once more in the file; -1 if there is none. inPlace
// reports whether it need not be made.
func (s *state) tied(stack *stack) (index int, inPlace bool, err error) {
	wte := stack.index["wte.weight"]
	for _, name := range []string{headName, olderHeadName} {
		i, ok := stack.index[name]
		if ok && s.tensors[i].Same(s.tensors[wte]) {
			inPlace, err = s.tensors[i].InPlace()
			return i, inPlace, err
		}
	}
	return -1, false, nil
}

// Finding the state dict in what torch.save has written: by itself, one level down in what a
// training has saved, or in a whole module.

// A state is a state dict: tensors by name, in one file or several.
type state struct {
	*opening
	size    int64 // of the files
	names   []string
	tensors []*torch.Tensor
	notes   []string
	visited int // values of dicts and modules

	activation model.Activation // of a whole module; "" if no module says it
}

// usual are the keys under which trainings save the model, the best first: nanoGPT's, Lightning's,
// DeepSpeed's and those of tutorials.
var usual = [...]string{"model", "state_dict", "model_state_dict", "model_state", "module"}

// find adds the tensors of the one state dict in a saved object: the object itself, or one of its
// values.
func (s *state) find(root any) error {
	dict, ok := root.(*torch.Dict)
	if !ok {
		if modules(root) == nil {
			return notADict(root)
		}
		return s.take(root)
	}
	if _, ok := dict.Get("param_groups"); ok {
		return errors.New("the state of an optimizer, which holds no weights")
	}
	var keys []string // of values that are models
	for _, key := range dict.Keys {
		v, _ := dict.Get(key)
		name, ok := key.(string)
		if ok && s.hasEmbedding(v) {
			keys = append(keys, name)
		}
	}
	if len(keys) == 0 || holdsTensors(dict) {
		return s.take(root)
	}
	chosen := keys[0]
	if len(keys) > 1 {
		i := slices.IndexFunc(usual[:], func(key string) bool { return slices.Contains(keys, key) })
		if i < 0 {
			return fmt.Errorf("models under %s and %s: save one of them by itself",
				quote.Plain(keys[0], 40), quote.Plain(keys[1], 40))
		}
		chosen = usual[i]
		others := slices.DeleteFunc(keys, func(key string) bool { return key == chosen })
		s.notes = append(s.notes, fmt.Sprintf("the file has several models: %s is taken, not %s",
			chosen, quote.Plain(strings.Join(others, ", "), 80)))
	}
	v, _ := dict.Get(chosen)
	return s.take(v)
}

// take adds the tensors of a dict or a module.
func (s *state) take(root any) error {
	known := map[string]bool{}
	return s.walk(root, func(name string, v any) error {
		t, ok := v.(*torch.Tensor)
		switch {
		case strings.HasSuffix(name, "_extra_state"): // of a layer that counts or quantizes
		case ok && known[name]:
			return fmt.Errorf("%s: there twice, want it once", quote.Plain(name, 80))
		case ok:
			known[name] = true
			s.names = append(s.names, name)
			s.tensors = append(s.tensors, t)
		case isOdd(v): // it may be a tensor of any kind
			kind := torch.Kind(v)
			if !strings.Contains(kind, ",") { // else it says what is wanted
				kind += ", want a tensor"
			}
			return fmt.Errorf("%s: %s", quote.Plain(name, 80), kind)
		}
		return nil
	})
}

// isOdd reports whether a value is neither a tensor nor plain: one of another kind, a storage, a
// class or an object.
func isOdd(v any) bool {
	_, odd := v.(interface{ Kind() string })
	return odd
}

// holdsTensors reports whether a value of a dict is a tensor of a layer.
func holdsTensors(d *torch.Dict) bool {
	return slices.ContainsFunc(d.Keys, func(key any) bool {
		v, _ := d.Get(key)
		name, named := key.(string)
		_, ok := v.(*torch.Tensor)
		return ok && named && strings.HasSuffix(name, ".weight")
	})
}

// hasEmbedding reports whether a dict or a module has an embedding of tokens, or a head that may be
// one, by a name that is known.
func (s *state) hasEmbedding(root any) bool {
	found, all := errors.New("found"), dialects()
	return s.walk(root, func(name string, v any) error {
		_, ok := v.(*torch.Tensor)
		if ok && slices.ContainsFunc(all, func(d dialect) bool {
			return slices.ContainsFunc(append(d.heads, d.embedding), func(known string) bool {
				return name == known || strings.HasSuffix(name, "."+known)
			})
		}) {
			return found
		}
		return nil
	}) == found
}

// walk calls f with each value of a dict or a module that is neither, and of those in it, under the
// names that PyTorch gives them.
func (s *state) walk(root any, f func(name string, v any) error) error {
	return s.visit("", root, 0, f)
}

// visit is walk below a prefix. Objects may hold themselves, and each other many times: all walks
// of a file together end with an error where they are far longer than models are.
func (s *state) visit(prefix string, v any, depth int, f func(string, any) error) error {
	const deepest, most, longest = 64, 1 << 18, 512
	dicts := modules(v)
	if dicts != nil {
		if a := activation(v.(*torch.Object)); a != "" {
			s.activation = a
		}
	}
	if d := entries(v); d != nil {
		dicts = []*torch.Dict{d}
	}
	switch {
	case dicts == nil && prefix == "":
		return nil
	case dicts == nil:
		return f(strings.TrimSuffix(prefix, "."), v)
	case depth > deepest || len(prefix) > longest:
		return fmt.Errorf("%s: dicts and modules that are too deep", quote.Plain(prefix, 40))
	}
	for _, d := range dicts {
		for _, key := range d.Keys {
			if s.visited++; s.visited > most {
				return fmt.Errorf("more than %d values in dicts and modules", most)
			}
			name, ok := key.(string)
			if !ok {
				continue
			}
			if len(name) > longest {
				return fmt.Errorf("%s: a name of %d bytes, want at most %d", quote.Short(name, 40),
					len(name), longest)
			}
			value, _ := d.Get(key)
			if err := s.visit(prefix+name+".", value, depth+1, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// modules returns the dicts of an nn.Module's parameters, buffers and modules, or nil if v is not
// one.
func modules(v any) []*torch.Dict {
	all := attributes(v)
	if all == nil {
		return nil
	}
	var dicts []*torch.Dict
	for _, name := range []string{"_parameters", "_buffers", "_modules"} {
		v, _ := all.Get(name)
		d, ok := v.(*torch.Dict)
		if !ok {
			return nil
		}
		dicts = append(dicts, d)
	}
	return dicts
}

// activation returns the activation that a module computes, or "" if it is none that is known.
func activation(o *torch.Object) model.Activation {
	if form, _ := attributes(o).Get("approximate"); o.Class.Name == "GELU" && form == "tanh" {
		return model.GELUNew
	}
	return map[string]model.Activation{"GELU": model.GELU, "GELUActivation": model.GELU,
		"NewGELU": model.GELUNew, "NewGELUActivation": model.GELUNew, "GELUTanh": model.GELUNew,
		"FastGELUActivation": model.GELUNew, "AccurateGELUActivation": model.GELUNew,
		"PytorchGELUTanh": model.GELUNew, "QuickGELUActivation": model.QuickGELU,
		"ReLU": model.ReLU, "ReLUSquaredActivation": model.ReLU2, "SiLU": model.SiLU,
		"SiLUActivation": model.SiLU, "Mish": model.Mish, "MishActivation": model.Mish}[o.Class.Name]
}

// entries returns a dict, or the entries of an object that is a kind of dict; nil for others.
func entries(v any) *torch.Dict {
	switch v := v.(type) {
	case *torch.Dict:
		return v
	case *torch.Object:
		return v.Dict
	}
	return nil
}

// attributes returns the attributes of an object, or nil. Where its class has __slots__, they are
// the second of two dicts.
func attributes(v any) *torch.Dict {
	o, ok := v.(*torch.Object)
	if !ok {
		return nil
	}
	state := o.State
	if pair, ok := state.(torch.Tuple); ok && len(pair) == 2 && pair[0] == nil {
		state = pair[1]
	}
	d, _ := state.(*torch.Dict)
	return d
}

// notADict says what a file holds that is neither a dict nor a module.
func notADict(root any) error {
	err := fmt.Errorf("%s, want a dict of tensors: save model.state_dict()", torch.Kind(root))
	if o, ok := root.(*torch.Object); ok && (strings.HasSuffix(o.Class.Name, "TrainingArguments") ||
		strings.HasPrefix(o.Class.Module, "transformers.train")) {
		err = fmt.Errorf("%s; this is training_args.bin, the options of a training: the weights "+
			"are in another file", torch.Kind(root))
	}
	return err
}
