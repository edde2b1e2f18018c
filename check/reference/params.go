// The parameters: hyperparameters from config.json, weights from named tensors, and the variations
// between checkpoints (the activation, the scale of the attention scores) and between caches.

package reference

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
)

// HParams are the hyperparameters that change the arithmetic. ParseHParams fills them with GPT-2's
// defaults.
type HParams struct {
	Vocab, Positions  int     // rows of wte and of wpe
	Embd, Head, Layer int     // Embd is a multiple of Head
	Inner             int     // width of the MLP
	Activation        string  // Hugging Face's name for it
	Epsilon           float64 // added to LayerNorm's variance
	ScaleAttn         bool    // scores times 1/sqrt(Embd/Head)
	InverseLayer      bool    // scores of layer i, from 0, times 1/(i+1)
	Tied              bool    // the head is wte if a checkpoint has no head of its own

	// keys and values are rounded as in a cache of that format, "f16" or "q8"; no config has this
	Cache string
}

// ParseHParams reads the bytes of a Hugging Face config.json. Absent keys take the defaults of
// transformers' GPT2Config; n_positions falls back on n_ctx, and n_inner on 4*n_embd. The names
// that other models have for the sizes (GPT2Config's attribute_map) count too. A config that it
// cannot compute is an error.
func ParseHParams(config []byte) (HParams, error) {
	c := struct {
		Vocab      int     `json:"vocab_size"`
		Positions  int     `json:"n_positions"`
		Ctx        int     `json:"n_ctx"`
		Embd       int     `json:"n_embd"`
		Head       int     `json:"n_head"`
		Layer      int     `json:"n_layer"`
		Inner      int     `json:"n_inner"`
		Activation string  `json:"activation_function"`
		Epsilon    float64 `json:"layer_norm_epsilon"`
		Scale      bool    `json:"scale_attn_weights"`
		Inverse    bool    `json:"scale_attn_by_inverse_layer_idx"`
		Tied       bool    `json:"tie_word_embeddings"`
		Cross      bool    `json:"add_cross_attention"`

		HiddenSize      int `json:"hidden_size"`
		MaxPositions    int `json:"max_position_embeddings"`
		AttentionHeads  int `json:"num_attention_heads"`
		NumHiddenLayers int `json:"num_hidden_layers"`
	}{Vocab: 50257, Ctx: 1024, Activation: "gelu_new", Epsilon: 1e-5, Scale: true, Tied: true}
	if err := json.Unmarshal(config, &c); err != nil {
		return HParams{}, fmt.Errorf("config: %w", err)
	}
	c.Positions = cmp.Or(c.Positions, c.MaxPositions, c.Ctx)
	c.Embd = cmp.Or(c.Embd, c.HiddenSize, 768)
	c.Head = cmp.Or(c.Head, c.AttentionHeads, 12)
	c.Layer = cmp.Or(c.Layer, c.NumHiddenLayers, 12)
	c.Inner = cmp.Or(c.Inner, 4*c.Embd)
	switch {
	case c.Cross:
		return HParams{}, fmt.Errorf("config: add_cross_attention true, want false")
	case min(c.Vocab, c.Positions, c.Embd, c.Head, c.Layer, c.Inner) < 1:
		return HParams{}, fmt.Errorf("config: vocab_size %d, n_positions %d, n_embd %d, n_head "+
			"%d, n_layer %d, n_inner %d, want all positive",
			c.Vocab, c.Positions, c.Embd, c.Head, c.Layer, c.Inner)
	case c.Embd%c.Head != 0:
		return HParams{}, fmt.Errorf("config: n_embd %d, want a multiple of n_head, %d", c.Embd,
			c.Head)
	case activation(c.Activation) == nil:
		return HParams{}, fmt.Errorf("config: activation_function %q is not known", c.Activation)
	}
	return HParams{c.Vocab, c.Positions, c.Embd, c.Head, c.Layer, c.Inner, c.Activation, c.Epsilon,
		c.Scale, c.Inverse, c.Tied, ""}, nil
}

// Params are the weights, in the same tree as in picoGPT.
type Params struct {
	WTE    *Matrix // [n_vocab, n_embd]
	WPE    *Matrix // [n_positions, n_embd]
	Blocks []Block // n_layer of them
	LNF    LayerNorm
	Head   *Matrix // [n_vocab, n_embd]; WTE itself if the head is tied

	// Watch, if it is not nil, is called before each block with what the block is given,
	// [n_seq, n_embd]. Its error ends GPT2.
	Watch func(layer int, x *Matrix) error
}

