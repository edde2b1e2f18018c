package inside_test

// Tuned lenses beside a plain computation, the files that are refused, and files of any bytes.

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/inside"
	"picogpt/internal/torch"
	"picogpt/model"
	"picogpt/weights"
)

// A tunedFile is a lens as it is published: [n_layer], a matrix [out][in] and a bias.
type tunedFile struct {
	config string
	a      [][]float32
	b      [][]float32
}

func newTunedFile(layers, embd int) *tunedFile {
	r := rand.New(rand.NewPCG(5, 6))
	f := &tunedFile{config: fmt.Sprintf(`{"base_model_name_or_path": "x", "d_model": %d,
		"num_hidden_layers": %d, "bias": true, "lens_type": "linear_tuned_lens"}`, embd, layers)}
	for range layers {
		a, b := make([]float32, embd*embd), make([]float32, embd)
		for i := range a {
			a[i] = float32(r.NormFloat64()) / 4
		}
		for i := range b {
			b[i] = float32(r.NormFloat64())
		}
		f.a, f.b = append(f.a, a), append(f.b, b)
	}
	return f
}

// write writes the folder of the lens.
func (f *tunedFile) write(t testing.TB) string {
	t.Helper()
	dir, dict := t.TempDir(), torch.Members{}
	for i := range f.a {
		n := len(f.b[i])
		for name, x := range map[string][]float32{"weight": f.a[i], "bias": f.b[i]} {
			shape := []int{n, n}
			if name == "bias" {
				shape = shape[:1]
			}
			name = fmt.Sprintf("%d.%s", i, name)
			var data bytes.Buffer
			binary.Write(&data, binary.LittleEndian, x)
			dict = append(dict, torch.Member{Key: name, Value: weights.Tensor{Name: name,
				DType: weights.F32, Shape: shape, Data: data.Bytes()}})
		}
	}
	var params bytes.Buffer
	if err := torch.Write(&params, dict); err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{"config.json": []byte(f.config), "params.pt": params.Bytes()} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestTunedLensIsThePlainComputation(t *testing.T) {
	config, file := fixture.Checkpoint(fixture.Options{Seed: 9})
	m := testmodel.New(t, config, file, model.Options{Threads: 2})
	c, ids := m.Config(), []int{3, 1, 4, 1, 5}
	f := newTunedFile(c.Layer, c.Embd)
	tuned, err := inside.OpenTuned(f.write(t), m)
	if err != nil {
		t.Fatal(err)
	}
	defer tuned.Close()
	plain := lens(t, m, ids, inside.LensOptions{Top: 29})
	table := lens(t, m, ids, inside.LensOptions{Top: 29, Tuned: tuned})
	var mu sync.Mutex
	states := map[[2]int][]float64{}
	in := model.Input{Session: m.NewSession(), Tokens: ids, Trace: &model.Trace{
		Points: []model.Point{{Kind: model.ResidPre, Layer: model.AllLayers}},
		Read: func(v model.Reading) {
			mu.Lock()
			defer mu.Unlock()
			states[[2]int{v.At.Layer, v.Index}] = translated(f, v.At.Layer, v.Data)
		}}}
	if err := m.Eval(context.Background(), in); err != nil {
		t.Fatal(err)
	}
	for at, h := range states {
		want, got := probabilities(m, h), table.Layers[at[0]][at[1]]
		for i, id := range got.Top {
			near(t, fmt.Sprintf("layer and position %v: p of %d", at, id), got.P[i], want[id], 1e-5)
		}
	}
	if len(states) != c.Layer*len(ids) {
		t.Errorf("%d states", len(states))
	}
	for i := range ids { // the last row is not translated
		near(t, "entropy of the last row", table.Layers[c.Layer][i].Entropy,
			plain.Layers[c.Layer][i].Entropy, 0)
	}
}

// translated returns h + A·h + b.
func translated(f *tunedFile, layer int, h []float32) []float64 {
	n, out := len(h), make([]float64, len(h))
	for o := range out {
		out[o] = float64(h[o]) + float64(f.b[layer][o])
		for i := range h {
			out[o] += float64(f.a[layer][o*n+i]) * float64(h[i])
		}
	}
	return out
}

// probabilities returns the softmax of W_U·ln_f(h).
func probabilities(m *model.Model, h []float64) []float64 {
	p := m.Params()
	mean, variance := 0.0, 0.0
	for _, v := range h {
		mean += v / float64(len(h))
	}
	for _, v := range h {
		variance += (v - mean) * (v - mean) / float64(len(h))
	}
	out, sum, row := make([]float64, p.Vocab), 0.0, make([]float32, p.Embd)
	for id := range out {
		p.LMHead.Row(row, id)
		logit := 0.0
		for i, v := range h {
			norm := (v - mean) / math.Sqrt(variance+float64(p.Epsilon))
			logit += float64(row[i]) * (norm*float64(p.LnF.Gain[i]) + float64(p.LnF.Bias[i]))
		}
		out[id] = math.Exp(logit)
		sum += out[id]
	}
	for id := range out {
		out[id] /= sum
	}
	return out
}

func TestTunedLensesOfOtherModelsAreRefused(t *testing.T) {
	config, file := fixture.Checkpoint(fixture.Options{})
	m := testmodel.New(t, config, file, model.Options{})
	for want, change := range map[string]func(f *tunedFile){
		"d_model: 16, want 15 (n_embd)": func(f *tunedFile) {
			f.config = `{"d_model": 16, "num_hidden_layers": 3}`
		},
		"num_hidden_layers: 4, want 3 (n_layer)": func(f *tunedFile) {
			f.config = `{"d_model": 15, "num_hidden_layers": 4}`
		},
		"d_model: missing":                       func(f *tunedFile) { f.config = `{}` },
		"lens_type: mlp, want linear_tuned_lens": func(f *tunedFile) { f.config = `{"lens_type": "mlp"}` },
		"2.weight: missing":                      func(f *tunedFile) { f.a, f.b = f.a[:2], f.b[:2] },
		"1.weight: shape [14 14], want [15 15]": func(f *tunedFile) {
			f.b[1] = f.b[1][:14]
			f.a[1] = f.a[1][:14*14]
		},
		"1.weight: value 17 is not finite": func(f *tunedFile) { f.a[1][17] = float32(math.NaN()) },
		"0.bias: value 2 is not finite":    func(f *tunedFile) { f.b[0][2] = float32(math.Inf(-1)) },
		"3.":                               func(f *tunedFile) { f.a, f.b = append(f.a, f.a[0]), append(f.b, f.b[0]) },
	} {
		f := newTunedFile(3, 15)
		change(f)
		_, err := inside.OpenTuned(f.write(t), m)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := inside.OpenTuned(t.TempDir(), m); err == nil {
		t.Error("an empty folder is a lens")
	}
	other, data := fixture.Checkpoint(fixture.Options{Layer: 2})
	tuned, err := inside.OpenTuned(newTunedFile(3, 15).write(t), m)
	if err != nil {
		t.Fatal(err)
	}
	defer tuned.Close()
	_, err = inside.Lens(context.Background(), testmodel.New(t, other, data, model.Options{}), []int{1},
		inside.LensOptions{Tuned: tuned})
	if err == nil || err.Error() != "tuned lens: 3 layers of width 15, want 2 of 15" {
		t.Errorf("another model: %v", err)
	}
}

func FuzzTuned(f *testing.F) {
	config, file := fixture.Checkpoint(fixture.Options{})
	m := testmodel.New(f, config, file, model.Options{Threads: 1})
	good := newTunedFile(m.Config().Layer, m.Config().Embd)
	dir := good.write(f)
	params, err := os.ReadFile(filepath.Join(dir, "params.pt"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good.config, params)
	f.Add(strings.Replace(good.config, `"bias"`, `"bais"`, 1), params[:len(params)/2])
	f.Add(`{"d_model":-1}`, []byte("PK"))
	f.Add(`{"d_model":15,"num_hidden_layers":1e9}`, []byte{})
	f.Fuzz(func(t *testing.T, config string, params []byte) {
		for name, b := range map[string][]byte{"config.json": []byte(config), "params.pt": params} {
			if err := os.WriteFile(filepath.Join(dir, name), b, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		lens, err := inside.OpenTuned(dir, m)
		if err != nil {
			if strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), dir) {
				t.Errorf("an error of several lines, or without the file: %v", err)
			}
			return
		}
		table, err := inside.Lens(context.Background(), m, []int{1, 2, 3}, inside.LensOptions{Tuned: lens, Top: 2})
		if err == nil {
			for _, p := range table.Layers[0] {
				if math.IsNaN(p.KL) {
					t.Errorf("a prediction is no number: %+v", p)
				}
			}
		}
		if err := lens.Close(); err != nil {
			t.Error(err)
		}
	})
}
