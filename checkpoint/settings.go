// The config of a model whose file is a training's: who says it, and what nobody says.

package checkpoint

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"picogpt/internal/folder"
	"picogpt/internal/quote"
	"picogpt/internal/strictjson"
	"picogpt/internal/torch"
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
	top, _ := root.(*torch.Dict)
	if v, ok := top.Get("model_args"); ok {
		d = description{settingsOf(v), modelArgs, s.path + ": model_args"}
		return d, checkArgs(d.settings)
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
		d.settings, err = strictjson.Map(b)
	}
	if err == nil && d.settings["model"] != nil && d.settings["trainer"] != nil {
		d.from, d.where = minGPT, path+": model"
		if d.settings, err = strictjson.Map(d.settings["model"]); err == nil {
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
func (s *stack) config(fsys fs.FS, root any, o Options) (c *Checkpoint, fill filling, err error) {
	c, fill, err = s.configOf(fsys, root, o)
	if err == nil && s.head != "" && !c.Config.TieWordEmbeddings {
		err = fmt.Errorf("%s: %w: %s is there, but tie_word_embeddings is false", s.path,
			errNoEmbedding, quote.Plain(s.head, 80))
	}
	return c, fill, err
}

// configOf is config for a file in which the embedding is what it should be.
func (s *stack) configOf(fsys fs.FS, root any, o Options) (c *Checkpoint, fill filling, err error) {
	d, err := s.describe(fsys, root)
	if err != nil {
		return c, fill, fmt.Errorf("%s: %w", d.where, err)
	}
	c = &Checkpoint{format: "pytorch"}
	fill.zeros, fill.tied = s.outIn, -1
	if s.outIn && s.dialect.names == nil {
		c.format = "mingpt"
		if d.from == modelArgs || d.from == dataclass || d.from == configDict {
			c.format = "nanogpt"
		}
	}
	if d.from == configJSON && !s.outIn { // Hugging Face's own
		c.Config, err = model.ReadConfig(fsys)
		return c, fill, err
	}
	if d.from == modelArgs {
		fill.zeros = string(d.settings["bias"]) == "false"
		if fill.zeros && s.biased() {
			return c, fill, fmt.Errorf("%s: bias: False, but the model has biases", d.where)
		}
		if fill.zeros {
			c.Notes = append(c.Notes, "bias=False: the biases are zeros")
		}
	}
	if s.dialect.settle != nil {
		if err := s.dialect.settle(d.settings); err != nil {
			return c, fill, fmt.Errorf("%s: %w", d.where, err)
		}
	}
	s.settleGELU(d, c, o)
	heads := o.Heads
	if o.wordsOnly {
		heads = max(heads, 1)
	}
	c.Config, err = d.settings.config(s.sizes(), heads)
	switch {
	case errors.Is(err, errNoHeads) && d.from == nowhere:
		err = fmt.Errorf("%s: %w, and %s does not say n_head: put the model's config.json beside "+
			"it, or give --n-head", folder.Path(fsys, folder.Config), fs.ErrNotExist, s.path)
	case errors.Is(err, errNoHeads):
		err = fmt.Errorf("%s: %w: give --n-head", d.where, err)
	case err != nil:
		err = fmt.Errorf("%s: %w", d.where, err)
	}
	fill.heads, fill.version = c.Config.Head, rowOrder(root)
	return c, fill, err
}

// settleGELU sets the form of GELU where nobody says it: the one of Options, else that of the
// program that most likely wrote the file.
func (s *stack) settleGELU(d description, c *Checkpoint, o Options) {
	all, _, err := d.settings.canonical()
	if err != nil || all["activation_function"] != nil || d.from == configJSON || d.from == minGPT {
		return // config reports the error
	}
	if s.activation != "" {
		d.settings["activation_function"], _ = json.Marshal(s.activation)
		return
	}
	c.asksGELU = true
	form, other := "erf", "tanh"
	if d.from == dataclass && d.settings["bias"] == nil || !s.outIn { // nanoGPT's has bias
		form, other = other, form
	}
	switch {
	case o.GELU != "":
		form = o.GELU
	case d.from == modelArgs:
		c.Notes = append([]string{"nanoGPT's files do not say which GELU they were trained with: " +
			"taken as erf; those from before May 2023 want --gelu tanh"}, c.Notes...)
	default:
		c.Notes = append(c.Notes, fmt.Sprintf("the file does not say which GELU it was trained "+
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
	d, _ := root.(*torch.Dict)
	v, _ := d.Get("checkpoint_version")
	number, _ := v.(float64)
	if n, ok := v.(int64); ok {
		number = float64(n)
	}
	return int(min(max(number, 0), 2))
}

// What trainings say of the model beside its tensors: nanoGPT's model_args, a config of any program
// in the file, or config.json. The sizes come from the tensors; only n_head does not.

// mostSettings bounds the keys of a config.
const mostSettings = 1000

// settings are the keys of a config, as JSON.
type settings map[string]json.RawMessage

// aliases returns the keys that other programs have for those of config.json.
func aliases() map[string]string {
	return map[string]string{
		"n_heads": "n_head", "num_heads": "n_head", "num_attention_heads": "n_head",
		"n_layers": "n_layer", "num_layers": "n_layer", "num_hidden_layers": "n_layer",
		"n_embed": "n_embd", "emb_dim": "n_embd", "d_model": "n_embd", "embed_dim": "n_embd",
		"hidden_size": "n_embd",
		"block_size":  "n_positions", "context_length": "n_positions",
		"max_position_embeddings": "n_positions",
		"activation":              "activation_function", "hidden_act": "activation_function",
		"layer_norm_eps": "layer_norm_epsilon", "layernorm_epsilon": "layer_norm_epsilon",
	}
}

// canonical returns the settings by the keys of config.json, and the key that each had. None and
// null count as absent.
func (s settings) canonical() (all settings, from map[string]string, err error) {
	names := aliases()
	all, from = settings{}, map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(s)) {
		if string(s[key]) == "null" {
			continue
		}
		to := key
		if name, ok := names[key]; ok {
			to = name
		}
		if first, ok := all[to]; ok && !bytes.Equal(first, s[key]) {
			return nil, nil, fmt.Errorf("%s: %s, but %s is %s", key,
				quote.Plain(string(s[key]), 40), from[to], quote.Plain(string(first), 40))
		}
		all[to], from[to] = s[key], key
	}
	return all, from, nil
}

// errNoHeads is the error of settings that do not say n_head where nobody else does.
var errNoHeads = errors.New("n_head: missing, and the tensors do not say it")

// config returns the config of a model with tensors of these sizes, which the settings must not
// contradict. heads is n_head where they do not say it; 0 if nobody does.
func (s settings) config(sizes map[string]int, heads int) (c model.Config, err error) {
	all, from, err := s.canonical()
	if err != nil {
		return c, err
	}
	for _, key := range slices.Sorted(maps.Keys(sizes)) {
		size, _ := json.Marshal(sizes[key])
		if said, ok := all[key]; ok && !bytes.Equal(said, size) {
			return c, fmt.Errorf("%s: %s, but the tensors have %s", from[key],
				quote.Plain(string(said), 40), size)
		}
		all[key] = size
	}
	name, _ := strictjson.String(all["model_type"])
	named := namedSizes()[name]
	if _, ok := all["n_head"]; !ok {
		heads = cmp.Or(heads, named)
		switch {
		case heads == 0 && all["model_type"] == nil:
			return c, errNoHeads
		case heads == 0:
			return c, fmt.Errorf("n_head: missing, and model_type: %s is none of minGPT's sizes",
				quote.Short(string(all["model_type"]), 40))
		}
		all["n_head"], _ = json.Marshal(heads)
	}
	if name != "gpt2" {
		if named > 0 {
			delete(all, "model_type")
		}
		for _, key := range []string{"bos_token_id", "eos_token_id"} {
			if _, ok := all[key]; !ok { // then the tokenizer sets it
				all[key] = json.RawMessage("null")
			}
		}
	}
	text, err := json.Marshal(all)
	if err != nil {
		return c, err
	}
	return model.ParseConfig(text)
}

// namedSizes returns minGPT's and nanoGPT's names of sizes, and their heads.
func namedSizes() map[string]int {
	return map[string]int{"openai-gpt": 12, "gpt2": 12, "gpt2-medium": 16, "gpt2-large": 20,
		"gpt2-xl": 25, "gopher-44m": 16, "gpt-mini": 6, "gpt-micro": 4, "gpt-nano": 3}
}

// settingsOf returns the settings in a dict or in the attributes of an object, such as a dataclass.
// What JSON cannot say is left out. A dict of very many keys is none.
func settingsOf(v any) settings {
	d := entries(v)
	if d == nil {
		d = attributes(v)
	}
	if d == nil || len(d.Keys) > mostSettings {
		return nil
	}
	s := settings{}
	for _, key := range d.Keys {
		name, ok := key.(string)
		if !ok {
			continue
		}
		v, _ := d.Get(key)
		if text, ok := asJSON(v); ok {
			s[name] = text
		}
	}
	return s
}

// asJSON returns a value as JSON. Of containers it says only whether they are empty.
func asJSON(v any) (json.RawMessage, bool) {
	switch x := v.(type) {
	case nil, bool, int64, float64:
		text, err := json.Marshal(x) // not of infinities
		return text, err == nil
	case string:
		text, _ := json.Marshal(x[:min(len(x), 100)])
		return text, true
	case torch.Tuple:
		return container(len(x), "[]", "[0]"), true
	case *torch.List:
		return container(len(x.Items), "[]", "[0]"), true
	case *torch.Dict:
		return container(len(x.Keys), "{}", `{"0":0}`), true
	}
	return nil, false
}

func container(n int, empty, full string) json.RawMessage {
	if n == 0 {
		return json.RawMessage(empty)
	}
	return json.RawMessage(full)
}

// saysHeads reports whether the settings say n_head.
func (s settings) saysHeads() bool { return s.heads() != nil }

// heads returns what the settings say of n_head, or nil.
func (s settings) heads() json.RawMessage {
	names := aliases()
	for _, key := range slices.Sorted(maps.Keys(s)) {
		if v := s[key]; (key == "n_head" || names[key] == "n_head") && string(v) != "null" {
			return v
		}
	}
	return nil
}

// inFile returns the settings of the model in a saved object: those of a value that has n_head by
// any name, or of the whole, or of a value one level down, as the config in Lightning's
// hyper_parameters and in a module beside other values. where is its key.
func inFile(root any) (s settings, from source, where string) {
	d := held(root)
	if d == nil {
		return nil, nowhere, ""
	}
	if s, from, where = among(d); from != nowhere {
		return s, from, where
	}
	if s := settingsOf(d); s.saysHeads() {
		return s, configDict, "the file's own keys"
	}
	left := mostSettings // of values one level down: they may be the same ones many times
	for _, key := range d.Keys[:min(len(d.Keys), mostSettings)] {
		v, _ := d.Get(key)
		inner := held(v)
		name, ok := key.(string)
		if !ok || inner == nil || len(inner.Keys) > left || holdsTensors(inner) {
			continue
		}
		left -= len(inner.Keys)
		next, kind, at := among(inner)
		switch {
		case kind == nowhere:
		case from != nowhere && !bytes.Equal(next.heads(), s.heads()):
			return nil, nowhere, "" // they are of several models
		case from == nowhere:
			s, from, where = next, kind, quote.Plain(name, 40)+"."+at
		}
	}
	return s, from, where
}

// held returns the entries of a dict or the attributes of an object, or nil.
func held(v any) *torch.Dict {
	if d := entries(v); d != nil {
		return d
	}
	return attributes(v)
}

// among returns the first of a dict's values that says n_head, and is no module.
func among(d *torch.Dict) (s settings, from source, where string) {
	for _, key := range d.Keys[:min(len(d.Keys), mostSettings)] {
		v, _ := d.Get(key)
		name, ok := key.(string)
		if s := settingsOf(v); ok && modules(v) == nil && s.saysHeads() {
			if entries(v) == nil {
				return s, dataclass, quote.Plain(name, 40)
			}
			return s, configDict, quote.Plain(name, 40)
		}
	}
	return nil, nowhere, ""
}
