package attention_test

// Every case of the goldens, which float64 PyTorch computed from float32 inputs (as
// testdata/make_goldens.py does), each on every variant.

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"picogpt/kernels"
	"picogpt/weights"
	"picogpt/x/attention"
)

// goldenError bounds ‖got − want‖ / ‖want‖.
const goldenError = 4e-7

// goldens are the tensors of a file, by name.
type goldens struct {
	t    testing.TB
	file *weights.Tensors
	team *kernels.Team
}

func (g *goldens) get(name string) []float32 {
	g.t.Helper()
	tensor, ok := g.file.Tensor(name)
	if !ok {
		g.t.Fatalf("no tensor %s", name)
	}
	data, err := tensor.Float32s()
	if err != nil {
		g.t.Fatal(err)
	}
	return data
}

// shape returns a tensor's shape.
func (g *goldens) shape(name string) []int {
	tensor, ok := g.file.Tensor(name)
	if !ok {
		g.t.Fatalf("no tensor %s", name)
	}
	return tensor.Shape
}

func (g *goldens) near(name string, got []float32) {
	g.t.Helper()
	want := g.get(name)
	if len(got) != len(want) {
		g.t.Fatalf("%s: %d numbers, want %d", name, len(got), len(want))
	}
	var diff, norm float64
	for i := range want {
		diff += math.Pow(float64(got[i])-float64(want[i]), 2)
		norm += math.Pow(float64(want[i]), 2)
	}
	if r := math.Sqrt(diff / norm); !(r <= goldenError) {
		g.t.Errorf("%s: relative error %.3g, want at most %g", name, r, float64(goldenError))
	}
}

// goldenFiles are the file in testdata, and the one that ATTENTION_GOLDENS names: see
// make_goldens.py.
func goldenFiles() []string {
	files := []string{"testdata/attention.safetensors"}
	if more := os.Getenv("ATTENTION_GOLDENS"); more != "" {
		files = append(files, more)
	}
	return files
}

func TestGoldens(t *testing.T) {
	for _, path := range goldenFiles() {
		file, err := weights.Open(os.DirFS(filepath.Dir(path)), filepath.Base(path))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		for _, variant := range kernels.Variants() {
			for name, test := range goldenTests {
				t.Run(variant+"/"+name, func(t *testing.T) {
					test(&goldens{t, file, newTeam(t, 2, variant)})
				})
			}
		}
	}
}

var goldenTests = map[string]func(g *goldens){
	"sdpa":            func(g *goldens) { g.sdpa("sdpa", attention.Options{}) },
	"sdpa_causal":     func(g *goldens) { g.sdpa("sdpa_causal", attention.Options{Causal: true}) },
	"sdpa_cross_mask": func(g *goldens) { g.sdpaMasks("sdpa_cross_mask") },
	"torch_mha":       (*goldens).torch,
	"einsum_mha":      (*goldens).einsum,
	"pico":            (*goldens).pico,
	"fullwidth_scale": (*goldens).fullWidth,
	"reduced":         (*goldens).reduced,
	"linear":          (*goldens).linear,
}

func (g *goldens) sdpa(name string, o attention.Options) {
	q, v := g.shape(name+".q"), g.shape(name+".v")
	s := attention.Sizes{Batch: q[0], Heads: q[1], Queries: q[2], Keys: v[2], KeyDim: q[3],
		ValueDim: v[3]}
	out := make([]float32, s.Batch*s.Heads*s.Queries*s.ValueDim)
	o.Weights = make([]float32, s.Batch*s.Heads*s.Queries*s.Keys)
	attention.ScaledDotProduct(g.team, out, g.get(name+".q"), g.get(name+".k"), g.get(name+".v"), s,
		o)
	g.near(name+".out", out)
	g.near(name+".weights", o.Weights)
}

// sdpaMasks: −1e10 hides as much as a boolean mask does.
func (g *goldens) sdpaMasks(name string) {
	add := g.get(name + ".mask")
	keep := make([]bool, len(add))
	for i := range add {
		keep[i] = add[i] == 0
	}
	g.sdpa(name, attention.Options{Mask: attention.Mask{Add: add}})
	g.sdpa(name, attention.Options{Mask: attention.Mask{Keep: keep}})
}

func (g *goldens) torch() {
	p := "torch_mha."
	shape := g.shape(p + "x") // [batch, tokens, width]
	memory := g.shape("torch_mha_cross.memory")
	l := attention.NewTorch(g.get(p+"in_proj_weight"), g.get(p+"in_proj_bias"),
		g.get(p+"out_proj_weight"), g.get(p+"out_proj_bias"), shape[2], 2)
	out := make([]float32, len(g.get(p+"x")))
	mean := make([]float32, shape[0]*shape[1]*shape[1])
	l.Self(g.team, out, g.get(p+"x"), shape[0], shape[1], attention.Options{MeanWeights: mean})
	g.near(p+"out", out)
	g.near(p+"mean_weights", mean)

	p = "torch_mha_cross."
	m := g.get(p + "memory")
	l.Forward(g.team, out, g.get(p+"x"), m, m, shape[0], shape[1], memory[1], attention.Options{})
	g.near(p+"out", out)
}

