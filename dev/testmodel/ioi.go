package testmodel

// The IOI model: the three groups of heads that find an indirect object, written by hand.

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"picogpt/dev/fixture"
	"picogpt/model"
)

// The sizes of the IOI model. Its residual stream holds one-hot vectors: of the token [vocab_size],
// of the position [n_positions], of whether the token has been there before [2], and of the token
// that is not to be named [vocab_size].
const (
	IOIVocab     = 16
	IOIPositions = 16
	IOIEmbd      = 68 // 18 of them are 0
	IOINames     = 8  // the ids from 1 on
	IOIEnd       = 15 // the token after which a name is to come

	ioiPosition, ioiSeen, ioiHidden = IOIVocab, 2 * IOIVocab, 2*IOIVocab + 2
)

// IOI returns a model that after "bos A B … B end" names A, in any order of the three names:
//
//	head 0.0  the duplicate token head: attends to an earlier equal token, if there is none to bos,
//	          and writes which of both
//	head 1.0  the S-inhibition head: at the end attends to the token that has been there before, and
//	          writes it as the one not to be named; elsewhere, and if there is none, bos
//	head 2.0  the name mover: at the end attends to the names that are not hidden, all alike, and
//	          adds 3 to the logits of what it attends to; elsewhere to bos
//	head 2.1  the negative name mover: attends as 2.0, and subtracts 1
//	others    heads 0.1 and 1.1 attend to all tokens alike and write nothing, as the MLPs
//
// The logit of the name is 2, that of the end 1, and 0 of others. The scores by which heads choose
// are 20 above others.
func IOI(t testing.TB, o model.Options) *model.Model {
	t.Helper()
	config, file := IOICheckpoint()
	return New(t, config, file, o)
}

// IOITokenizer returns a tokenizer.json in which each token is a character: "|" is bos, capitals
// from A on are names, small letters are others, and ">" is the end.
func IOITokenizer() []byte {
	vocab := map[string]int{}
	for i, c := range "|ABCDEFGHabcdef>" {
		vocab[string(c)] = i
	}
	b, err := json.Marshal(map[string]any{
		"version": "1.0", "added_tokens": []any{}, "normalizer": nil,
		"pre_tokenizer": map[string]any{"type": "Split", "pattern": map[string]any{"Regex": "."},
			"behavior": "Isolated", "invert": false},
		"post_processor": nil, "decoder": map[string]any{"type": "Fuse"},
		"model": map[string]any{"type": "WordLevel", "vocab": vocab, "unk_token": "|"}})
	if err != nil {
		panic(err) // of strings and numbers
	}
	return b
}

// IOICheckpoint returns the bytes of config.json and of model.safetensors of the model.
func IOICheckpoint() (config, file []byte) {
	const v, e, d = IOIVocab, IOIEmbd, IOIEmbd / 2
	const query, key, value = 0, e, 2 * e
	sharp := 40 * math.Sqrt(d)
	position := func(in int) bool { return in >= ioiPosition && in < ioiSeen }
	name := func(in int) bool { return in >= 1 && in <= IOINames }
	reads := func(head int, of func(in, out int) float64) func(i int) float64 { // c_attn of heads
		return func(i int) float64 {
			in, out := i/(3*e), i%(3*e)
			if head >= 0 && out%e/d != head {
				return 0
			}
			return of(in, out/e*e+out%d)
		}
	}
	constant := func(at int, heads ...int) func(i int) float64 { // a query that is always there
		return func(i int) float64 {
			for _, h := range heads {
				if i == query+h*d+at {
					return sharp
				}
			}
			return 0
		}
	}
	elements := map[string]func(i int) float64{
		"wte.weight": func(i int) float64 { return one(i%e == i/e) },
		"wpe.weight": func(i int) float64 { return one(i%e == ioiPosition+i/e) },
		"h.0.attn.c_attn.weight": reads(0, func(in, out int) float64 {
			switch {
			case in < ioiSeen && out == query+in:
				return sharp
			case in < v && out == key+in:
				return 1
			case position(in) && out == key+in:
				return -2 // not the token itself
			case in == ioiPosition && out == key+ioiSeen:
				return .5 // bos, if there is no other
			case in < v && out == value+int(one(in == 0)):
				return 1
			}
			return 0
		}),
		"h.0.attn.c_attn.bias": constant(ioiSeen, 0),
		"h.0.attn.c_proj.weight": func(i int) float64 {
			in, out := i/e, i%e
			return one(in < 2 && out == ioiSeen+in)
		},
		"h.1.attn.c_attn.weight": reads(0, func(in, out int) float64 {
			switch {
			case in == IOIEnd && out == query:
				return sharp
			case in == ioiSeen && out == key:
				return 1
			case in == ioiPosition && out == key+1:
				return .5
			case in < v && out == value+in:
				return 1
			}
			return 0
		}),
		"h.1.attn.c_attn.bias": constant(1, 0),
		"h.1.attn.c_proj.weight": func(i int) float64 {
			in, out := i/e, i%e
			return one(in < v && out == ioiHidden+in)
		},
		"h.2.attn.c_attn.weight": reads(-1, func(in, out int) float64 {
			switch {
			case in >= ioiHidden && in < ioiHidden+v && out == query+in-ioiHidden,
				in == IOIEnd && out == query+v:
				return sharp
			case name(in) && out == key+in:
				return -1
			case name(in) && out == key+v:
				return 1
			case in == ioiPosition && out == key+v+1:
				return .5
			case in < v && out == value+in:
				return 1
			}
			return 0
		}),
		"h.2.attn.c_attn.bias": constant(v+1, 0, 1),
		"h.2.attn.c_proj.weight": func(i int) float64 {
			in, out := i/e, i%e
			return 3*one(in < v && out == in) - one(in >= d && in < d+v && out == in-d)
		},
	}
	identity := func(name string, sum, squares float64) { // of the elements of the stream there
		mean := sum / e
		gain := math.Sqrt(squares/e - mean*mean + 1e-5)
		elements[name+".weight"] = func(int) float64 { return gain }
		elements[name+".bias"] = func(int) float64 { return mean }
	}
	identity("ln_f", 6, 8)
	for i := range 3 {
		h := fmt.Sprintf("h.%d.", i)
		identity(h+"ln_1", float64(2+i), float64(2+i))
		for _, name := range []string{"attn.c_proj.bias", "mlp.c_fc.weight", "mlp.c_fc.bias",
			"mlp.c_proj.weight", "mlp.c_proj.bias"} {
			elements[h+name] = zero
		}
	}
	return filled(fixture.Options{Vocab: v, Positions: IOIPositions, Embd: e, Head: 2, Layer: 3},
		elements)
}
