package model_test

// Number formats: what each costs in accuracy, and that a saved model is the model.

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/kernels"
	"picogpt/model"
	"picogpt/weights"
)

// TestFormatsKeepTheirBits holds promise 2 for converted weights, saved and loaded again.
func TestFormatsKeepTheirBits(t *testing.T) {
	for turn, name := range slices.Sorted(maps.Keys(shapes)) {
		o := shapes[name]
		config, file := fixture.Checkpoint(o)
		for j, format := range model.Formats() {
			t.Run(name+" as "+format, func(t *testing.T) {
				want := []float32(nil)
				for i, kernel := range cases.Some(kernels.Variants(), 2, turn+j) {
					for _, threads := range cases.Some([]int{1, 2}, 1, i) {
						m := testmodel.New(t, config, file,
							model.Options{Threads: threads, Kernel: kernel, Format: format})
						whole := visit(t, m, []int{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9})
						if want == nil {
							want = whole[14]
						}
						sameBits(t, fmt.Sprint("whole, ", threads, kernel), whole[14], want)
						s := m.NewSession()
						for i, id := range []int{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9} {
							sameBits(t, fmt.Sprint("one by one, ", threads, kernel), eval(t, s, id),
								whole[i])
						}
						saved := save(t, m, config)
						sameBits(t, "saved", eval(t, saved.NewSession(), 3, 1, 4), whole[2])
						if saved.Format() != m.Format() {
							t.Errorf("saved as %s, loaded as %s", m.Format(), saved.Format())
						}
					}
				}
			})
		}
	}
}

// save writes a model to a file and loads it again, as stored.
func save(t *testing.T, m *model.Model, config []byte) *model.Model {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "config.json"), config, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := m.Save(context.Background(), filepath.Join(dir, "model.safetensors")); err != nil {
		t.Fatal(err)
	}
	return testmodel.Open(t, dir, model.Options{})
}

func TestFormatsAreAsCloseAsTheirBits(t *testing.T) {
	cases.NotShort(t)
	exact := testmodel.Demo(t, model.Options{Format: "f32"})
	ids := []int{7454, 2402, 257, 640, 11, 612, 373, 257, 1310}
	want := slices.Clone(eval(t, exact.NewSession(), ids...))
	sameBits(t, "f16, as stored", eval(t, testmodel.Demo(t, model.Options{}).NewSession(), ids...),
		want)
	for format, bound := range map[string]float64{"f16": 0, "bf16": 0.01, "q8": 0.05, "q4": 0.25} {
		got := eval(t, testmodel.Demo(t, model.Options{Format: format}).NewSession(), ids...)
		wrong, square := 0.0, 0.0
		for i, v := range want {
			wrong += math.Pow(float64(v-got[i]), 2)
			square += math.Pow(float64(v), 2)
		}
		if off := math.Sqrt(wrong / square); !(off <= bound) || format != "f16" && off < bound/100 {
			t.Errorf("%s: logits are off by %.3g of their size, want about %g", format, off, bound)
		}
	}
}

// TestASavedModelKeepsAHeadThatIsWTE: config.json says that nothing is tied, and the file has wte
// twice.
func TestASavedModelKeepsAHeadThatIsWTE(t *testing.T) {
	o := fixture.Options{Untied: true}
	m, err := spoil(t, o, func(ts tensors) tensors {
		wte := slices.IndexFunc(ts, func(x weights.Tensor) bool { return x.Name == "wte.weight" })
		return change("lm_head.weight", func(x *weights.Tensor) { x.Data = ts[wte].Data })(ts)
	})
	if err != nil {
		t.Fatal(err)
	}
	saved := save(t, m, fixture.Config(o))
	sameBits(t, "saved", eval(t, saved.NewSession(), 3, 1, 4), eval(t, m.NewSession(), 3, 1, 4))
}

func TestAQuantizedFileIsOnlyWhatItIs(t *testing.T) {
	config, file := fixture.Checkpoint(fixture.Options{})
	q8 := testmodel.New(t, config, file, model.Options{Format: "q8"})
	path := filepath.Join(t.TempDir(), "q8.safetensors")
	if err := q8.Save(context.Background(), path); err != nil {
		t.Fatal(err)
	}
	f, err := weights.Open(os.DirFS(filepath.Dir(path)), filepath.Base(path))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c, err := model.ParseConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"f32", "f16", "q4"} {
		if _, err := model.New(context.Background(), c, f,
			model.Options{Format: format}); err == nil ||
			!strings.Contains(err.Error(), "stored as q8, want ") {
			t.Errorf("%s of a q8 file: error %v", format, err)
		}
	}
	c.Inner = 61 // [15 61] has as many blocks as [15 60]; the bias tells them apart
	if _, err := model.New(context.Background(), c, f, model.Options{}); err == nil ||
		!strings.Contains(err.Error(), "h.0.mlp.c_fc.bias: shape [60], want [61]") {
		t.Errorf("another n_inner: error %v", err)
	}
	c.Inner = 70
	if _, err := model.New(context.Background(), c, f, model.Options{}); err == nil ||
		!strings.Contains(err.Error(), "h.0.mlp.c_fc.weight: type U8 and shape [4 544], want [5 544] for q8 or [5 288] for q4") {
		t.Errorf("another n_inner: error %v", err)
	}
}

