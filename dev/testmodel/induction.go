package testmodel

// The induction model: two layers written by hand, so that every answer about them is known.

import (
	"fmt"
	"math"
	"testing"

	"picogpt/dev/fixture"
	"picogpt/model"
)

// The sizes of the induction model. Its residual stream holds three one-hot vectors: of the token
// [vocab_size], of the one before it [vocab_size], and of the position [n_positions].
const (
	InductionVocab     = 16
	InductionPositions = 32

	inductionEmbd = 2*InductionVocab + InductionPositions
	inductionDim  = inductionEmbd / 2 // the width of a head, which is that of a position too
)

// Induction returns a model that continues a text as the same token was continued before:
//
//	head 0.0  attends to the token before, with weight 1 in float32 (the first token to itself),
//	          and writes it into the second vector of the stream
//	head 1.0  attends to the token after an earlier one that is equal (the induction head), and
//	          adds 3 to that token's logit; where there is none, to all tokens alike
//	others    heads 0.1 and 1.1 attend to all tokens alike, 1/(t+1), and write nothing, as the MLPs
//
// The logit of the token itself is 1, that of others 0: LayerNorms are the identity, ln_f where
// head 1.0 writes 3 for one token. In a text [bos, r, r] of a token and twice the same different
// ones, each token of the second r but its first has the largest logit before it; with either
// head's z set to 0, none has. The scores by which heads choose are 40 above others.
func Induction(t testing.TB, o model.Options) *model.Model {
	t.Helper()
	config, file := InductionCheckpoint()
	return New(t, config, file, o)
}

// InductionCheckpoint returns the bytes of config.json and of model.safetensors of the model.
func InductionCheckpoint() (config, file []byte) {
	const v, e, d = InductionVocab, inductionEmbd, inductionDim
	const previous, position = v, 2 * v // where these vectors begin in the stream
	const query, key, value = 0, e, 2 * e
	sharp := 40 * math.Sqrt(d)
	elements := map[string]func(i int) float64{
		"wte.weight": func(i int) float64 { return one(i%e == i/e) },
		"wpe.weight": func(i int) float64 { return one(i%e == position+i/e) },
		"h.0.attn.c_attn.weight": func(i int) float64 { // head 0.0
			switch in, out := i/(3*e), i%(3*e); {
			case in >= position && out == query+in-position:
				return sharp
			case in >= position && out == key+in-position+1 && out < key+d:
				return 1
			case in < v && out == value+in:
				return 1
			}
			return 0
		},
		"h.0.attn.c_proj.weight": func(i int) float64 {
			in, out := i/e, i%e
			return one(in < v && out == previous+in)
		},
		"h.1.attn.c_attn.weight": func(i int) float64 { // head 1.0
			switch in, out := i/(3*e), i%(3*e); {
			case in < v && out == query+in:
				return sharp
			case in >= previous && in < position && out == key+in-previous:
				return 1
			case in < v && out == value+in:
				return 3
			}
			return 0
		},
		"h.1.attn.c_proj.weight": func(i int) float64 {
			in, out := i/e, i%e
			return one(in < v && out == in)
		},
	}
	identity := func(name string, sum, squares float64) { // of the elements of the stream there
		mean := sum / e
		gain := math.Sqrt(squares/e - mean*mean + 1e-5)
		elements[name+".weight"] = func(int) float64 { return gain }
		elements[name+".bias"] = func(int) float64 { return mean }
	}
	identity("h.0.ln_1", 2, 2)
	identity("h.1.ln_1", 3, 3)
	identity("ln_f", 6, 12)
	for i := range 2 {
		h := fmt.Sprintf("h.%d.", i)
		for _, name := range []string{"attn.c_attn.bias", "attn.c_proj.bias", "mlp.c_fc.weight",
			"mlp.c_fc.bias", "mlp.c_proj.weight", "mlp.c_proj.bias"} {
			elements[h+name] = zero
		}
	}
	return filled(fixture.Options{Vocab: v, Positions: InductionPositions, Embd: e, Head: 2,
		Layer: 2}, elements)
}
