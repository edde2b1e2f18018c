package sae_test

// Every architecture and convention against SAELens and TransformerLens: features, sums, losses,
// changes and effects on logits. testdata/make_dictionaries.py has made what is wanted.

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"picogpt/checkpoint"
	"picogpt/inside"
	"picogpt/inside/sae"
	"picogpt/kernels"
	"picogpt/model"
)

// goldens is the manifest of testdata/dictionaries.tar.gz.
type goldens struct {
	IDs   []int
	Cases map[string]struct {
		Hook      string
		HookOut   string `json:"hook_out"`
		Processed bool
		Acts, Out [][]float64
		L0, MSE   float64
		Explained float64
		Losses    []float64
		Edits     []struct {
			Changes [][]any
			Logits  []float64
		}
		Feature int
		Effect  []float64
	}
}

// unpack unpacks the dictionaries into a folder.
func unpack(t testing.TB) (dir string, g goldens) {
	t.Helper()
	file, err := os.Open("testdata/dictionaries.tar.gz")
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
		err = json.Unmarshal(text, &g)
	}
	if err != nil || len(g.Cases) < 20 {
		t.Fatalf("%d cases, %v, want 20 or more", len(g.Cases), err)
	}
	return dir, g
}

// opened returns the small model.
func opened(t testing.TB, dir string, o model.Options) *model.Model {
	t.Helper()
	c, err := checkpoint.Open(filepath.Join(dir, "model"), checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	m, err := model.New(context.Background(), c.Config, c.Tensors, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// reader opens a dictionary of the folder.
func reader(t testing.TB, m *model.Model, dir, name string) *sae.Reader {
	t.Helper()
	d, err := sae.Open(os.DirFS(filepath.Join(dir, name)), false)
	if err != nil {
		t.Fatal(name, err)
	}
	t.Cleanup(func() { d.Close() })
	r, err := d.For(context.Background(), m)
	if err != nil {
		t.Fatal(name, err)
	}
	return r
}

// near compares arrays to 1e-5 of the largest.
func near[T float32 | float64](t *testing.T, what string, got []T, want []float64) {
	t.Helper()
	largest, worst := 0.0, 0.0
	for i, v := range want {
		largest = max(largest, math.Abs(v))
		if i < len(got) {
			worst = max(worst, math.Abs(v-float64(got[i])))
		}
	}
	if len(got) != len(want) || !(worst <= 1e-5*largest) {
		t.Errorf("%s: %d numbers, want %d; off by %.1e of the largest", what, len(got), len(want),
			worst/largest)
	}
}

func TestDictionariesAreThoseOfSAELens(t *testing.T) {
	dir, all := unpack(t)
	m := opened(t, dir, model.Options{Threads: 2})
	ctx := context.Background()
	views := 0
	for name, want := range all.Cases {
		r := reader(t, m, dir, name)
		text, err := r.Read(ctx, all.IDs)
		if err != nil {
			t.Error(name, err)
			continue
		}
		if r.View == inside.TransformerLens {
			views++
		}
		if r.In.String() != want.Hook || r.Out.String() != want.HookOut {
			t.Errorf("%s: reads %s for %s", name, r.In, r.Out)
		}
		for i, row := range want.Acts {
			acts := make([]float64, len(row))
			for k, f := range text.Tokens[i].Features {
				acts[f] = float64(text.Tokens[i].Values[k])
			}
			near(t, name+": features", acts, row)
			near(t, name+": sums", text.Values(i), want.Out[i])
		}
		near(t, name+": l0, mse", []float64{text.Active, text.MSE}, []float64{want.L0, want.MSE})
		near(t, name+": explained variance", []float64{text.Explained}, []float64{want.Explained})
		if r.Out.Kind != model.LN2Normalized {
			l, err := r.Losses(ctx, text)
			if err != nil {
				t.Error(name, err)
				continue
			}
			near(t, name+": losses", []float64{l.Clean, l.Features, l.Ablated}, want.Losses)
			way := want.Losses[2] - want.Losses[0] // Recovered is a share of it
			near(t, name+": loss recovered", []float64{want.Losses[1] + *l.Recovered*way}, want.Losses[2:])
		}
		for i, edit := range want.Edits {
			near(t, name+": edit "+string(rune('0'+i)), changed(t, r, m, all.IDs, edit.Changes), edit.Logits)
		}
		effect, err := r.Effect(ctx, want.Feature)
		if err != nil {
			t.Error(name, err)
		}
		near(t, name+": effect", effect, want.Effect)
	}
	if views < 5 {
		t.Errorf("%d dictionaries of a processed model, want 5 or more", views)
	}
}

// changed returns the last logits, less their mean, with changes in the manifest's form.
func changed(t *testing.T, r *sae.Reader, m *model.Model, ids []int, list [][]any) []float32 {
	t.Helper()
	var changes []sae.Change
	for _, c := range list {
		changes = append(changes, sae.Change{Feature: int(c[0].(float64)), Add: c[1].(bool),
			To: float32(c[2].(float64))})
	}
	edits, err := r.Edits(changes...)
	if err != nil {
		t.Error(err)
		return nil
	}
	s := m.NewSession()
	defer s.Release()
	err = m.Eval(context.Background(), model.Input{Session: s, Tokens: ids, Trace: model.Editing(edits)})
	if err != nil {
		t.Error(err)
		return nil
	}
	logits := slices.Clone(s.Logits())
	inside.Affine{Centred: true}.View(logits, logits)
	return logits
}

// TestFeaturesHaveTheSameBits: whatever kernel and threads there are, and in a longer text.
func TestFeaturesHaveTheSameBits(t *testing.T) {
	dir, all := unpack(t)
	ctx := context.Background()
	for _, name := range []string{"gated-centred", "topk-rescaled", "old-z", "transcoder-folded"} {
		base := opened(t, dir, model.Options{Threads: 1})
		want, err := reader(t, base, dir, name).Read(ctx, all.IDs)
		if err != nil {
			t.Fatal(err)
		}
		for i, kernel := range kernels.Variants() {
			m := opened(t, dir, model.Options{Threads: 1 + i%3, Kernel: kernel})
			r := reader(t, m, dir, name)
			got, err := r.Read(ctx, append(slices.Clone(all.IDs), 4, 4))
			if err != nil {
				t.Fatal(err)
			}
			for k := range want.Tokens {
				a, b := want.Tokens[k], got.Tokens[k]
				if !slices.Equal(a.Features, b.Features) || !slices.Equal(a.Values, b.Values) ||
					a.Error != b.Error || !slices.Equal(want.Values(k), got.Values(k)) {
					t.Errorf("%s, %s: token %d has other bits", name, kernel, k)
				}
			}
		}
	}
}

// rewritten returns the folder of a dictionary with other files.
func rewritten(t *testing.T, dir, name string, config func(string) string, weights func([]byte) []byte) string {
	t.Helper()
	to := t.TempDir()
	for file, change := range map[string]func([]byte) []byte{sae.WeightsFile: weights,
		sae.ConfigFile: func(b []byte) []byte { return []byte(config(string(b))) }} {
		b, err := os.ReadFile(filepath.Join(dir, name, file))
		if err == nil {
			if b = change(b); b != nil {
				err = os.WriteFile(filepath.Join(to, file), b, 0o666)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return to
}

func TestWrongDictionariesAreToldInALine(t *testing.T) {
	dir, all := unpack(t)
	m := opened(t, dir, model.Options{Threads: 1})
	same := func(b []byte) []byte { return b }
	nan := func(b []byte) []byte {
		b = slices.Clone(b)
		copy(b[len(b)-4*(1+8+40):], []byte{0, 0, 0xc0, 0x7f}) // W_enc stands before b_dec and b_enc
		return b
	}
	for _, c := range []struct {
		of, old, with string
		weights       func([]byte) []byte
		want          string
	}{
		{"standard", `"standard"`, `"temporal"`, same, `architecture: "temporal", want gated, jumprelu`},
		{"standard", `{`, ``, same, "cfg.json"},
		{"standard", `"d_in": 8`, `"d_in": 9`, same, "W_dec: shape [40 8], want [40 9]"},
		{"standard", "blocks.1.", "blocks.2.", same, "layers 0 to 1"},
		{"standard", "hook_resid_pre", "mlp.hook_post", same, "d_in 8 and d_out 8, want 32 and 32"},
		{"standard", "hook_resid_pre", "attn.hook_pattern", same, "a vector for each token"},
		{"standard", "hook_resid_pre", "hook_resid_prr", same, "did you mean blocks.1.hook_resid_pre?"},
		{"standard", "", "", func(b []byte) []byte { return b[:len(b)-1] }, "bytes"},
		{"standard", "", "", func(b []byte) []byte { return nil }, "no such file"},
		{"standard", "", "", nan, "is not finite: its weights"},
		{"standard", "", "", func(b []byte) []byte { // W_dec, the first tensor
			b = slices.Clone(b)
			for i := len(b) - 4*(8+40+8*40+8*30); i < len(b)-4*(8+40+8*40); i += 4 {
				copy(b[i:], []byte{0, 0, 0x80, 0x7f})
			}
			return b
		}, "the sum of features is not finite"},
		{"standard", `"normalize_activations": "none"`, `"normalize_activations": "rms"`, same,
			`normalize_activations: "rms"`},
		{"standard", `"metadata": {`, `"metadata": {"hook_head_index": 1, `, same, `hook_head_index: "a head", want null`},
		{"standard", `"metadata": {`, `"metadata": {"model_from_pretrained_kwargs": {"refactor": true}, `, same,
			`model_from_pretrained_kwargs: "refactor"`},
		{"standard-z", `"metadata": {`, `"metadata": {"model_from_pretrained_kwargs": {"fold_ln": true}, `, same,
			"want both or none"},
		{"standard", `"architecture": "standard"`, `"architecture": "gated"`, same, "not of the architecture gated"},
		{"topk", `"k": 5`, `"k": 41`, same, `k: "41", want 1 to d_sae`},
		{"transcoder", `"apply_b_dec_to_input": false`, `"apply_b_dec_to_input": true`, same, "apply_b_dec_to_input"},
		{"transcoder", `hook_name_out`, `other`, same, "hook_name_out"},
		{"old-gated", "relu", "tanh-relu", same, `activation_fn: "tanh-relu", want relu`},
		{"old-gated", "", "", func(b []byte) []byte { // scaling_factor is the last tensor
			b = slices.Clone(b)
			copy(b[len(b)-4:], []byte{0, 0, 0, 0x40})
			return b
		}, "scaling_factor (finetuning_scaling_factor): want all 1"},
	} {
		folder := rewritten(t, dir, c.of, func(s string) string {
			return strings.Replace(s, c.old, c.with, 1)
		}, c.weights)
		d, err := sae.Open(os.DirFS(folder), false)
		var r *sae.Reader
		if err == nil {
			defer d.Close()
			if r, err = d.For(context.Background(), m); err == nil {
				_, err = r.Read(context.Background(), all.IDs)
			}
			if strings.HasPrefix(c.want, "the sum") {
				if _, wrong := r.Effect(context.Background(), 39); !errors.Is(wrong, inside.ErrNonFinite) {
					t.Errorf("the effect of a direction that is not finite: %v", wrong)
				}
			}
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s with %s: error %v, want %q", c.of, c.with, err, c.want)
		}
	}
	for name, change := range map[string]sae.Change{"topk": {Feature: 1}, "old-topk": {Feature: 1, Add: true},
		"standard-norm": {Feature: 2}, "gated": {Feature: 40}, "standard": {Feature: -1}} {
		if edits, err := reader(t, m, dir, name).Edits(change); err == nil {
			t.Errorf("%s: edits %v, want an error", name, edits)
		}
	}
	r, one := reader(t, m, dir, "jumprelu"), sae.Change{Feature: 3, To: 1}
	if _, err := r.Edits(one, sae.Change{Feature: 3, To: 2}); err == nil || !strings.Contains(err.Error(), "two values") {
		t.Errorf("a feature that becomes 1 and 2: %v", err)
	}
	if _, err := r.Edits(one, sae.Change{Feature: 2}, sae.Change{Feature: 3, Add: true, To: 1}); err != nil {
		t.Error(err)
	}
}

func TestStrongest(t *testing.T) {
	text := func(values ...float32) *sae.Text {
		x := &sae.Text{}
		for i, v := range values {
			x.IDs = append(x.IDs, 100+i)
			x.Tokens = append(x.Tokens, sae.Token{})
			if v > 0 {
				x.Tokens[i] = sae.Token{Features: []int{3, 7}, Values: []float32{9, v}}
			}
		}
		return x
	}
	s := sae.NewStrongest(3, 7, 4)
	s.Add(1, 0, 0, text(0, 2, 1, 0))
	b, err := json.Marshal(s) // as a run that continues has it
	var again sae.Strongest
	if err == nil {
		err = json.Unmarshal(b, &again)
	}
	if err != nil {
		t.Fatal(err)
	}
	again.Add(5, 0, 1, text(8, 3, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 3))
	f := again.Features[0]
	var places [][2]int
	for _, p := range f.Places {
		places = append(places, [2]int{p.Line, p.At})
		if p.Context[p.Token] != 100+p.At+p.Line/5 {
			t.Errorf("context %v of token %d", p.Context, p.At)
		}
	}
	if f.Tokens != 18 || f.Active != 6 || !slices.Equal(places, [][2]int{{5, 0}, {5, 13}, {1, 1}}) ||
		len(again.Features[1].Places) != 0 {
		t.Errorf("%+v", again)
	}
}

func TestExplanations(t *testing.T) {
	all, err := sae.ReadExplanations(strings.NewReader(`{"modelId":"gpt2-small","layer":"6-res-jb","index":"3","description":" dogs "}

{"index":0,"description":"cats"}
{"index":"3","description":"others"}
`))
	if err != nil || len(all) != 2 || all[3] != "dogs" || all[0] != "cats" {
		t.Errorf("%v, %v", all, err)
	}
	for text, want := range map[string]string{"{}": "explanation 1: ", `{"index":1} {"index":"x"}`: "explanation 2",
		"\nx": "explanation 1: invalid character"} {
		if _, err := sae.ReadExplanations(strings.NewReader(text)); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
