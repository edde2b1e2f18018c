// The oracle is compared with PyTorch in float64, as a whole and step by step.
package reference

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"picogpt/dev/fixture"
	"picogpt/weights"
)

// load reads a checkpoint from the bytes of config.json and of a safetensors file.
func load(t testing.TB, config, file []byte) (*Params, HParams) {
	t.Helper()
	hp, err := ParseHParams(config)
	if err != nil {
		t.Fatal(err)
	}
	f, err := weights.FromBytes("checkpoint", file)
	if err != nil {
		t.Fatal(err)
	}
	p, err := FromTensors(hp, fixture.Tensors64(f))
	if err != nil {
		t.Fatal(err)
	}
	return p, hp
}

func goldens(t testing.TB) []fixture.Golden {
	t.Helper()
	all, err := fixture.Goldens()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 13 {
		t.Fatalf("%d goldens, want 13 or more", len(all))
	}
	return all
}

// apart returns the largest |got-want| and the largest |want|; a NaN or a wrong length is
// infinitely far.
func apart(got, want []float64) (diff, size float64) {
	if len(got) != len(want) {
		return math.Inf(1), 1
	}
	for i := range want {
		d := math.Abs(got[i] - want[i])
		if math.IsNaN(d) {
			d = math.Inf(1)
		}
		diff, size = math.Max(diff, d), math.Max(size, math.Abs(want[i]))
	}
	return diff, size
}

// logitsApart is apart over all logits of a sequence.
func logitsApart(t testing.TB, s fixture.Sequence, p *Params, hp HParams) (diff, size float64) {
	t.Helper()
	logits, err := GPT2(s.Tokens, p, hp)
	if err != nil {
		t.Fatal(err)
	}
	var want []float64
	for _, row := range s.Logits {
		want = append(want, row...)
	}
	return apart(logits.Data, want)
}

func TestLogitsAreThoseOfPyTorchInFloat64(t *testing.T) {
	for _, g := range goldens(t) {
		t.Run(g.Name, func(t *testing.T) {
			p, hp := load(t, g.Config, g.File)
			for _, s := range g.Sequences {
				if diff, size := logitsApart(t, s, p, hp); diff > 1e-12*size {
					t.Errorf("%d tokens: logits off by %.3g of %.3g, want 1e-12 of that",
						len(s.Tokens), diff, size)
				}
			}
		})
	}
}

// A golden proves that its flag is honoured only if the logits without the flag are other ones, and
// so far off that the float32 model's tolerance, 1e-4 of the largest, cannot hide it.
func TestGoldensShowTheirFlags(t *testing.T) {
	wrong := map[string]func(p *Params, hp *HParams){
		"gelu-inner37":   func(_ *Params, hp *HParams) { hp.Activation = "gelu_new" },
		"quick-gelu-eps": func(_ *Params, hp *HParams) { hp.Epsilon = 1e-5 },
		"relu-inner7":    func(_ *Params, hp *HParams) { hp.Activation = "gelu_new" },
		"silu-untied":    func(p *Params, _ *HParams) { p.Head = p.WTE },
		"tanh-one-head":  func(_ *Params, hp *HParams) { hp.Activation = "gelu_new" },
		"inverse-layer":  func(_ *Params, hp *HParams) { hp.InverseLayer = false },
		"unscaled":       func(_ *Params, hp *HParams) { hp.ScaleAttn = true },
	}
	for _, g := range goldens(t) {
		spoil, ok := wrong[g.Name]
		if !ok {
			continue
		}
		delete(wrong, g.Name)
		p, hp := load(t, g.Config, g.File)
		spoil(p, &hp)
		if diff, size := logitsApart(t, g.Sequences[2], p, hp); diff < 2e-4*size {
			t.Errorf("%s: without its flag the logits are off by only %.3g of %.3g", g.Name, diff,
				size)
		}
	}
	for name := range wrong {
		t.Errorf("no golden %s", name)
	}
}

