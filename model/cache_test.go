package model_test

// A cache of keys and values in 16 or 8 bits: the same bits everywhere, the numbers that the definition
// wants, less memory, and what it cannot hold.

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"picogpt/check/reference"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/kernels"
	"picogpt/model"
	"picogpt/weights"
)

// tinyKV is a checkpoint whose keys and values are so small that binary16 has few steps for them:
// rounding them is far from nothing. What follows them is as much larger: in float32 the model
// computes what it did.
func tinyKV(t *testing.T, o fixture.Options) (config, file []byte) {
	t.Helper()
	const embd, up, down = 15, 0x1p22, 0x1p-22 // the least step is 2⁻²⁴
	ts := fixture.Tensors(o)
	for _, h := range []string{"h.0.", "h.1.", "h.2."} {
		for _, name := range []string{"attn.c_attn.weight", "attn.c_attn.bias"} {
			ts = times(h+name, up, 0, embd, 3*embd)(ts)
			ts = times(h+name, down, embd, 3*embd, 3*embd)(ts)
		}
		ts = times(h+"attn.c_proj.weight", up, 0, 1, 1)(ts)
	}
	return fixture.Config(o), tensorBytes(t, ts)
}

// refer returns the reference's logits after each of the ids, in float64: as they are, and with keys
// and values rounded to a format of the cache.
func refer(t *testing.T, config, file []byte, ids []int, cache string) (plain, rounded *reference.Matrix) {
	t.Helper()
	f, err := weights.FromBytes("test", file)
	if err != nil {
		t.Fatal(err)
	}
	hp, err := reference.ParseHParams(config)
	if err != nil {
		t.Fatal(err)
	}
	p, err := reference.FromTensors(hp, fixture.Tensors64(f))
	if err != nil {
		t.Fatal(err)
	}
	plain, err = reference.GPT2(ids, p, hp)
	if err != nil {
		t.Fatal(err)
	}
	hp.Cache = cache
	rounded, err = reference.GPT2(ids, p, hp)
	if err != nil {
		t.Fatal(err)
	}
	return plain, rounded
}

// The reference, in float64, is told to round keys and values; and it disagrees by far if it does
// not, so that the rounded numbers must have been read everywhere.
func TestACacheInF16AgreesWithTheReference(t *testing.T) {
	o := fixture.Options{Positions: 100, Seed: 3}
	config, file := tinyKV(t, o)
	ids := tokens(rand.New(rand.NewPCG(3, 4)), 80, 29)
	plain, rounded := refer(t, config, file, ids, "f16")
	inF16 := testmodel.New(t, config, file, model.Options{Threads: 2, CacheFormat: "f16"})
	inF32 := testmodel.New(t, config, file, model.Options{Threads: 2, CacheFormat: "f32"})
	byDefault := testmodel.New(t, config, file, model.Options{Threads: 1})
	f16, f32, zero := visit(t, inF16, ids), visit(t, inF32, ids), visit(t, byDefault, ids)
	for i := range ids {
		checkLogits(t, f16[i], rounded.Row(i))
		checkLogits(t, f32[i], plain.Row(i))
		sameBits(t, "the default", zero[i], f32[i])
		if apart := distance(f16[i], plain.Row(i)); apart < 5e-3 {
			t.Errorf("position %d: rounding changes the logits by %g of the largest: nothing is shown",
				i, apart)
		}
	}
}

// The same of a cache in Q8, with one layer. A float64 and a float32 may be rounded to different
// integers; in a second layer all numbers would then differ a little, and more integers.
func TestACacheInQ8AgreesWithTheReference(t *testing.T) {
	o := fixture.Options{Positions: 100, Embd: 96, Head: 2, Layer: 1, Seed: 3}
	config, file := fixture.Checkpoint(o)
	ids := tokens(rand.New(rand.NewPCG(3, 4)), 80, 29)
	plain, rounded := refer(t, config, file, ids, "q8")
	inQ8 := visit(t, testmodel.New(t, config, file, model.Options{Threads: 2, CacheFormat: "q8"}), ids)
	for i := range ids {
		checkLogits(t, inQ8[i], rounded.Row(i))
		if apart := distance(inQ8[i], plain.Row(i)); apart < 1e-3 {
			t.Errorf("position %d: rounding changes the logits by %g of the largest: nothing is shown",
				i, apart)
		}
	}
}

// distance is the largest difference as a part of the largest logit.
func distance(got []float32, want []float64) float64 {
	worst, largest := 0.0, 0.0
	for i, v := range want {
		worst, largest = max(worst, math.Abs(float64(got[i])-v)), max(largest, math.Abs(v))
	}
	return worst / largest
}

// GPT-2's shape: 20 MB for 1,024 tokens, beside 75 in F32.
func TestACacheInQ8TakesAQuarterOfTheMemory(t *testing.T) {
	c := model.Config{Embd: 768, Head: 12, Layer: 12}
	f32, q8 := c.CacheBytes("f32", 1024), c.CacheBytes("q8", 1024)
	if f32 != 75497472 || q8 != 20643840 {
		t.Errorf("1,024 tokens take %d bytes in f32 and %d in q8", f32, q8)
	}
	config, file := fixture.Checkpoint(fixture.Options{Positions: 300, Embd: 64, Head: 1})
	m := testmodel.New(t, config, file, model.Options{CacheFormat: "q8"})
	if m.CacheFormat() != "q8" {
		t.Errorf("a cache in %s", m.CacheFormat())
	}
	for _, n := range []int{1, 32, 33, 64, 65, 200} {
		s := m.NewSession()
		eval(t, s, make([]int, n)...)
		room := (n + 31) / 32 * 32
		if want := int64(3 * 140 * room); s.Bytes() != want || m.CacheBytes() != want ||
			m.SessionBytes(n) < want {
			t.Errorf("%d tokens take %d bytes, of all sessions %d, want %d", n, s.Bytes(),
				m.CacheBytes(), want)
		}
		s.Release()
	}
}

