package model

// GPT-2's configuration: the fields of config.json, each checked, and how they are read: their
// keys, aliases and defaults.

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"

	"picogpt/internal/quote"
	"picogpt/internal/strictjson"
)

// Config is the shape and the arithmetic of one GPT-2, as in Hugging Face's config.json.
// DefaultConfig returns the default values; ParseConfig reads a file. Marshalling a Config gives a
// config.json that ParseConfig reads back.
type Config struct {
	VocabSize int `json:"vocab_size"`  // n_vocab: rows of wte and of the logits
	Positions int `json:"n_positions"` // n_ctx: rows of wpe, the longest context
	Embd      int `json:"n_embd"`      // width of the residual stream
	Layer     int `json:"n_layer"`     // blocks
	Head      int `json:"n_head"`      // attention heads; divides Embd
	Inner     int `json:"n_inner"`     // width of the MLP

	Activation       Activation `json:"activation_function"`
	LayerNormEpsilon float64    `json:"layer_norm_epsilon"`

	// scores times 1/√(Embd/Head)
	ScaleAttnWeights bool `json:"scale_attn_weights"`
	// scores of block i times 1/(i+1)
	ScaleAttnByInverseLayerIdx bool `json:"scale_attn_by_inverse_layer_idx"`
	// changes rounding only: no exact result depends on it
	ReorderAndUpcastAttn bool `json:"reorder_and_upcast_attn"`
	// the head is wte if the file has no lm_head
	TieWordEmbeddings bool `json:"tie_word_embeddings"`

	// Token ids within the vocabulary. Some configs name ids outside it: these can never occur and
	// count as absent.
	BOSTokenID  *int  `json:"bos_token_id"`
	EOSTokenIDs []int `json:"eos_token_id"` // usually one

	// Generation outranks them where texts are made. It is no part of config.json, nor of what
	// digests cover.
	Generation Generation `json:"-"`

	ModelType     string   `json:"model_type"`    // "gpt2"
	Architectures []string `json:"architectures"` // for information
}

// An Activation is the MLP's nonlinearity, by its name in config.json.
type Activation string

// The activations of GPT-2 checkpoints, by the names of transformers' activations.py. Some are one
// function by several names: see [Activation.Plain].
const (
	GELUNew         Activation = "gelu_new"          // x/2 · (1 + tanh(√(2/π)·(x + 0.044715·x³)))
	GELUPytorchTanh Activation = "gelu_pytorch_tanh" // the same
	GELUFast        Activation = "gelu_fast"         // the same
	GELU            Activation = "gelu"              // x/2 · (1 + erf(x/√2))
	QuickGELU       Activation = "quick_gelu"        // x / (1 + exp(−1.702·x))
	ReLU            Activation = "relu"              // max(0, x)
	SiLU            Activation = "silu"              // x / (1 + exp(−x))
	Swish           Activation = "swish"             // the same
	Tanh            Activation = "tanh"
	ReLU2           Activation = "relu2" // max(0, x)²
	Mish            Activation = "mish"  // x · tanh(ln(1 + exp(x)))

	GELUPythonTanh Activation = "gelu_python_tanh" // as gelu_new
	GELUAccurate   Activation = "gelu_accurate"    // as gelu_new
	GELUPython     Activation = "gelu_python"      // as gelu
)

func activations() []Activation {
	return []Activation{GELUNew, GELUPytorchTanh, GELUFast, GELUPythonTanh, GELUAccurate, GELU,
		GELUPython, QuickGELU, ReLU, SiLU, Swish, Tanh, ReLU2, Mish}
}

// Plain returns the usual name of the function that an activation names: gelu_new of all names of
// GELU's tanh form, gelu of those of its exact form, silu of swish.
func (a Activation) Plain() Activation {
	return cmp.Or(map[Activation]Activation{GELUPytorchTanh: GELUNew, GELUFast: GELUNew,
		GELUPythonTanh: GELUNew, GELUAccurate: GELUNew, GELUPython: GELU, Swish: SiLU}[a], a)
}

// Bounds far above any GPT-2. They are low enough that a product of two of them fits 64 bits, and
// that a list with one element for each fits in memory.
const (
	maxVocabSize = 1 << 24
	maxPositions = 1 << 20
	maxEmbd      = 1 << 16
	maxLayer     = 1 << 12
	maxInner     = 1 << 20
	maxConfig    = 1 << 20 // bytes of config.json
)

// DefaultConfig returns GPT2Config's defaults, which are GPT-2 small.
func DefaultConfig() Config {
	bos := 50256
	return Config{
		VocabSize:         50257,
		Positions:         1024,
		Embd:              768,
		Layer:             12,
		Head:              12,
		Inner:             4 * 768,
		Activation:        GELUNew,
		LayerNormEpsilon:  1e-5,
		ScaleAttnWeights:  true,
		TieWordEmbeddings: true,
		BOSTokenID:        &bos,
		EOSTokenIDs:       []int{50256},
		ModelType:         "gpt2",
	}
}

