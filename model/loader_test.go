package model_test

// What a checkpoint must hold, and what it may: every refusal is one line that names the tensor.
// Check and New say the same.

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/model"
	"picogpt/weights"
)

type tensors = []weights.Tensor

// spoil makes a checkpoint whose tensors were changed by f.
func spoil(t *testing.T, o fixture.Options, f func(tensors) tensors) (*model.Model, error) {
	t.Helper()
	return spoilAs(t, "auto", o, f)
}

// spoilAs does so, and loads it in another number format.
func spoilAs(
	t *testing.T, format string, o fixture.Options, f func(tensors) tensors,
) (*model.Model, error) {
	t.Helper()
	var b bytes.Buffer
	if err := weights.Write(&b, nil, f(fixture.Tensors(o))); err != nil {
		t.Fatal(err)
	}
	file, err := weights.FromBytes("test", b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	c, err := model.ParseConfig(fixture.Config(o))
	if err != nil {
		t.Fatal(err)
	}
	m, err := model.New(context.Background(), c, file, model.Options{Threads: 1, Format: format})
	if err == nil {
		t.Cleanup(func() { m.Close() })
	}
	return m, err
}

func asIs(ts tensors) tensors { return ts }

func without(name string) func(tensors) tensors {
	return func(ts tensors) tensors {
		return slices.DeleteFunc(ts, func(t weights.Tensor) bool { return t.Name == name })
	}
}

func with(t weights.Tensor) func(tensors) tensors {
	return func(ts tensors) tensors { return append(ts, t) }
}

func change(name string, f func(*weights.Tensor)) func(tensors) tensors {
	return func(ts tensors) tensors {
		for i := range ts {
			if ts[i].Name == name {
				f(&ts[i])
			}
		}
		return ts
	}
}

// zeros returns an F32 tensor.
func zeros(name string, shape ...int) weights.Tensor {
	n := 4
	for _, d := range shape {
		n *= d
	}
	return weights.Tensor{Name: name, DType: weights.F32, Shape: shape, Data: make([]byte, n)}
}

func TestATensorThatIsNotAsWantedIsRefusedByName(t *testing.T) {
	plain, prefixed, untied := fixture.Options{}, fixture.Options{Prefix: true},
		fixture.Options{Untied: true}
	for _, c := range []struct {
		o    fixture.Options
		f    func(tensors) tensors
		want string
	}{
		{plain, without("wte.weight"), "wte.weight: missing, want shape [29 15]"},
		{prefixed, without("transformer.wpe.weight"),
			"transformer.wpe.weight: missing, want shape [23 15]"},
		{plain, without("h.2.mlp.c_fc.bias"), "h.2.mlp.c_fc.bias: missing, want shape [60]"},
		{plain, without("ln_f.weight"), "ln_f.weight: missing, want shape [15]"},
		{untied, without("lm_head.weight"), "lm_head.weight: missing, want shape [29 15], since tie_word_embeddings is false"},
		{plain, change("h.0.attn.c_attn.weight",
			func(t *weights.Tensor) { t.Shape = []int{45, 15} }),
			"h.0.attn.c_attn.weight: shape [45 15], want [15 45]"},
		{plain, change("h.1.ln_2.bias", func(t *weights.Tensor) { t.Shape = []int{15, 1} }),
			"h.1.ln_2.bias: shape [15 1], want [15]"},
		{plain, change("h.1.ln_2.bias", func(t *weights.Tensor) { t.DType = weights.I32 }),
			"h.1.ln_2.bias: type I32, want F32, F16, BF16 or F64"},
		{plain, change("h.1.attn.c_proj.weight", func(t *weights.Tensor) { t.DType = weights.U32 }),
			"h.1.attn.c_proj.weight: type U32, want F32, F16, BF16 or F64"},
		{plain, with(zeros("h.0.attn.q_norm.weight", 5)),
			"h.0.attn.q_norm.weight: unknown tensor in the stack"},
		{plain, with(zeros("h.3.ln_1.weight", 15)),
			"h.3.ln_1.weight: unknown tensor in the stack, want the names of a GPT-2 with n_layer 3"},
		{prefixed, with(zeros("transformer.ln_e.weight", 15)),
			"transformer.ln_e.weight: unknown tensor in the stack"},
		{plain, with(zeros("lm_head.bias", 29)), "lm_head.bias: unknown tensor in the stack"},
		{plain, with(zeros("transformer.wte.weight", 29, 15)),
			"wte.weight: found twice, also as transformer.wte.weight"},
	} {
		if _, err := spoil(t, c.o, c.f); err == nil || !strings.HasPrefix(err.Error(), c.want) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("error %q, want %q", err, c.want)
		}
	}
}