func TestACacheInF16TakesHalfOfTheMemory(t *testing.T) {
	config, file := fixture.Checkpoint(fixture.Options{Positions: 300})
	in := func(format string, most int64) *model.Model {
		return testmodel.New(t, config, file, model.Options{CacheFormat: format, CacheBytes: most})
	}
	f32, f16 := in("f32", 0), in("f16", 0)
	if f32.CacheFormat() != "f32" || f16.CacheFormat() != "f16" || in("", 0).CacheFormat() != "f32" {
		t.Errorf("caches in %s, %s, %s", f32.CacheFormat(), f16.CacheFormat(),
			in("", 0).CacheFormat())
	}
	for _, n := range []int{1, 8, 9, 30, 64, 65, 200} {
		a, b := f32.NewSession(), f16.NewSession()
		eval(t, a, make([]int, n)...)
		eval(t, b, make([]int, n)...)
		if a.Bytes() != 2*b.Bytes() || f32.CacheBytes() != 2*f16.CacheBytes() || b.Bytes() == 0 {
			t.Errorf("%d tokens: %d and %d bytes, of all sessions %d and %d", n, a.Bytes(),
				b.Bytes(), f32.CacheBytes(), f16.CacheBytes())
		}
		a.Release()
		b.Release()
	}
	const page = 2 * 3 * 15 * 64 * 2 // keys and values, layers, width, positions, bytes
	s := in("f16", 2*page).NewSession()
	eval(t, s, make([]int, 128)...)
	err := s.Model().Eval(context.Background(), model.Input{Session: s, Tokens: []int{1}})
	if !errors.Is(err, model.ErrCacheFull) {
		t.Errorf("the third page: error %v, want ErrCacheFull", err)
	}
}

// One number of a key or a value, of one token of a text. The error names the token's position.
func TestBeyond65504IsAnErrorOfItsPosition(t *testing.T) {
	const embd, bad = 15, 7
	weight := func(column int, by float64) []byte { // only token 7 has a large first input
		ts := fixture.Tensors(longer)
		for _, change := range []func(tensors) tensors{
			times("wpe.weight", 0, 0, 1, 1), times("h.0.ln_1.weight", 0, 0, 1, 1),
			times("h.0.ln_1.bias", 0, 0, 1, 1), plant("h.0.ln_1.weight", 0, 1),
			times("wte.weight", 0, 0, 1, embd), plant("wte.weight", bad*embd, 1000),
			plant("h.0.attn.c_attn.weight", column, by),
		} {
			ts = change(ts)
		}
		return tensorBytes(t, ts)
	}
	input := math.Sqrt(embd - 1) // of that token, after ln_1: the others have less than 1.5
	for _, column := range []int{embd, 2*embd - 1, 2 * embd, 3*embd - 1} {
		for _, c := range []struct {
			number float64
			format string
			fails  bool
		}{{65500, "f16", false}, {65540, "f16", true}, {-65540, "f16", true},
			{65540, "f32", false}, {1e9, "f32", false}} {
			file := weight(column, c.number/input)
			for _, kernel := range kernels.Variants() {
				m := testmodel.New(t, fixture.Config(longer), file,
					model.Options{Threads: 2, Kernel: kernel, CacheFormat: c.format})
				what := fmt.Sprintf("%v in column %d, %s, %s", c.number, column, c.format, kernel)
				other := m.NewSession()
				eval(t, other, 1, 2)
				s := m.NewSession()
				eval(t, s, 1, 2, 3)
				err := m.Eval(context.Background(), model.Input{Session: other, Tokens: []int{3}},
					model.Input{Session: s, Tokens: []int{4, bad, 5}, Visit: func(model.Row) {}})
				var in *model.InputError
				var at *model.NonFiniteError
				switch {
				case !c.fails && err != nil:
					t.Errorf("%s: %v", what, err)
				case c.fails && (!errors.As(err, &in) || !errors.As(err, &at) || in.Input != 1 ||
					at.Position != 4 || s.Len() != 3 || other.Len() != 2):
					t.Errorf("%s: error %v with %d and %d tokens, want a NonFiniteError of input 1 "+
						"after position 4, and 3 and 2 tokens", what, err, s.Len(), other.Len())
				}
				m.Close()
			}
		}
	}
}

func TestACacheFormatThatIsNoneIsNamed(t *testing.T) {
	config, file := fixture.Checkpoint(fixture.Options{})
	c, err := model.ParseConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	f, err := weights.FromBytes("test", file)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"q4", "bf16", "auto", "F16", "half"} {
		m, err := model.New(context.Background(), c, f, model.Options{CacheFormat: name})
		want := fmt.Sprintf("cache format: %q, want one of f32, f16, q8", name)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
		if err == nil {
			m.Close()
		}
	}
}