// StartToken returns the id that stands before a text: the bos_token_id of generation_config.json
// or of config.json, else the first eos_token_id of config.json, which texts were trained with, or
// of the other. ok is false if the vocabulary has no such id.
func (c Config) StartToken() (id int, ok bool) {
	for _, bos := range []*int{c.Generation.BOSTokenID, c.BOSTokenID} {
		if bos != nil && c.has(*bos) {
			return *bos, true
		}
	}
	for _, id := range slices.Concat(c.EOSTokenIDs, c.Generation.EOSTokenIDs) {
		if c.has(id) {
			return id, true
		}
	}
	return 0, false
}

// EndTokens returns the ids that end a text: those of generation_config.json's eos_token_id, or of
// config.json's if there is no such file, that the vocabulary has.
func (c Config) EndTokens() []int {
	ids := c.EOSTokenIDs
	if c.Generation.EOSTokenIDs != nil {
		ids = c.Generation.EOSTokenIDs
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id int) bool { return !c.has(id) })
}

func (c Config) has(id int) bool { return 0 <= id && id < c.VocabSize }

// Validate returns an error for the first field that no model can have, which it names as
// config.json does. ParseConfig and New call it.
func (c Config) Validate() error {
	for _, f := range []struct {
		name       string
		value, max int
	}{
		{"vocab_size", c.VocabSize, maxVocabSize},
		{"n_positions", c.Positions, maxPositions},
		{"n_embd", c.Embd, maxEmbd},
		{"n_layer", c.Layer, maxLayer},
		{"n_head", c.Head, maxEmbd},
		{"n_inner", c.Inner, maxInner},
	} {
		if f.value < 1 || f.value > f.max {
			return fmt.Errorf("%s: %d, want 1 to %d", f.name, f.value, f.max)
		}
	}
	if c.Embd%c.Head != 0 {
		return fmt.Errorf("n_head: %d does not divide n_embd, which is %d", c.Head, c.Embd)
	}
	if !slices.Contains(activations(), c.Activation) {
		return fmt.Errorf("activation_function: %s, want one of %v",
			quote.Short(string(c.Activation), 40), activations())
	}
	// The condition is written so that NaN fails; the bound keeps the value finite as a float32.
	if !(c.LayerNormEpsilon >= 0 && c.LayerNormEpsilon <= math.MaxFloat32) {
		return fmt.Errorf("layer_norm_epsilon: %v, want a finite number, 0 or more",
			c.LayerNormEpsilon)
	}
	return nil
}

// ParseConfig reads a config.json. Absent keys and null take GPT2Config's defaults. Its aliases
// (hidden_size, num_hidden_layers, num_attention_heads, max_position_embeddings) are honoured, and
// so is the old n_ctx if n_positions is absent. A key that asks for arithmetic that this package
// does not have is refused by name; keys that change no arithmetic are not read. Errors begin with
// the key.
func ParseConfig(b []byte) (Config, error) {
	if len(b) > maxConfig {
		return Config{}, fmt.Errorf("config of %d bytes, want at most %d", len(b), maxConfig)
	}
	var c Config
	keys := configKeys{}
	err := strictjson.Members(b, func(key string, value json.RawMessage) error {
		keys[key] = value
		return nil
	})
	if err == nil {
		err = keys.refuse()
	}
	if err == nil {
		c, err = keys.config()
	}
	if err == nil {
		err = c.Validate()
	}
	return c, err
}

// UnmarshalJSON is ParseConfig, so that every Config that is read from JSON is checked.
func (c *Config) UnmarshalJSON(b []byte) error {
	parsed, err := ParseConfig(b)
	if err == nil {
		*c = parsed
	}
	return err
}

type configKeys map[string]json.RawMessage

// get returns the value of a key that is present and not null.
func (k configKeys) get(name string) (json.RawMessage, bool) {
	v, ok := k[name]
	return v, ok && string(v) != "null"
}

func (k configKeys) config() (c Config, err error) {
	c = DefaultConfig()
	check := func(e error) { err = cmp.Or(err, e) }
	check(k.integer(&c.VocabSize, "vocab_size"))
	check(k.positions(&c.Positions))
	check(k.integer(&c.Embd, "n_embd", "hidden_size"))
	check(k.integer(&c.Layer, "n_layer", "num_hidden_layers"))
	check(k.integer(&c.Head, "n_head", "num_attention_heads"))
	c.Inner = 4 * c.Embd
	check(k.integer(&c.Inner, "n_inner"))
	check(k.epsilon(&c.LayerNormEpsilon))
	check(k.boolean(&c.ScaleAttnWeights, "scale_attn_weights"))
	check(k.boolean(&c.ScaleAttnByInverseLayerIdx, "scale_attn_by_inverse_layer_idx"))
	check(k.boolean(&c.ReorderAndUpcastAttn, "reorder_and_upcast_attn"))
	check(k.boolean(&c.TieWordEmbeddings, "tie_word_embeddings"))
	if v, ok := k.get("activation_function"); ok {
		s, e := strictjson.String(v)
		if e != nil {
			check(fmt.Errorf("activation_function: %w", e))
		}
		c.Activation = Activation(s)
	}
	bos, eos, e := k.tokens(c.VocabSize)
	check(e)
	c.BOSTokenID, c.EOSTokenIDs = bos, eos
	if v, ok := k.get("architectures"); ok {
		// A value of any other type is ignored: it changes no arithmetic.
		c.Architectures = architectures(v)
	}
	return c, err
}

