// GPT-2's configuration: the fields of config.json, each checked.

package model

import (
	"fmt"
	"math"
	"slices"

	"picogpt/internal/quote"
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
	switch a {
	case GELUPytorchTanh, GELUFast, GELUPythonTanh, GELUAccurate:
		return GELUNew
	case GELUPython:
		return GELU
	case Swish:
		return SiLU
	}
	return a
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

// StartToken returns the id that stands before a text: the bos_token_id of generation_config.json or
// of config.json, else the first eos_token_id of config.json, which texts were trained with, or of
// the other. ok is false if the vocabulary has no such id.
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