func TestOtherHeadsAndMasksAreIgnoredAndListed(t *testing.T) {
	for _, prefix := range []bool{false, true} {
		plain, err := spoil(t, fixture.Options{Prefix: prefix}, asIs)
		if err != nil {
			t.Fatal(err)
		}
		m, err := spoil(t, fixture.Options{Prefix: prefix, Masks: true, Heads: true}, asIs)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"score.weight", "h.0.attn.bias", "h.2.attn.masked_bias"} {
			if prefix && strings.HasPrefix(name, "h.") {
				name = "transformer." + name
			}
			if !slices.Contains(m.Ignored(), name) {
				t.Errorf("%s is not among the ignored %v", name, m.Ignored())
			}
		}
		if len(plain.Ignored()) != 0 {
			t.Errorf("ignored %v, want none", plain.Ignored())
		}
		sameBits(t, "with other heads", eval(t, m.NewSession(), 1, 2, 3),
			eval(t, plain.NewSession(), 1, 2, 3))
	}
}

// lm_head is used where it differs from wte, whatever the config says of tying, under both its
// names.
func TestAHeadThatDiffersFromWTEWins(t *testing.T) {
	head := zeros("lm_head.weight", 29, 15)
	r := rand.New(rand.NewPCG(3, 3))
	for i := 0; i < len(head.Data); i += 4 {
		head.Data[i+2], head.Data[i+3] = byte(r.Uint32()), 0x3e+byte(r.IntN(2))<<7 // ±0.125 to ±0.5
	}
	tied, err := spoil(t, fixture.Options{}, asIs)
	if err != nil {
		t.Fatal(err)
	}
	untied, err := spoil(t, fixture.Options{}, with(head))
	if err != nil {
		t.Fatal(err)
	}
	head.Name = "lm_head.decoder.weight"
	old, err := spoil(t, fixture.Options{}, with(head))
	if err != nil {
		t.Fatal(err)
	}
	want := eval(t, untied.NewSession(), 1, 2, 3)
	if slices.Equal(want, eval(t, tied.NewSession(), 1, 2, 3)) {
		t.Error("lm_head.weight changes nothing")
	}
	sameBits(t, "lm_head.decoder.weight", eval(t, old.NewSession(), 1, 2, 3), want)
}

func TestStorageDoesNotMatter(t *testing.T) {
	var want []float32
	for _, o := range []fixture.Options{{}, {Prefix: true}, {Shards: 3},
		{Shards: 2, Prefix: true, Masks: true}} {
		dir := t.TempDir()
		if err := fixture.Write(dir, o); err != nil {
			t.Fatal(err)
		}
		m := testmodel.Open(t, dir, model.Options{})
		got := eval(t, m.NewSession(), 5, 4, 3)
		if want == nil {
			want = slices.Clone(got)
		}
		sameBits(t, "stored otherwise", got, want)
	}
}

// TestDoublesAreRoundedToFloats: numbers that are between two of float32's give the nearer one.
func TestDoublesAreRoundedToFloats(t *testing.T) {
	want, err := spoil(t, fixture.Options{Untied: true}, asIs)
	if err != nil {
		t.Fatal(err)
	}
	got, err := spoil(t, fixture.Options{Untied: true}, func(ts tensors) tensors {
		for i := range ts {
			floats, err := ts[i].Float32s()
			if err != nil {
				t.Fatal(err)
			}
			ts[i].DType, ts[i].Data = weights.F64, nil
			for _, x := range floats {
				bits := math.Float64bits(float64(x) * (1 + 0x1p-30))
				ts[i].Data = binary.LittleEndian.AppendUint64(ts[i].Data, bits)
			}
		}
		return ts
	})
	if err != nil {
		t.Fatal(err)
	}
	if got.Format() != "f32" {
		t.Errorf("format %s, want f32", got.Format())
	}
	sameBits(t, "of doubles", eval(t, got.NewSession(), 5, 4, 3), eval(t, want.NewSession(), 5, 4, 3))
}