func TestEveryStepIsPyTorchs(t *testing.T) {
	for _, g := range goldens(t) {
		if len(g.Partials) == 0 {
			continue
		}
		p, hp := load(t, g.Config, g.File)
		partial := func(name string) []float64 {
			v, err := g.Partial(name)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		checkSteps(t, g.Sequences[1].Tokens, p, hp, 1e-12, partial)
		return
	}
	t.Fatal("no golden has partials")
}

// checkSteps walks the forward pass as GPT2 does and holds every value on the way to the partials:
// those of layer i are "h.i.ln1", "h.i.q" and so on. A partial that is nil is not compared.
func checkSteps(
	t *testing.T, ids []int, p *Params, hp HParams, tolerance float64,
	partial func(name string) []float64,
) {
	t.Helper()
	compared := 0
	check := func(name string, got ...*Matrix) {
		t.Helper()
		want := partial(name)
		if want == nil {
			return
		}
		var all []float64
		for _, m := range got {
			all = append(all, m.Clone().Data...)
		}
		if diff, size := apart(all, want); diff > tolerance*math.Max(size, 1) {
			t.Errorf("%s: off by %.3g of %.3g, want %g of that", name, diff, size, tolerance)
		}
		compared++
	}

	x := embed(ids, p)
	check("x", x)
	for i, b := range p.Blocks {
		h := fmt.Sprintf("h.%d.", i)
		ln1 := layerNorm(x, b.LN1, hp.Epsilon)
		check(h+"ln1", ln1)
		qkv := split(linear(ln1, b.Attn.CAttn), 3)
		q, k, v := split(qkv[0], hp.Head), split(qkv[1], hp.Head), split(qkv[2], hp.Head)
		check(h+"q", q...)
		check(h+"k", k...)
		check(h+"v", v...)
		attSm := make([]*Matrix, hp.Head) // attention over an identity for v is its weights
		for j := range attSm {
			attSm[j] = attention(q[j], k[j], identity(len(ids)), causalMask(len(ids)),
				attnScale(hp, i))
		}
		check(h+"attSm", attSm...)
		yProj := mha(ln1, b.Attn, hp, i)
		check(h+"yProj", yProj)
		attnResid := add(x, yProj)
		check(h+"attnResid", attnResid)
		ln2 := layerNorm(attnResid, b.LN2, hp.Epsilon)
		check(h+"ln2", ln2)
		fc := linear(ln2, b.MLP.CFC)
		check(h+"fc", fc)
		check(h+"gelu", each(fc, activation(hp.Activation)))
		check(h+"mlp", ffn(ln2, b.MLP, hp))
		x = transformerBlock(x, b, hp, i)
		check(h+"block", x)
	}
	check("ln_f", layerNorm(x, p.LNF, hp.Epsilon))
	if compared < 12 {
		t.Errorf("%d steps compared, want 12 or more", compared)
	}
}

func identity(n int) *Matrix { // [n, n]
	m := NewMatrix(n, n, nil)
	for i := range n {
		m.Row(i)[i] = 1
	}
	return m
}

func TestWhatComesLaterChangesNothing(t *testing.T) {
	g := goldens(t)[0]
	p, hp := load(t, g.Config, g.File)
	ids := g.Sequences[2].Tokens
	whole, err := GPT2(ids, p, hp)
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n < len(ids); n++ {
		part, err := GPT2(ids[:n], p, hp)
		if err != nil {
			t.Fatal(err)
		}
		if diff, size := apart(part.Row(n-1), whole.Row(n-1)); diff > 1e-12*size {
			t.Errorf("logits after %d tokens: off by %.3g of %.3g when more follow", n, diff, size)
		}
	}
}

func TestBadInputsAreNamed(t *testing.T) {
	g := goldens(t)[0]
	p, hp := load(t, g.Config, g.File)
	for want, ids := range map[string][]int{
		"0 tokens, want 1 to n_positions":      {},
		"24 tokens, want 1 to n_positions, 23": make([]int, 24),
		"token 29 at position 1, want 0 to 28": {0, 29},
		"token -1 at position 0, want 0 to 28": {-1},
	} {
		if _, err := GPT2(ids, p, hp); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if _, err := Generate(make([]int, 20), p, hp, 5); err == nil {
		t.Error("20 tokens and 5 new ones: no error in a context of 23")
	}
	if ids, err := Generate(make([]int, 20), p, hp, 4); err != nil || len(ids) != 4 {
		t.Errorf("20 tokens and 4 new ones: %v, %v in a context of 23", ids, err)
	}
}
