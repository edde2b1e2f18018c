package checkpoint

// nanoGPT's ckpt.pt: {model, optimizer, model_args, iter_num, best_val_loss, config}. model_args
// has all sizes, but does not say which form of GELU the model was trained with.

import (
	"errors"
	"fmt"
	"io/fs"

	"picogpt/internal/format/pickle"
	"picogpt/internal/quote"
	"picogpt/model"
)

// isNanoGPT reports whether a dict is a checkpoint of a training run, not a state dict.
func isNanoGPT(root *pickle.Dict) bool {
	_, args := root.Get("model_args")
	m, _ := root.Get("model")
	_, ok := m.(*pickle.Dict)
	return args || ok
}

// openNanoGPT opens a checkpoint of nanoGPT, and meta.pkl with its characters if the folder has
// one.
func openNanoGPT(fsys fs.FS, root *pickle.Dict, s *state, o Options) (found, error) {
	fail := func(err error) (found, error) { return found{}, fmt.Errorf("%s: %w", s.path, err) }
	args, err := dictOf(root, "model_args")
	if err != nil {
		return fail(fmt.Errorf("%w, as nanoGPT saves it: the tensors do not say n_head", err))
	}
	config, biased, err := nanoConfig(args)
	if err != nil {
		return fail(fmt.Errorf("model_args: %w", err))
	}
	tensors, err := dictOf(root, "model")
	if err == nil {
		err = s.read(tensors)
	}
	if err == nil && !biased && s.hasBiases() {
		err = errors.New("model_args: bias: False, but the model has biases")
	}
	if err != nil {
		return fail(err)
	}
	s.unbiased = !biased
	f := found{format: "nanogpt", config: config, asksGELU: true}
	switch o.GELU {
	case "":
		f.notes = append(f.notes, "nanoGPT's files do not say which GELU they were trained with: "+
			"taken as erf; those from before May 2023 want --gelu tanh")
	case "tanh":
		f.config.Activation = model.GELUNew
	}
	if !biased {
		f.notes = append(f.notes, "bias=False: the biases are zeros")
	}
	if f.vocabulary, err = readMeta(fsys, config.VocabSize); err != nil {
		return found{}, err
	}
	f.tensors, err = s.open(true, true)
	return f, err
}

func dictOf(root *pickle.Dict, key string) (*pickle.Dict, error) {
	v, ok := root.Get(key)
	if !ok {
		return nil, fmt.Errorf("%s: missing, want a dict", key)
	}
	d, ok := v.(*pickle.Dict)
	if !ok {
		return nil, fmt.Errorf("%s: %s, want a dict", key, pickle.Kind(v))
	}
	return d, nil
}

// nanoConfig reads model_args, the arguments of nanoGPT's GPTConfig.
func nanoConfig(args *pickle.Dict) (c model.Config, biased bool, err error) {
	c = model.DefaultConfig()
	c.BOSTokenID, c.EOSTokenIDs = nil, nil
	c.Activation, biased = model.GELU, true
	fields := map[any]*int{"n_layer": &c.Layer, "n_head": &c.Head, "n_embd": &c.Embd,
		"block_size": &c.Positions, "vocab_size": &c.VocabSize}
	for _, key := range args.Keys {
		v, _ := args.Get(key)
		field, sized := fields[key]
		n, whole := v.(int64)
		truth, isBool := v.(bool)
		switch {
		case sized && (!whole || n < 1 || n > 1<<24):
			return c, false, fmt.Errorf("%s: %s, want 1 to %d", key, shown(v), 1<<24)
		case sized:
			*field = int(n)
			delete(fields, key)
		case key == "bias" && isBool:
			biased = truth
		case key == "bias":
			return c, false, fmt.Errorf("bias: %s, want True or False", shown(v))
		case key == "dropout": // used in training only
		default:
			return c, false, fmt.Errorf("%s: nanoGPT has no such argument, and it may change the "+
				"arithmetic", quote.Short(fmt.Sprint(key), 40))
		}
	}
	for _, name := range []string{"n_layer", "n_head", "n_embd", "block_size", "vocab_size"} {
		if _, missing := fields[name]; missing {
			return c, false, fmt.Errorf("%s: missing", name)
		}
	}
	c.Inner = 4 * c.Embd
	return c, biased, c.Validate()
}

// shown returns a number as text, and the kind of any other value.
func shown(v any) string {
	if n, ok := v.(int64); ok {
		return fmt.Sprint(n)
	}
	return pickle.Kind(v)
}
