package checkpoint

// The config of a model whose file is a training's: who says it, and what nobody says.

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"picogpt/internal/folder"
	"picogpt/internal/pickle"
	"picogpt/internal/quote"
	"picogpt/model"
)

// A source is where settings come from.
type source int

const (
	nowhere    source = iota
	modelArgs         // nanoGPT's
	dataclass         // an object in the file, as build-nanogpt saves it
	configDict        // a dict in the file
	configJSON        // config.json beside the file
	minGPT            // minGPT's own config.json: {system, data, model, trainer}
)

// A description is what is said of a model beside its tensors.
type description struct {
	settings settings
	from     source
	where    string // for errors
}

// describe returns what the saved object says, root or nil, or else the config.json beside it.
func (s *stack) describe(fsys fs.FS, root any) (d description, err error) {
	if top, ok := root.(*pickle.Dict); ok {
		if v, ok := top.Get("model_args"); ok {
			d = description{settingsOf(v), modelArgs, s.path + ": model_args"}
			return d, checkArgs(d.settings)
		}
	}
	if d.settings, d.from, d.where = inFile(root); d.from != nowhere {
		d.where = s.path + ": " + d.where
		return d, nil
	}
	const name = folder.Config
	path := folder.Path(fsys, name)
	b, err := folder.Read(fsys, name, 1<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return description{settings{}, nowhere, s.path}, nil
	}
	d = description{from: configJSON, where: path}
	if err == nil {
		d.settings, err = members(b)
	}
	if err == nil && d.settings["model"] != nil && d.settings["trainer"] != nil {
		d.from, d.where = minGPT, path+": model"
		if d.settings, err = members(d.settings["model"]); err == nil {
			// which it writes before it knows them, as 0 or null
			for key := range s.sizes() {
				delete(d.settings, key)
			}
			delete(d.settings, "block_size")
			d.settings["tie_word_embeddings"] = json.RawMessage("false")
		}
	}
	return d, err
}

// checkArgs refuses arguments that nanoGPT's GPTConfig does not have: they may change the
// arithmetic.
func checkArgs(args settings) error {
	names := []string{"n_layer", "n_head", "n_embd", "block_size", "vocab_size"}
	if args == nil {
		return errors.New("not a dict, as nanoGPT saves it")
	}
	for key, v := range args {
		switch {
		case key == "bias" && string(v) != "true" && string(v) != "false":
			return fmt.Errorf("bias: %s, want True or False", quote.Plain(string(v), 40))
		case !slices.Contains(names, key) && key != "bias" && key != "dropout":
			return fmt.Errorf("%s: nanoGPT has no such argument, and it may change the arithmetic",
				quote.Short(key, 40))
		}
	}
	for _, name := range names {
		if args[name] == nil {
			return fmt.Errorf("%s: missing", name)
		}
	}
	return nil
}

// config returns the config of the tensors, and how they are to be arranged. root is the saved
// object, or nil.
func (s *stack) config(fsys fs.FS, root any, o Options) (f found, fill filling, err error) {
	f, fill, err = s.configOf(fsys, root, o)
	if err == nil && s.head != "" && !f.config.TieWordEmbeddings {
		err = fmt.Errorf("%s: %w: %s is there, but tie_word_embeddings is false", s.path, errNoEmbedding,
			quote.Plain(s.head, 80))
	}
	return f, fill, err
}

