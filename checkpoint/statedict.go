package checkpoint

// Finding the state dict in what torch.save has written: by itself, one level down in what a
// training has saved, or in a whole module.

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"picogpt/internal/pickle"
	"picogpt/internal/quote"
	"picogpt/internal/torch"
	"picogpt/model"
)

// A state is a state dict: tensors by name, in one file or several.
type state struct {
	path    string // of the file or the index
	files   []*torch.File
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
	dict, ok := root.(*pickle.Dict)
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
	chosen := 0
	if len(keys) > 1 {
		chosen = slices.IndexFunc(usual[:], func(key string) bool { return slices.Contains(keys, key) })
		if chosen < 0 {
			return fmt.Errorf("models under %s and %s: save one of them by itself",
				quote.Plain(keys[0], 40), quote.Plain(keys[1], 40))
		}
		chosen = slices.Index(keys, usual[chosen])
		others := slices.Delete(slices.Clone(keys), chosen, chosen+1)
		s.notes = append(s.notes, fmt.Sprintf("the file has several models: %s is taken, not %s",
			keys[chosen], quote.Plain(strings.Join(others, ", "), 80)))
	}
	v, _ := dict.Get(keys[chosen])
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
			kind := pickle.Kind(v)
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
func holdsTensors(d *pickle.Dict) bool {
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
		if a := activation(v.(*pickle.Object)); a != "" {
			s.activation = a
		}
	}
	if d := entries(v); d != nil {
		dicts = []*pickle.Dict{d}
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
func modules(v any) []*pickle.Dict {
	all := attributes(v)
	if all == nil {
		return nil
	}
	var dicts []*pickle.Dict
	for _, name := range []string{"_parameters", "_buffers", "_modules"} {
		v, _ := all.Get(name)
		d, ok := v.(*pickle.Dict)
		if !ok {
			return nil
		}
		dicts = append(dicts, d)
	}
	return dicts
}

// activation returns the activation that a module computes, or "" if it is none that is known.
func activation(o *pickle.Object) model.Activation {
	switch o.Class.Name {
	case "GELU":
		form, _ := attributes(o).Get("approximate")
		if form == "tanh" {
			return model.GELUNew
		}
		return model.GELU
	case "NewGELU", "NewGELUActivation", "FastGELUActivation", "AccurateGELUActivation", "GELUTanh",
		"PytorchGELUTanh":
		return model.GELUNew
	case "GELUActivation":
		return model.GELU
	case "QuickGELUActivation":
		return model.QuickGELU
	case "ReLU":
		return model.ReLU
	case "ReLUSquaredActivation":
		return model.ReLU2
	case "SiLU", "SiLUActivation":
		return model.SiLU
	case "Mish", "MishActivation":
		return model.Mish
	}
	return ""
}

// entries returns a dict, or the entries of an object that is a kind of dict; nil for others.
func entries(v any) *pickle.Dict {
	switch v := v.(type) {
	case *pickle.Dict:
		return v
	case *pickle.Object:
		return v.Dict
	}
	return nil
}

// attributes returns the attributes of an object, or nil. Where its class has __slots__, they are
// the second of two dicts.
func attributes(v any) *pickle.Dict {
	o, ok := v.(*pickle.Object)
	if !ok {
		return nil
	}
	state := o.State
	if pair, ok := state.(pickle.Tuple); ok && len(pair) == 2 && pair[0] == nil {
		state = pair[1]
	}
	d, _ := state.(*pickle.Dict)
	return d
}

// notADict says what a file holds that is neither a dict nor a module.
func notADict(root any) error {
	err := fmt.Errorf("%s, want a dict of tensors: save model.state_dict()", pickle.Kind(root))
	if o, ok := root.(*pickle.Object); ok && (strings.HasSuffix(o.Class.Name, "TrainingArguments") ||
		strings.HasPrefix(o.Class.Module, "transformers.train")) {
		err = fmt.Errorf("%s; this is training_args.bin, the options of a training: the weights are "+
			"in another file", pickle.Kind(root))
	}
	return err
}