// TestAFormatThatCannotHoldAWeightIsRefused: 65519 rounds to binary16's greatest number, 65520 to
// infinity.
func TestAFormatThatCannotHoldAWeightIsRefused(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, c := range []struct {
		format, tensor string
		weight         float32
		want           string // "" where the format holds it
	}{
		{"f16", "h.1.mlp.c_fc.weight", 65519, ""},
		{"f16", "h.1.mlp.c_fc.weight", 65520,
			"h.1.mlp.c_fc.weight: 65520 at [2 7] is too large for f16"},
		{"f16", "h.0.attn.c_attn.weight", -1e38,
			"h.0.attn.c_attn.weight: -1e+38 at [2 7] is too large for f16"},
		{"f16", "wte.weight", 1e6, "wte.weight: 1e+06 at [2 7] is too large for f16"},
		{"f16", "h.1.mlp.c_fc.weight", inf, ""}, // it was infinite before
		{"f16", "h.1.mlp.c_fc.bias", 1e6, ""},   // stays F32
		{"bf16", "h.1.mlp.c_fc.weight", 3.38e38, ""},
		{"bf16", "h.1.mlp.c_fc.weight", math.MaxFloat32,
			"h.1.mlp.c_fc.weight: 3.4028235e+38 at [2 7] is too large for bf16"},
		{"f32", "h.1.mlp.c_fc.weight", math.MaxFloat32, ""},
		{"auto", "h.1.mlp.c_fc.weight", 65520, ""},
	} {
		_, err := spoilAs(t, c.format, fixture.Options{}, change(c.tensor, func(w *weights.Tensor) {
			at := 7
			if len(w.Shape) == 2 {
				at += 2 * w.Shape[1]
			}
			w.Data = slices.Clone(w.Data)
			binary.LittleEndian.PutUint32(w.Data[4*at:], math.Float32bits(c.weight))
		}))
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s as %s: %v, want no error", c.tensor, c.format, err)
		case c.want != "" && (err == nil || err.Error() != c.want):
			t.Errorf("%s as %s: error %v, want %q", c.tensor, c.format, err, c.want)
		}
	}
}

// TestWeightsThatBecomeZerosAreToldOf: all of a tensor is an error, whole blocks and rows, and more
// than one of a thousand in f16, are noted.
func TestWeightsThatBecomeZerosAreToldOf(t *testing.T) {
	const name = "h.1.mlp.c_fc.weight" // [15 60]
	scaled := func(from, to int, by float32) func(tensors) tensors {
		return change(name, func(w *weights.Tensor) {
			w.Data = slices.Clone(w.Data)
			for i := from; i < min(to, len(w.Data)/4); i++ {
				x := math.Float32frombits(binary.LittleEndian.Uint32(w.Data[4*i:]))
				binary.LittleEndian.PutUint32(w.Data[4*i:], math.Float32bits(x*by))
			}
		})
	}
	for _, c := range []struct {
		format   string
		from, to int
		by       float32
		want     string // the error, or the note
	}{
		{"f16", 0, 900, 1e-9, name + ": f16 makes zeros of all weights, of which the largest is "},
		{"q8", 0, 900, 1e-26, name + ": q8 makes zeros of all weights, of which the largest is "},
		{"q4", 0, 900, 1e-26, name + ": q4 makes zeros of all weights, of which the largest is "},
		{"bf16", 0, 900, 1e-26, ""},
		{"f32", 0, 900, 1e-26, ""},
		{"auto", 0, 900, 1e-26, ""},
		{"q8", 0, 900, 0, ""}, // they were zeros before
		{"f16", 0, 900, 0, ""},
		{"f16", 0, 60, 1e-9, "f16 makes zeros of weights that are not zero: 6.7 % of " + name},
		{"f16", 3, 4, 1e-9, "f16 makes zeros of weights that are not zero: 0.11 % of " + name},
		{"bf16", 60, 120, 1e-42, "bf16 makes zeros of weights that are not zero: "},
		{"q8", 3, 4, 1e-26, ""}, // rounding
		{"q4", 0, 60, 1e-26, ""},
		{"q8", 0, 900, 1, ""},
		{"q4", 0, 900, 1, ""},
		{"f16", 0, 900, 1, ""},
	} {
		m, err := spoilAs(t, c.format, fixture.Options{}, scaled(c.from, c.to, c.by))
		got := ""
		if err != nil {
			got = err.Error()
		} else if notes := m.Notes(); len(notes) > 0 {
			got = strings.Join(notes, "|")
		}
		if (got == "") != (c.want == "") || !strings.HasPrefix(got, c.want) ||
			(err != nil) != strings.Contains(c.want, "all weights") {
			t.Errorf("%s of %d to %d by %g: %q, want %q", c.format, c.from, c.to, c.by, got, c.want)
		}
	}
	// A block of one output of many: column 7 of [15 60].
	m, err := spoilAs(t, "q8", fixture.Options{}, change(name, func(w *weights.Tensor) {
		w.Data = slices.Clone(w.Data)
		for in := range 15 {
			binary.LittleEndian.PutUint32(w.Data[4*(in*60+7):], math.Float32bits(1e-30))
		}
	}))
	want := "q8 makes zeros of weights that are not zero: 1 of the blocks of 32 of " + name
	if err != nil || len(m.Notes()) != 1 || m.Notes()[0] != want {
		t.Errorf("%v, want %s", err, want)
	}
	// Many tensors are one sentence.
	m, err = spoilAs(t, "f16", fixture.Options{Scale: 1e-6}, asIs)
	if err != nil || len(m.Notes()) != 1 || !strings.Contains(m.Notes()[0], " more tensors") {
		t.Errorf("%v, want one note", err)
	}
}