func TestNewRefusesOptionsThatItDoesNotKnow(t *testing.T) {
	config, bytes := fixture.Checkpoint(fixture.Options{})
	c, err := model.ParseConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	file, err := weights.FromBytes("test", bytes)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []model.Options{{Format: "f64"}, {Kernel: "mmx"}, {Threads: 1 << 30}} {
		if _, err := model.New(context.Background(), c, file, o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}

func TestProgressCountsTheBytesThatAreLoaded(t *testing.T) {
	config, file := fixture.Checkpoint(fixture.Options{})
	var steps int
	var last, all int64
	testmodel.New(t, config, file, model.Options{Threads: 1, Format: "f16",
		Progress: func(done, total int64) {
			if done < last || done > total || total != int64(len(file)) {
				t.Errorf("%d of %d bytes after %d: want it to grow, of %d", done, total, last,
					len(file))
			}
			steps, last, all = steps+1, done, total
		}})
	if steps != len(fixture.Tensors(fixture.Options{})) || last < all/2 {
		t.Errorf("called %d times, at last with %d of %d bytes", steps, last, all)
	}
}

func TestCheckSaysWhatNewSays(t *testing.T) {
	for name, o := range map[string]fixture.Options{
		"plain":   {},
		"f16":     {DType: weights.F16, Prefix: true},
		"bf16":    {DType: weights.BF16},
		"extra":   {Masks: true, Heads: true, Untied: true, Prefix: true},
		"layers":  {Config: map[string]any{"n_layer": 4}},
		"fewer":   {Config: map[string]any{"n_layer": 2}},
		"wide":    {Config: map[string]any{"n_embd": 18}},
		"no head": {Config: map[string]any{"tie_word_embeddings": false}},
	} {
		config, file := fixture.Checkpoint(o)
		c, err := model.ParseConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		tensors, err := weights.FromBytes("blind", file)
		if err != nil {
			t.Fatal(err)
		}
		blind := blinded(t, tensors)
		for about, given := range map[string]*weights.Tensors{"": tensors, ", blind": blind} {
			format, ignored, err := model.Check(c, given)
			m, want := model.New(t.Context(), c, tensors, model.Options{Threads: 1, Headless: true})
			switch {
			case want != nil:
				if err == nil || err.Error() != want.Error() {
					t.Errorf("%s%s: %v, want %v", name, about, err, want)
				}
			case err != nil:
				t.Errorf("%s%s: %v", name, about, err)
			case format != m.Format() || !slices.Equal(ignored, m.Ignored()):
				t.Errorf("%s%s: %s, %v, want %s, %v", name, about, format, ignored, m.Format(),
					m.Ignored())
			}
			if m != nil {
				m.Close()
			}
		}
	}
}

// blinded returns tensors whose elements must not be read.
func blinded(t *testing.T, all *weights.Tensors) *weights.Tensors {
	s := weights.Source{Name: "blind"}
	for _, x := range all.All() {
		x.Data = nil
		x.Fill = func([]byte, int64) error {
			t.Errorf("%s: an element is read", x.Name)
			return nil
		}
		s.Tensors = append(s.Tensors, x)
	}
	blind, err := weights.New(s)
	if err != nil {
		t.Fatal(err)
	}
	return blind
}

func TestCheckKnowsQuantizedModels(t *testing.T) {
	config, file := fixture.Checkpoint(fixture.Options{})
	c, err := model.ParseConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	tensors, err := weights.FromBytes("plain", file)
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"q8", "q4"} {
		m, err := model.New(t.Context(), c, tensors, model.Options{Threads: 1, Format: format})
		if err != nil {
			t.Fatal(err)
		}
		var saved strings.Builder
		if err := m.SaveTo(t.Context(), &saved); err != nil {
			t.Fatal(err)
		}
		m.Close()
		quantized, err := weights.FromBytes(format, []byte(saved.String()))
		if err != nil {
			t.Fatal(err)
		}
		if got, _, err := model.Check(c, blinded(t, quantized)); got != format || err != nil {
			t.Errorf("%s: %s, %v", format, got, err)
		}
	}
}