// configOf is config for a file in which the embedding is what it should be.
func (s *stack) configOf(fsys fs.FS, root any, o Options) (f found, fill filling, err error) {
	d, err := s.describe(fsys, root)
	if err != nil {
		return f, fill, fmt.Errorf("%s: %w", d.where, err)
	}
	f.format, fill.zeros, fill.tied = "pytorch", s.outIn, -1
	if s.outIn && s.dialect.names == nil {
		f.format = "mingpt"
		if d.from == modelArgs || d.from == dataclass || d.from == configDict {
			f.format = "nanogpt"
		}
	}
	if d.from == configJSON && !s.outIn { // Hugging Face's own
		f.config, err = model.ReadConfigFS(fsys)
		return f, fill, err
	}
	if d.from == modelArgs {
		fill.zeros = string(d.settings["bias"]) == "false"
		if fill.zeros && s.biased() {
			return f, fill, fmt.Errorf("%s: bias: False, but the model has biases", d.where)
		}
		if fill.zeros {
			f.notes = append(f.notes, "bias=False: the biases are zeros")
		}
	}
	if s.dialect.settle != nil {
		if err := s.dialect.settle(d.settings); err != nil {
			return f, fill, fmt.Errorf("%s: %w", d.where, err)
		}
	}
	s.settleGELU(d, &f, o)
	heads := o.Heads
	if o.wordsOnly {
		heads = max(heads, 1)
	}
	f.config, err = d.settings.config(s.sizes(), heads)
	switch {
	case errors.Is(err, errNoHeads) && d.from == nowhere:
		err = fmt.Errorf("%s: %w, and %s does not say n_head: put the model's config.json beside it, "+
			"or give --n-head", folder.Path(fsys, folder.Config), fs.ErrNotExist, s.path)
	case errors.Is(err, errNoHeads):
		err = fmt.Errorf("%s: %w: give --n-head", d.where, err)
	case err != nil:
		err = fmt.Errorf("%s: %w", d.where, err)
	}
	fill.heads, fill.version = f.config.Head, rowOrder(root)
	return f, fill, err
}

// settleGELU sets the form of GELU where nobody says it: the one of Options, else that of the
// program that most likely wrote the file.
func (s *stack) settleGELU(d description, f *found, o Options) {
	all, _, err := d.settings.canonical()
	if err != nil || all["activation_function"] != nil || d.from == configJSON || d.from == minGPT {
		return // config reports the error
	}
	if s.activation != "" {
		d.settings["activation_function"], _ = json.Marshal(s.activation)
		return
	}
	f.asksGELU = true
	form, other := "erf", "tanh"
	if d.from == dataclass && d.settings["bias"] == nil || !s.outIn { // nanoGPT's dataclass has bias
		form, other = other, form
	}
	switch {
	case o.GELU != "":
		form = o.GELU
	case d.from == modelArgs:
		f.notes = append([]string{"nanoGPT's files do not say which GELU they were trained with: " +
			"taken as erf; those from before May 2023 want --gelu tanh"}, f.notes...)
	default:
		f.notes = append(f.notes, fmt.Sprintf("the file does not say which GELU it was trained "+
			"with: taken as %s; --gelu %s is the other form", form, other))
	}
	name := map[string]model.Activation{"erf": model.GELU, "tanh": model.GELUNew}[form]
	d.settings["activation_function"], _ = json.Marshal(name)
}

// settleBook sets what is fixed in the code of LLMs-from-scratch.
func settleBook(s settings) error {
	s["activation_function"] = json.RawMessage(`"gelu_new"`)
	return nil
}

// settleMegatron sets the activation that Megatron's arguments mean, as Hugging Face's
// convert_megatron_gpt2_checkpoint.py does, and refuses arguments that ask for other arithmetic.
func settleMegatron(s settings) error {
	for _, x := range []struct{ key, want string }{{"squared_relu", "false"}, {"swiglu", "false"},
		{"apply_layernorm_1p", "false"}, {"normalization", `"LayerNorm"`}} {
		if v := s[x.key]; v != nil && string(v) != "null" && string(v) != x.want {
			return fmt.Errorf("%s: %s, want %s: GPT-2 does not have it", x.key,
				quote.Plain(string(v), 40), x.want)
		}
	}
	fused, theirs := s["bias_gelu_fusion"], s["openai_gelu"]
	switch {
	case s["activation_function"] != nil:
	case string(fused) == "true", string(theirs) == "true", fused == nil && theirs == nil:
		s["activation_function"] = json.RawMessage(`"gelu_new"`)
	default:
		s["activation_function"] = json.RawMessage(`"gelu"`)
	}
	delete(s, "vocab_size") // before the padding
	return nil
}

// rowOrder returns the version of Megatron's order of rows that a saved object says.
func rowOrder(root any) int {
	d, ok := root.(*pickle.Dict)
	if !ok {
		return 0
	}
	v, _ := d.Get("checkpoint_version")
	switch v := v.(type) {
	case float64:
		return int(min(max(v, 0), 2))
	case int64:
		return int(min(max(v, 0), 2))
	}
	return 0
}