func (g *goldens) einsum() {
	p := "einsum_mha."
	shape := g.shape(p + "x")
	l := attention.NewEinsum(g.get(p+"K"), g.get(p+"Q"), g.get(p+"V"), g.get(p+"L"), shape[2], 2)
	out := make([]float32, len(g.get(p+"x")))
	l.Self(g.team, out, g.get(p+"x"), shape[0], shape[1], attention.Options{})
	g.near(p+"out", out)
}

func (g *goldens) pico() {
	for _, p := range []string{"pico_encoder.", "pico_decoder."} {
		shape := g.shape(p + "x") // [tokens, width]
		l := attention.NewGPT2(g.get(p+"c_attn_w"), g.get(p+"c_attn_b"), g.get(p+"c_proj_w"),
			g.get(p+"c_proj_b"), shape[1], 4)
		out := make([]float32, len(g.get(p+"x")))
		causal := p == "pico_decoder."
		l.Self(g.team, out, g.get(p+"x"), 1, shape[0], attention.Options{Causal: causal})
		g.near(p+"out", out)
		if !causal {
			continue
		}
		cache := attention.NewCache(1, l.Heads(), l.KeyDim(), l.ValueDim())
		for i := range shape[0] {
			at, end := i*shape[1], (i+1)*shape[1]
			l.Next(g.team, out[at:end], g.get(p + "x")[at:end], 1, 1, cache)
		}
		g.near(p+"out", out)
	}
}

func (g *goldens) fullWidth() {
	p := "fullwidth_scale."
	shape := g.shape(p + "x")
	l := attention.NewFullWidth(g.get(p+"wq"), g.get(p+"wk"), g.get(p+"wv"), g.get(p+"wu"),
		g.get(p+"bu"), shape[2], 4)
	out := make([]float32, len(g.get(p+"x")))
	l.Self(g.team, out, g.get(p+"x"), shape[0], shape[1], attention.Options{})
	g.near(p+"out", out)

	p = "fullwidth_scale_cross."
	m := g.get(p + "memory")
	l.Forward(g.team, out, g.get(p+"x"), m, m, shape[0], shape[1], g.shape(p + "memory")[1],
		attention.Options{})
	g.near(p+"out", out)
}

func (g *goldens) reduced() {
	x, shape := g.get("reduced_multihead.x"), g.shape("reduced_multihead.x")
	var heads []attention.Head
	for _, p := range []string{"reduced_head0.", "reduced_head1.", "reduced_head2.",
		"reduced_head3."} {
		h := attention.Head{Reduce: g.get(p + "reduce"), WQ: g.get(p + "wq"), WK: g.get(p + "wk"),
			WV: g.get(p + "wv")}
		heads = append(heads, h)
		out := make([]float32, shape[0]*shape[1]*8)
		attention.NewReduced([]attention.Head{h}, nil, nil, shape[2], 8, 8, 8).Self(g.team, out, x,
			shape[0], shape[1], attention.Options{})
		g.near(p+"out", out)
		// A head of its own is a plain head on the reduced input.
		z := multiply(x, h.Reduce, shape[0]*shape[1], shape[2], 8)
		plain := h
		plain.Reduce = nil
		attention.NewHead(plain, 8, 8, 8).Forward(g.team, out, z, z, z, shape[0], shape[1],
			shape[1], attention.Options{})
		g.near(p+"out", out)
	}
	l := attention.NewReduced(heads, g.get("reduced_multihead.wu"), g.get("reduced_multihead.bu"),
		shape[2], 8, 8, 8)
	out := make([]float32, len(x))
	l.Forward(g.team, out, x, x, x, shape[0], shape[1], shape[1], attention.Options{})
	g.near("reduced_multihead.out", out)
}

func (g *goldens) linear() {
	p := "linear."
	x, shape, dim := g.get(p+"x"), g.shape(p+"x"), g.shape(p + "wq")[0]
	l := attention.NewHead(attention.Head{WQ: g.get(p + "wq"), WK: g.get(p + "wk"),
		WV: g.get(p + "wv"),
		BQ: g.get(p + "bq"), BK: g.get(p + "bk"), BV: g.get(p + "bv")}, shape[2], dim, dim)
	out := make([]float32, shape[0]*shape[1]*dim)
	l.Linear(g.team, out, x, x, x, shape[0], shape[1], shape[1], attention.LinearOptions{})
	g.near(p+"out", out)

	l.NextLinear(g.team, out, x, shape[0], shape[1],
		attention.NewLinearState(shape[0], 1, dim, dim, attention.LinearOptions{}))
	g.near("linear_causal.out", out)
}