// positions reads the number of rows of wpe. The old n_ctx counts only if n_positions is absent:
// since 2021 transformers ignores it, and many configs have another number in it.
func (k configKeys) positions(dst *int) error {
	names := []string{"n_positions", "max_position_embeddings"}
	for _, name := range names {
		if _, ok := k.get(name); ok {
			return k.integer(dst, names...)
		}
	}
	return k.integer(dst, "n_ctx")
}

// integer sets *dst to the value of whichever of the names is present. Names with different values
// are an error, because the weights could have been made with either.
func (k configKeys) integer(dst *int, names ...string) error {
	first := ""
	for _, name := range names {
		v, ok := k.get(name)
		if !ok {
			continue
		}
		n, ok := integral(v)
		if !ok {
			return fmt.Errorf("%s: %s, want an integer", name, show(v))
		}
		if first != "" && n != *dst {
			return fmt.Errorf("%s: %d, but %s is %d: want them equal, or one of them", name, n,
				first, *dst)
		}
		first = cmp.Or(first, name)
		*dst = n
	}
	return nil
}

func (k configKeys) boolean(dst *bool, name string) error {
	if v, ok := k.get(name); ok {
		if *dst = string(v) == "true"; !*dst && string(v) != "false" {
			return fmt.Errorf("%s: %s, want true or false", name, show(v))
		}
	}
	return nil
}

func (k configKeys) epsilon(dst *float64) error {
	v, ok := k.get("layer_norm_epsilon")
	if !ok {
		return nil
	}
	f, err := strconv.ParseFloat(string(v), 64)
	if err != nil { // not a number, or one beyond float64
		return fmt.Errorf("layer_norm_epsilon: %s, want a finite number, 0 or more", show(v))
	}
	*dst = f
	return nil
}

// tokens returns the ids that begin and end a text. As in Hugging Face's library, an absent key
// means 50256 and null means none. Ids outside the vocabulary are left out: they can never be
// sampled.
func (k configKeys) tokens(vocab int) (bos *int, eos []int, err error) {
	first, err := k.ids("bos_token_id", vocab)
	if err != nil {
		return nil, nil, err
	}
	if len(first) > 0 {
		bos = &first[0]
	}
	eos, err = k.ids("eos_token_id", vocab)
	return bos, eos, err
}

// ids reads a token id or a list of them, as generation_config.json has.
func (k configKeys) ids(name string, vocab int) ([]int, error) {
	v, ok := k[name]
	items := []json.RawMessage{v}
	switch {
	case !ok:
		items[0] = json.RawMessage("50256")
	case string(v) == "null":
		return nil, nil
	case v[0] == '[':
		items = elements(v)
	}
	var ids []int
	seen := map[int]bool{} // lists may be as long as the vocabulary
	for _, item := range items {
		n, ok := integral(item)
		if !ok {
			return nil, fmt.Errorf("%s: %s, want an integer or a list of them", name, show(item))
		}
		if 0 <= n && n < vocab && !seen[n] {
			seen[n] = true
			ids = append(ids, n)
		}
	}
	return ids, nil
}

// elements returns the elements of an array in valid JSON.
func elements(v json.RawMessage) (items []json.RawMessage) {
	r := strictjson.NewReader(string(v))
	r.Array(func(int) error {
		item, err := r.Value()
		if err == nil {
			items = append(items, json.RawMessage(item.Text()))
		}
		return err
	})
	return items
}

// architectures returns the elements of a list of strings, or nil for any other value.
func architectures(v json.RawMessage) []string {
	if v[0] != '[' {
		return nil
	}
	names := []string{}
	for _, item := range elements(v) {
		name, err := strictjson.String(item)
		if err != nil {
			return nil
		}
		names = append(names, name)
	}
	return names
}

// integral reads a JSON number that is an integer of 32 bits. 12, 12.0 and 1.2e1 are the same
// number.
func integral(v json.RawMessage) (int, bool) {
	f, err := strconv.ParseFloat(string(v), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > math.MaxInt32 {
		return 0, false
	}
	return int(f), true
}

// show returns a value from the file as an error prints it.
func show(v json.RawMessage) string { return quote.Plain(string(v), 60) }