// Share returns the part of GPT2's multiplications that is done when a block begins.
func (p *Params) Share(layer int) float64 {
	var done, all int
	for i, b := range p.Blocks {
		n := len(b.Attn.CAttn.W.Data) + len(b.Attn.CProj.W.Data) + len(b.MLP.CFC.W.Data) +
			len(b.MLP.CProj.W.Data)
		if all += n; i < layer {
			done += n
		}
	}
	return float64(done) / float64(all+len(p.Head.Data))
}

func (p *Params) watch(layer int, x *Matrix) error {
	if p.Watch == nil {
		return nil
	}
	return p.Watch(layer, x)
}

// Block is one layer of the stack.
type Block struct {
	LN1  LayerNorm
	Attn Attn
	LN2  LayerNorm
	MLP  MLP
}

// Attn is a block's attention: one linear layer that gives queries, keys and values side by side,
// and one after attention.
type Attn struct {
	CAttn Linear // n_embd -> 3*n_embd
	CProj Linear // n_embd -> n_embd
}

// MLP is a block's feed-forward network.
type MLP struct {
	CFC   Linear // n_embd -> n_inner
	CProj Linear // n_inner -> n_embd
}

// Linear is x @ W + B.
type Linear struct {
	W *Matrix   // [in, out]
	B []float64 // [out]
}

// LayerNorm normalizes to mean 0 and variance 1, then scales by G and adds B.
type LayerNorm struct{ G, B []float64 } // [n_embd], [n_embd]

// FromTensors fills Params from tensors with Hugging Face's names, with or without the prefix
// "transformer.". get returns a tensor's values in row-major order, which Params then share, and
// its shape. A separate lm_head.weight (or lm_head.decoder.weight) is used even if the head is
// tied. An absent tensor or a wrong shape is an error.
func FromTensors(
	hp HParams, get func(name string) (data []float64, shape []int, ok bool),
) (*Params, error) {
	r := reader{get: get}
	p := r.params(hp)
	if r.err != nil {
		return nil, r.err
	}
	return p, nil
}

// reader takes tensors by name and remembers the first error.
type reader struct {
	get       func(name string) ([]float64, []int, bool)
	prefix    string
	err       error
	values    int64 // that were asked for
	shapeOnly bool  // get returns no data
}

func (r *reader) params(hp HParams) *Params {
	if _, _, ok := r.get("transformer.wte.weight"); ok {
		r.prefix = "transformer."
	}
	p := &Params{
		WTE: r.matrix("wte.weight", hp.Vocab, hp.Embd),
		WPE: r.matrix("wpe.weight", hp.Positions, hp.Embd),
	}
	for i := 0; i < hp.Layer && r.err == nil; i++ {
		h := fmt.Sprintf("h.%d.", i)
		p.Blocks = append(p.Blocks, Block{
			LN1: r.layerNorm(h+"ln_1", hp.Embd),
			Attn: Attn{r.linear(h+"attn.c_attn", hp.Embd, 3*hp.Embd),
				r.linear(h+"attn.c_proj", hp.Embd, hp.Embd)},
			LN2: r.layerNorm(h+"ln_2", hp.Embd),
			MLP: MLP{r.linear(h+"mlp.c_fc", hp.Embd, hp.Inner),
				r.linear(h+"mlp.c_proj", hp.Inner, hp.Embd)},
		})
	}
	p.LNF = r.layerNorm("ln_f", hp.Embd)
	p.Head = r.head(p.WTE, hp)
	return p
}

func (r *reader) head(wte *Matrix, hp HParams) *Matrix { // [n_vocab, n_embd]
	r.prefix = "" // the head stands beside the transformer, not in it
	for _, name := range []string{"lm_head.weight", "lm_head.decoder.weight"} {
		if _, _, ok := r.get(name); ok {
			return r.matrix(name, hp.Vocab, hp.Embd)
		}
	}
	if hp.Tied {
		return wte
	}
	return r.matrix("lm_head.weight", hp.Vocab, hp.Embd) // absent: the error says so
}

func (r *reader) linear(name string, in, out int) Linear {
	return Linear{r.matrix(name+".weight", in, out), r.tensor(name+".bias", out)}
}

func (r *reader) layerNorm(name string, n int) LayerNorm {
	return LayerNorm{r.tensor(name+".weight", n), r.tensor(name+".bias", n)}
}

func (r *reader) matrix(name string, rows, cols int) *Matrix { // [rows, cols]
	data := r.tensor(name, rows, cols)
	if r.err != nil || r.shapeOnly {
		return nil
	}
	return NewMatrix(rows, cols, data)
}

