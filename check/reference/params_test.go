// Loading: defaults, both spellings of names, and errors that name the thing.

package reference

import (
	"math"
	"strings"
	"testing"
)

func TestConfigDefaultsAreGPT2s(t *testing.T) {
	hp, err := ParseHParams([]byte(`{"n_inner": null, "some_other_key": [1]}`))
	want := HParams{Vocab: 50257, Positions: 1024, Embd: 768, Head: 12, Layer: 12, Inner: 3072,
		Activation: "gelu_new", Epsilon: 1e-5, ScaleAttn: true, Tied: true}
	if err != nil || hp != want {
		t.Errorf("%+v, %v, want %+v", hp, err, want)
	}
	hp, err = ParseHParams([]byte(`{"n_ctx": 77, "n_embd": 10, "n_head": 5}`))
	if err != nil || hp.Positions != 77 || hp.Inner != 40 {
		t.Errorf("%+v, %v, want 77 positions from n_ctx and n_inner 40", hp, err)
	}
	hp, err = ParseHParams([]byte(`{"hidden_size": 10, "num_attention_heads": 5,
		"num_hidden_layers": 3, "max_position_embeddings": 77, "n_ctx": 5}`))
	if err != nil || hp.Embd != 10 || hp.Head != 5 || hp.Layer != 3 || hp.Positions != 77 {
		t.Errorf("%+v, %v, want 3 layers of 5 heads of 2, and 77 positions", hp, err)
	}
}

func TestConfigsItCannotComputeAreRefused(t *testing.T) {
	for config, want := range map[string]string{
		`{"add_cross_attention": true}`:          "add_cross_attention",
		`{"activation_function": "gelu_newest"}`: `"gelu_newest"`,
		`{"n_embd": 10, "n_head": 3}`:            "n_embd 10, want a multiple of n_head, 3",
		`{"n_layer": -1}`:                        "n_layer -1, n_inner",
		`{"n_embd": "wide"}`:                     "n_embd",
		`[`:                                      "JSON",
	} {
		if _, err := ParseHParams([]byte(config)); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", config, err, want)
		}
	}
}

func TestTensorsThatAreMissingOrMisshapenAreNamed(t *testing.T) {
	hp := HParams{Vocab: 3, Positions: 4, Embd: 2, Head: 1, Layer: 1, Inner: 5, Activation: "relu",
		ScaleAttn: true}
	shapes := map[string][]int{
		"wte.weight": {3, 2}, "wpe.weight": {4, 2}, "ln_f.weight": {2}, "ln_f.bias": {2},
		"h.0.ln_1.weight": {2}, "h.0.ln_1.bias": {2}, "h.0.ln_2.weight": {2}, "h.0.ln_2.bias": {2},
		"h.0.attn.c_attn.weight": {2, 6}, "h.0.attn.c_attn.bias": {6},
		"h.0.attn.c_proj.weight": {2, 2}, "h.0.attn.c_proj.bias": {2},
		"h.0.mlp.c_fc.weight": {2, 5}, "h.0.mlp.c_fc.bias": {5}, "h.0.mlp.c_proj.weight": {5, 2},
		"h.0.mlp.c_proj.bias": {2},
		"lm_head.weight":      {3, 2},
	}
	get := func(name string) ([]float64, []int, bool) {
		shape, ok := shapes[name]
		n := 1
		for _, d := range shape {
			n *= d
		}
		return make([]float64, n), shape, ok
	}
	if _, err := FromTensors(hp, get); err != nil {
		t.Fatalf("all tensors there: %v", err)
	}
	for name, shape := range shapes {
		delete(shapes, name)
		if _, err := FromTensors(hp, get); err == nil ||
			!strings.HasPrefix(err.Error(), name+": missing") {
			t.Errorf("without %s: error %v", name, err)
		}
		shapes[name] = append([]int{1}, shape...)
		if _, err := FromTensors(hp, get); err == nil ||
			!strings.HasPrefix(err.Error(), name+": shape [1 ") {
			t.Errorf("misshapen %s: error %v", name, err)
		}
		shapes[name] = shape
	}
	delete(shapes, "lm_head.weight")
	hp.Tied = true
	if p, err := FromTensors(hp, get); err != nil || p.Head != p.WTE {
		t.Errorf("tied and no lm_head.weight: %v, want the head to be wte", err)
	}
}

// A block of the golden model multiplies by 12·n_embd² weights or more, the head by n_vocab·n_embd.
func TestSharesGrowToTheHeads(t *testing.T) {
	g := goldens(t)[0]
	p, hp := load(t, g.Config, g.File)
	block := hp.Embd * (4*hp.Embd + 2*hp.Inner)
	all := float64(hp.Layer*block + hp.Vocab*hp.Embd)
	for layer := range hp.Layer {
		if got, want := p.Share(layer), float64(layer*block)/all; got != want {
			t.Errorf("block %d: %g, want %g", layer, got, want)
		}
	}
}

// Every binary16 is itself, and between each two neighbours the nearer one is taken, in the middle
// the one whose last bit is 0.
func TestHalfIsTheNearestBinary16(t *testing.T) {
	value := func(i int) float64 { // of the bits i, by the definition
		if e := i >> 10; e > 0 {
			return math.Ldexp(float64(1<<10+i&(1<<10-1)), e-25)
		}
		return math.Ldexp(float64(i), -24)
	}
	const infinity = 31 << 10
	for i := range infinity {
		low, high := value(i), value(i+1)
		if got := fromHalf(uint16(i)); got != low || fromHalf(uint16(i)|1<<15) != -low {
			t.Fatalf("%#x is %v, want %v", i, got, low)
		}
		middle, even := (low+high)/2, value(i+i&1)
		below, above := math.Nextafter(middle, 0), math.Nextafter(middle, high)
		if i+1 == infinity {
			high = math.NaN()
			even = high
		}
		for _, c := range [][2]float64{{low, low}, {below, low}, {middle, even}, {above, high}} {
			for _, sign := range []float64{1, -1} {
				got, want := half(sign*c[0]), sign*c[1]
				if got != want && (got == got || want == want) {
					t.Fatalf("%v rounds to %v, want %v", sign*c[0], got, want)
				}
			}
		}
	}
	for _, x := range []float64{math.Inf(1), math.Inf(-1), math.NaN(), 1e300} {
		if y := half(x); y == y {
			t.Errorf("%v rounds to %v", x, y)
		}
	}
}
