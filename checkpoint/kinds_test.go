// Every kind of adapter against PEFT in float64.

package checkpoint_test

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"picogpt/checkpoint"
	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/model"
	"picogpt/weights"
)

// peftKinds is the manifest of testdata/kinds.tar.gz, which make_kinds.py has made.
type peftKinds struct {
	IDs   []int
	Cases map[string]struct {
		Base    string
		Combine string
		Logits  [][]float64
	}
}

// unpackKinds unpacks the adapters into a folder.
func unpackKinds(t *testing.T) (dir string, k peftKinds) {
	t.Helper()
	file, err := os.Open("testdata/kinds.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	for files := tar.NewReader(unzipped); ; {
		header, err := files.Next()
		if err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, filepath.FromSlash(header.Name))
		data, err := io.ReadAll(files)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(path), 0o777)
		}
		if err == nil {
			err = os.WriteFile(path, data, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(dir + "/manifest.json")
	if err == nil {
		err = json.Unmarshal(text, &k)
	}
	if err != nil || len(k.Cases) < 84 {
		t.Fatalf("%d cases, %v, want 84 or more", len(k.Cases), err)
	}
	return dir, k
}

// TestEveryKindOfAdapterAgreesWithPEFT: the logits at every position, and those of a session that
// was forked and cut, to 1e-5 of the largest.
func TestEveryKindOfAdapterAgreesWithPEFT(t *testing.T) {
	dir, all := unpackKinds(t)
	for name, want := range all.Cases {
		o := checkpoint.Options{Adapters: []checkpoint.Adapter{{Path: filepath.Join(dir, name)}}}
		if o.Combine = want.Combine; o.Combine != "" {
			one, two := 0.7, -0.4
			o.Adapters = []checkpoint.Adapter{{filepath.Join(dir, "one"), &one},
				{filepath.Join(dir, "two"), &two}}
		}
		c, m := opened(t, filepath.Join(dir, want.Base), o)
		largest, worst := 0.0, 0.0
		for _, row := range want.Logits {
			largest = max(largest, slices.Max(row), -slices.Min(row))
		}
		got := logits(t, m, all.IDs)
		for i, row := range want.Logits {
			for j, x := range row {
				worst = max(worst, math.Abs(float64(got[i][j])-x)/largest)
			}
		}
		if !(worst <= 1e-5) {
			t.Errorf("%s: %.1e of the largest logit apart, want 1e-5", name, worst)
		}
		virtual := strings.HasPrefix(name, "p-t") || strings.HasPrefix(name, "pr") || name == "cpt" ||
			name == "cartridge"
		if (m.VirtualTokens() > 0) != virtual || m.Config().Positions != 16-m.VirtualTokens() {
			t.Errorf("%s: %d virtual tokens, %d positions", name, m.VirtualTokens(), m.Config().Positions)
		}
		sameAfterForks(t, name, m, all.IDs, got)
		if want.Combine == "" {
			sameAsVariant(t, name, filepath.Join(dir, want.Base), o.Adapters[0], all.IDs, got)
		}
		c.Close()
	}
}

// sameAfterForks compares the logits of one session with those of forks, of what is left of a longer
// session, and of a session that was released: the same bits.
func sameAfterForks(t *testing.T, name string, m *model.Model, ids []int, want [][]float32) {
	t.Helper()
	eval := func(s *model.Session, ids ...int) {
		if err := m.Eval(t.Context(), model.Input{Session: s, Tokens: ids}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	s := m.NewSession()
	eval(s, ids[:4]...)
	f := s.Fork(2)
	eval(f, ids[2:5]...)
	s.Truncate(1)
	eval(s, ids[1:5]...)
	s.Release()
	eval(s, ids[:5]...)
	g := m.NewSession()
	g.Take(f)
	eval(f, ids[:5]...)
	for _, s := range []*model.Session{s, f, g} {
		if !slices.Equal(s.Logits(), want[4]) {
			t.Errorf("%s: other bits after forks", name)
		}
	}
}

// sameAsVariant compares the logits with those of a variant of the base: the same bits, unless the
// adapter has to be the only one, as virtual tokens have.
func sameAsVariant(
	t *testing.T, name, base string, a checkpoint.Adapter, ids []int, want [][]float32,
) {
	t.Helper()
	c, m := opened(t, base, checkpoint.Options{})
	defer c.Close()
	with, err := c.With(a)
	if err != nil {
		wantText(t, err, "it has to be the server's only one")
		return
	}
	defer with.Close()
	v, err := m.Variant(t.Context(), with.Change)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for i, row := range logits(t, v, ids) {
		if !slices.Equal(row, want[i]) {
			t.Errorf("%s: as a variant it has other bits at %d", name, i)
		}
	}
}

// TestWhatVirtualTokensRefuse, each in one line that names them.
func TestWhatVirtualTokensRefuse(t *testing.T) {
	dir, all := unpackKinds(t)
	with := func(adapters ...string) checkpoint.Options {
		o := checkpoint.Options{}
		for _, name := range adapters {
			o.Adapters = append(o.Adapters, checkpoint.Adapter{Path: filepath.Join(dir, name)})
		}
		return o
	}
	for _, pair := range [][]string{{"prompt", "prompt"}, {"prefix", "one"}, {"one", "prompt"}, {"dora", "ia3"}} {
		_, err := checkpoint.Open(filepath.Join(dir, "tied"), with(pair...))
		wantText(t, err, "want adapters of one peft_type, and at most one of virtual tokens")
	}
	half := 0.5
	_, err := checkpoint.Open(filepath.Join(dir, "tied"), checkpoint.Options{
		Adapters: []checkpoint.Adapter{{Path: filepath.Join(dir, "prompt"), Scale: &half}}})
	wantText(t, err, "scale 0.5 of virtual tokens, want none")
	for _, name := range []string{"prompt", "prefix"} {
		c, m := opened(t, filepath.Join(dir, "tied"), with(name))
		_, err = c.Convert("safetensors")
		wantText(t, err, "4 virtual tokens of an adapter: no format holds them")
		wantText(t, m.Save(t.Context(), filepath.Join(t.TempDir(), "x")), "virtual tokens")
		s := m.NewSession()
		wantText(t, s.Save(t.Context(), io.Discard), "virtual tokens")
		edit := model.Edit{At: model.Point{Kind: model.ResidPre}, Op: model.Scale, Head: model.AllHeads,
			Values: []float32{1}}
		wantText(t, m.Eval(t.Context(), model.Input{Session: s, Tokens: all.IDs,
			Trace: model.Editing([]model.Edit{edit})}), "virtual tokens")
		_, err = model.New(t.Context(), c.Config, c.Tensors, model.Options{Edits: []model.Edit{edit}})
		wantText(t, err, "virtual tokens")
		long := slices.Repeat([]int{1}, 13)
		wantText(t, m.Eval(t.Context(), model.Input{Session: s, Tokens: long}), "want at most 12")
		if err := m.Eval(t.Context(), model.Input{Session: s, Tokens: long[:12]}); err != nil {
			t.Error(err)
		}
		m, err := model.New(t.Context(), c.Config, c.Tensors, model.Options{CacheFormat: "f16"})
		if err == nil {
			defer m.Close()
		}
		if name == "prefix" {
			wantText(t, err, "cache format f16, want f32")
		} else if err != nil {
			t.Error(err)
		}
	}
}

// TestARankThatTheFileDoesNotHave is refused before there is memory for it.
func TestARankThatTheFileDoesNotHave(t *testing.T) {
	const module = peft + "transformer.h.0.mlp.c_fc"
	dir, l := write(t, fixture.Options{}, nil), newLora(2, 4, weights.F32)
	l.config = map[string]any{"peft_type": "GRALORA", "target_modules": ".*", "r": 2, "gralora_k": 1,
		"hybrid_r": math.MaxInt32}
	l.add(module+".gralora_A", 1, 15, 2)
	l.add(module+".gralora_B", 1, 2, 60)
	with := func() checkpoint.Options {
		return checkpoint.Options{Adapters: []checkpoint.Adapter{{Path: l.write(t)}}}
	}
	_, err := checkpoint.Open(dir, with())
	wantText(t, err, "its gralora_A_general is missing")
	l.add(module+".gralora_A_general.weight", 2, 15)
	_, err = checkpoint.Open(dir, with())
	wantText(t, err, "shape [2 15], want [2147483647 15]")
}

// TestKindsAtRealWidths: matrices of GPT-2's shapes, which are made in many parts, against each kind's
// formula in float64.
func TestKindsAtRealWidths(t *testing.T) {
	cases.NotShort(t)
	const n, rank = 768, 2
	shape := fixture.Options{Embd: n, Head: 12, Layer: 1, Vocab: 900}
	dir := write(t, shape, nil)
	before, err := checkpoint.Open(dir, checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer before.Close()
	const up, down = "transformer.h.0.mlp.c_fc", "transformer.h.0.mlp.c_proj"
	// Of a module's weight w [in, out] the product BA of the halves [in, out], and other tensors.
	type formula = func(w, ba []float64, in, out int, get func(name string) []float64) []float64
	for kind, c := range map[string]struct {
		config map[string]any
		add    func(l *lora, module string, in, out int)
		want   formula
	}{
		"DoRA": {map[string]any{"peft_type": "LORA", "r": rank, "lora_alpha": 4, "use_dora": true},
			func(l *lora, module string, in, out int) {
				l.pair(module, rank, in, out)
				l.add(peft+module+".lora_magnitude_vector", out)
			}, func(w, ba []float64, in, out int, get func(string) []float64) []float64 {
				x, m, norms := make([]float64, len(w)), get(".lora_magnitude_vector"), make([]float64, out)
				for i := range w {
					x[i] = w[i] + 2*ba[i]
					norms[i%out] += x[i] * x[i]
				}
				for i := range x {
					x[i] *= m[i%out] / math.Sqrt(norms[i%out])
				}
				return x
			}},
		"IA3": {map[string]any{"peft_type": "IA3", "feedforward_modules": []string{"c_proj"}},
			func(l *lora, module string, in, out int) {
				if module == down {
					l.add(peft+module+".ia3_l", 1, in)
				} else {
					l.add(peft+module+".ia3_l", out, 1)
				}
			}, func(w, _ []float64, in, out int, get func(string) []float64) []float64 {
				x := slices.Clone(w)
				for i := range x {
					if in > out {
						x[i] *= get(".ia3_l")[i/out]
					} else {
						x[i] *= get(".ia3_l")[i%out]
					}
				}
				return x
			}},
		"HiRA": {map[string]any{"peft_type": "HIRA", "r": rank},
			func(l *lora, module string, in, out int) {
				l.pair(module, rank, in, out)
				for i, name := range l.names {
					was := l.data[name]
					was.Name = strings.Replace(strings.Replace(name, "lora_", "hira_", 1), ".weight", "", 1)
					l.names[i], l.data[was.Name] = was.Name, was
				}
			}, func(w, ba []float64, _, _ int, _ func(string) []float64) []float64 {
				x := slices.Clone(w)
				for i := range x {
					x[i] += w[i] * ba[i]
				}
				return x
			}},
		"DEFT": {map[string]any{"peft_type": "DEFT", "r": rank, "para": true},
			func(l *lora, module string, _, out int) { l.add(peft+module+".deft_P", out, rank) },
			func(w, _ []float64, in, out int, get func(string) []float64) []float64 {
				x, p := slices.Clone(w), get(".deft_P")
				for i := range in {
					for k := range rank {
						sum := 0.0
						for o := range out {
							sum += max(p[o*rank+k], 0) * w[i*out+o]
						}
						for o := range out {
							x[i*out+o] -= p[o*rank+k] * sum
						}
					}
				}
				return x
			}},
	} {
		for module, sizes := range map[string][2]int{up: {n, 4 * n}, down: {4 * n, n}} {
			l, in, out := newLora(rank, 4, weights.F32), sizes[0], sizes[1]
			l.config = c.config
			l.config["target_modules"] = ".*"
			c.add(l, module, in, out)
			ba := make([]float64, in*out)
			if l.values[peft+module+".lora_A.weight"] != nil {
				ba = l.delta(module, rank, in, out, true)
			}
			after, err := checkpoint.Open(dir, checkpoint.Options{
				Adapters: []checkpoint.Adapter{{Path: l.write(t)}}})
			if err != nil {
				t.Fatal(err)
			}
			name := strings.TrimPrefix(module, "transformer.") + ".weight"
			w, got := float64s(t, before.Tensors, name), float64s(t, after.Tensors, name)
			want := c.want(w, ba, in, out, func(name string) []float64 { return l.values[peft+module+name] })
			largest, worst := 0.0, 0.0
			for i := range want {
				largest, worst = max(largest, math.Abs(want[i])), max(worst, math.Abs(want[i]-got[i]))
			}
			if !(worst <= 1e-6*largest) {
				t.Errorf("%s of %s: %.1e of the largest apart, want 1e-6", kind, module, worst/largest)
			}
			after.Close()
		}
	}
}

// float64s returns the elements of a tensor.
func float64s(t *testing.T, of *weights.Tensors, name string) []float64 {
	t.Helper()
	tensor, _ := of.Tensor(name)
	x, err := tensor.Float32s()
	if err != nil || len(x) == 0 {
		t.Fatalf("%s: %d elements, %v", name, len(x), err)
	}
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}