func (r *reader) tensor(name string, want ...int) []float64 {
	if r.err != nil {
		return nil
	}
	name = r.prefix + name
	data, shape, ok := r.get(name)
	n := 1
	for _, d := range want {
		n *= d
	}
	switch {
	case !ok:
		r.err = fmt.Errorf("%s: missing, want shape %v", name, want)
	case !slices.Equal(shape, want):
		r.err = fmt.Errorf("%s: shape %v, want %v", name, shape, want)
	case r.shapeOnly:
		r.values += int64(n)
	case len(data) != n:
		r.err = fmt.Errorf("%s: %d values, want %d", name, len(data), n)
	}
	return data
}

func checkInputs(inputs []int, hp HParams) error {
	if activation(hp.Activation) == nil {
		return fmt.Errorf("activation %q is not known", hp.Activation)
	}
	if len(inputs) == 0 || len(inputs) > hp.Positions {
		return fmt.Errorf("%d tokens, want 1 to n_positions, %d", len(inputs), hp.Positions)
	}
	return checkIDs(inputs, hp)
}

func checkIDs(inputs []int, hp HParams) error {
	if len(inputs) == 0 {
		return fmt.Errorf("0 tokens, want at least 1")
	}
	for i, id := range inputs {
		if id < 0 || id >= hp.Vocab {
			return fmt.Errorf("token %d at position %d, want 0 to %d", id, i, hp.Vocab-1)
		}
	}
	return nil
}

// activation returns the function of that name in a config, or nil. The names and formulas are
// those of Hugging Face transformers' activations.py.
func activation(name string) func(float64) float64 {
	switch name {
	case "gelu_new", "gelu_pytorch_tanh", "gelu_python_tanh", "gelu_accurate":
		return gelu
	case "gelu", "gelu_python":
		return func(x float64) float64 { return 0.5 * x * (1 + math.Erf(x/math.Sqrt2)) }
	case "gelu_fast": // the tanh form with sqrt(2/pi) cut to ten digits
		return func(x float64) float64 {
			return 0.5 * x * (1 +
				math.Tanh(x*0.7978845608*(1+0.044715*x*x)))
		}
	case "quick_gelu":
		return func(x float64) float64 { return x * sigmoid(1.702*x) }
	case "silu", "swish":
		return func(x float64) float64 { return x * sigmoid(x) }
	case "relu":
		return func(x float64) float64 { return math.Max(x, 0) }
	case "relu2":
		return func(x float64) float64 { return math.Max(x, 0) * math.Max(x, 0) }
	case "mish":
		return func(x float64) float64 { return x * math.Tanh(math.Log1p(math.Exp(x))) }
	case "tanh":
		return math.Tanh
	}
	return nil
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// attnScale returns the factor of a layer's scores; layers count from 0. reorder_and_upcast_attn
// does not matter here: it applies the same factors in another order, so that sums in half
// precision do not overflow, and changes nothing in float64.
func attnScale(hp HParams, layer int) float64 {
	scale := 1.0
	if hp.ScaleAttn {
		scale /= math.Sqrt(float64(hp.Embd) / float64(hp.Head))
	}
	if hp.InverseLayer {
		scale /= float64(layer + 1)
	}
	return scale
}

// half rounds x to IEEE 754 binary16, to nearest, ties to even. Numbers beyond its range give NaN.
func half(x float64) float64 {
	_, exponent := math.Frexp(x)                 // |x| is at least 2^(exponent-1)
	step := math.Ldexp(1, max(exponent, -13)-11) // between neighbours; subnormal below 2^-14
	if y := math.RoundToEven(x/step) * step; math.Abs(y) <= 65504 {
		return y
	}
	return math.NaN()
}

// eight rounds the numbers of a row in place to integers of 8 bits, to nearest, ties to even. So many
// that follow each other have a scale: the bfloat16 nearest to a 127th of their greatest magnitude.
func eight(row []float64, each int) {
	for part := range slices.Chunk(row, each) {
		most := 0.0
		for _, v := range part {
			most = max(most, math.Abs(v))
		}
		_, exponent := math.Frexp(most / 127)
		step := math.Ldexp(1, exponent-8) // between neighbours with eight bits
		if scale := math.RoundToEven(most/127/step) * step; scale > 0 {
			for i, v := range part {
				part[i] = math.RoundToEven(v/scale) * scale
			}
		}
	}
}

// fromHalf returns the value of the bits of a binary16.
func fromHalf(bits uint16) float64 {
	exponent, fraction := int(bits>>10&31), float64(bits&(1<<10-1))
	value := math.Ldexp(fraction, -24) // subnormal
	switch {
	case exponent == 31 && fraction == 0:
		value = math.Inf(1)
	case exponent == 31:
		value = math.NaN()
	case exponent > 0:
		value = math.Ldexp(1<<10+fraction, exponent-25)
	}
	if bits>>15 == 1 {
		return -value
	}
	return value
}
