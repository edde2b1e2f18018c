package inside_test

// Gradients beside those of PyTorch in float64: dev/fixture/testdata/make_gradients.py.

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"picogpt/dev/testmodel"
	"picogpt/inside"
	"picogpt/kernels"
	"picogpt/model"
	"picogpt/weights"
)

const gradientFiles = "../dev/fixture/testdata/gradients/"

// gradientAnswers are PyTorch's.
type gradientAnswers struct {
	IDs, Other      []int
	Target, Against int
	Values          map[string]float64
	arrays          *weights.Tensors
}

func readGradientAnswers(t testing.TB) *gradientAnswers {
	t.Helper()
	b, err := os.ReadFile(gradientFiles + "answers.json")
	if err != nil {
		t.Fatal(err)
	}
	a := &gradientAnswers{}
	if err := json.Unmarshal(b, a); err != nil {
		t.Fatal(err)
	}
	if b, err = os.ReadFile(gradientFiles + "answers.safetensors"); err == nil {
		a.arrays, err = weights.FromBytes("answers", b)
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// array returns an array of the answers.
func (a *gradientAnswers) array(t testing.TB, name string) (all []float64) {
	t.Helper()
	w, ok := a.arrays.Tensor(name)
	x, err := w.Float32s()
	if !ok || err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for _, v := range x {
		all = append(all, float64(v))
	}
	return all
}

// gradientModel returns the model, with another activation.
func gradientModel(t testing.TB, activation string, o model.Options) *model.Model {
	t.Helper()
	config, err := os.ReadFile(gradientFiles + "config.json")
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(gradientFiles + "model.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	config = []byte(strings.Replace(string(config), `"gelu_new"`, `"`+activation+`"`, 1))
	return testmodel.New(t, config, file, o)
}

// gradients returns the gradient by all points that have one, as arrays.
func gradients(t testing.TB, m *model.Model, ids []int, q inside.Metric, edits ...model.Edit,
) (map[string][]float32, float64) {
	t.Helper()
	var points []model.Point
	for _, name := range model.PointNames() {
		if p, _ := model.ParsePoint(name); !strings.Contains(name, "scale") &&
			p.Kind != model.Result {
			points = append(points, p)
		}
	}
	arrays, err := inside.Arrays(m, len(ids), points...)
	if err != nil {
		t.Fatal(err)
	}
	all, mu := map[string][]float32{}, sync.Mutex{}
	for _, a := range arrays {
		all[a.Point.String()] = make([]float32, a.Bytes()/4)
	}
	o := inside.GradientOptions{Edits: edits, Points: points, Read: func(r model.Reading) {
		mu.Lock()
		defer mu.Unlock()
		x := all[r.At.String()]
		if r.At.Kind != model.Pattern && r.At.Kind != model.Scores {
			copy(x[r.Index*len(r.Data):], r.Data)
			return
		}
		for i, n := 0, r.Index+1; i < len(r.Data); i += n {
			copy(x[(i/n*len(ids)+r.Index)*len(ids):], r.Data[i:i+n])
		}
	}}
	value, err := inside.Gradient(t.Context(), m, ids, q, o)
	if err != nil {
		t.Fatal(err)
	}
	return all, value
}

// goldenEdits are those of the script.
var goldenEdits = []model.Edit{
	{At: model.Point{Kind: model.Z}, Head: 1, From: 1, Op: model.Scale, Values: []float32{-.5}},
	{At: model.Point{Kind: model.MLPPost}, Head: model.AllHeads, From: 2, To: 3, Op: model.Set,
		Values: []float32{.3}},
	{At: model.Point{Kind: model.ResidPost}, Head: model.AllHeads, Op: model.Add,
		Values: []float32{.25}},
	{At: model.Point{Kind: model.Key, Layer: 1}, Head: model.AllHeads, Op: model.Scale,
		Values: []float32{2}},
	{At: model.Point{Kind: model.Pattern, Layer: 1}, Head: 0, Op: model.Hide, From: 6, To: 7,
		KeysFrom: 1, KeysTo: 3},
}

func TestGradientsAreThoseOfFloat64(t *testing.T) {
	a := readGradientAnswers(t)
	for key, value := range a.Values {
		kind, activation, _ := strings.Cut(key, " ")
		if activation == "" || kind == "base" { // path_test.go
			continue
		}
		q := inside.Metric{Target: a.Target, LogProb: kind == "logprob"}
		if kind == "difference" || kind == "edited" {
			q.Against = &a.Against
		}
		var edits []model.Edit
		if kind == "edited" {
			edits = goldenEdits
		}
		m := gradientModel(t, activation, model.Options{Threads: 2})
		all, got := gradients(t, m, a.IDs, q, edits...)
		near(t, key, got, value, 1e-5)
		if len(all) != 3+2*16-2 {
			t.Errorf("%d points", len(all))
		}
		for name, x := range all {
			nearAll(t, key+" "+name, x, a.array(t, key+" "+name), 1e-5)
		}
		// The bits are the same for any kernels and threads.
		for _, kernel := range kernels.Variants() {
			m := gradientModel(t, activation, model.Options{Threads: 3, Kernel: kernel})
			again, _ := gradients(t, m, a.IDs, q, edits...)
			for name, x := range all {
				if !slices.Equal(again[name], x) {
					t.Errorf("%s: %s: other bits with %s", key, name, kernel)
				}
			}
		}
	}
}

// The gradient of a model in q8 is that of its weights in float32, but for the rounding of
// activations.
func TestGradientsOfQuantizedModels(t *testing.T) {
	a := readGradientAnswers(t)
	q := inside.Metric{Target: a.Target}
	for _, format := range []string{"q8", "q4", "f16", "bf16"} {
		m := gradientModel(t, "gelu", model.Options{Threads: 2, Format: format})
		want, _ := gradients(t, widened(t, m), a.IDs, q)
		got, _ := gradients(t, m, a.IDs, q)
		for name, x := range want {
			wide := make([]float64, len(x))
			for i, v := range x {
				wide[i] = float64(v)
			}
			nearAll(t, format+" "+name, got[name], wide, 2e-3)
		}
	}
}

// widened returns a model in float32 with the numbers of a gradientModel.
func widened(t testing.TB, m *model.Model) *model.Model {
	t.Helper()
	file, err := os.ReadFile(gradientFiles + "model.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	tensors, err := weights.FromBytes("model", file)
	if err != nil {
		t.Fatal(err)
	}
	plain := map[string]*kernels.Matrix{}
	for i := range m.Params().H {
		h := &m.Params().H[i]
		for name, l := range map[string]*kernels.Matrix{"attn.c_attn": &h.CAttn.Weight,
			"attn.c_proj": &h.AttnProj.Weight, "mlp.c_fc": &h.CFC.Weight,
			"mlp.c_proj": &h.MLPProj.Weight} {
			plain[fmt.Sprintf("transformer.h.%d.%s.weight", i, name)] = l
		}
	}
	plain["transformer.wte.weight"] = m.Params().LMHead
	list := slices.Clone(tensors.All())
	for i := range list {
		if l := plain[list[i].Name]; l != nil {
			list[i].Data = float32Bytes(l, l != m.Params().LMHead)
		}
	}
	var b bytes.Buffer
	if err := weights.Write(&b, nil, list); err != nil {
		t.Fatal(err)
	}
	config, err := os.ReadFile(gradientFiles + "config.json")
	if err != nil {
		t.Fatal(err)
	}
	config = bytes.Replace(config, []byte(`"gelu_new"`), []byte(`"gelu"`), 1)
	return testmodel.New(t, config, b.Bytes(), model.Options{Threads: 2})
}

// float32Bytes returns the numbers of a matrix as safetensors has them, [in, out] of Conv1D.
func float32Bytes(m *kernels.Matrix, transposed bool) []byte {
	b := make([]byte, 4*m.In*m.Out)
	one := make([]float32, m.In)
	for i := range m.Out {
		switch {
		case m.Layout == kernels.OutIn || m.Format == kernels.Q8 || m.Format == kernels.Q4:
			m.Row(one, i)
		case m.Format == kernels.F16:
			for k := range one {
				one[k] = kernels.FromHalf(m.F16[k*m.Out+i])
			}
		default:
			for k := range one {
				one[k] = math.Float32frombits(uint32(m.F16[k*m.Out+i]) << 16)
			}
		}
		for k, v := range one {
			at := i*m.In + k
			if transposed {
				at = k*m.Out + i
			}
			binary.LittleEndian.PutUint32(b[4*at:], math.Float32bits(v))
		}
	}
	return b
}
