package inside_test

// Neurons beside sums over their weights, and beside a search through all texts.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/inside"
	"picogpt/kernels"
	"picogpt/model"
	"picogpt/weights"
)

// neuronModel returns a model with random biases and gains, and its tensors in float64.
func neuronModel(t testing.TB, o fixture.Options, options model.Options) (
	*model.Model, func(name string) []float64) {
	t.Helper()
	config, file := fixture.Checkpoint(o)
	tensors, err := weights.FromBytes("test", file)
	if err != nil {
		t.Fatal(err)
	}
	return testmodel.New(t, config, file, options), func(name string) (all []float64) {
		w, ok := tensors.Tensor(name)
		x, err := w.Float32s()
		if !ok || err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, v := range x {
			all = append(all, float64(v))
		}
		return all
	}
}

// A neuron adds its activation times its weights through ln_f, and all of a layer with the bias add
// up to the MLP.
func TestNeuronsAddUpToTheirMLP(t *testing.T) {
	o := fixture.Options{Embd: 12, Head: 2, Inner: 37, Seed: 5}
	m, tensor := neuronModel(t, o, model.Options{Threads: 3})
	ids, against := []int{4, 9, 2, 21}, 3
	q := inside.Metric{Target: 7, Against: &against}
	all := func(n int) *inside.Attribution {
		a, err := inside.Attribute(context.Background(), m, ids, q,
			inside.AttributeOptions{Neurons: n})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	a := all(1 << 20)
	if len(a.Neurons) != 3*38 {
		t.Fatalf("%d neurons and biases, want %d", len(a.Neurons), 3*38)
	}
	wte, gain := tensor("wte.weight"), tensor("ln_f.weight")
	u, mean := make([]float64, 12), 0.0 // through ln_f, without its scale
	for j := range u {
		u[j] = gain[j] * (wte[7*12+j] - wte[3*12+j])
		mean += u[j] / 12
	}
	sigma := float64(pointOf(t, m, ids, model.Point{Kind: model.FinalScale})[3])
	for layer := range 3 {
		post := pointOf(t, m, ids, model.Point{Kind: model.MLPPost, Layer: layer})[3*37:]
		out, sum := tensor(fmt.Sprintf("h.%d.mlp.c_proj.weight", layer)), 0.0
		for i := range 37 {
			want := 0.0
			for j := range u {
				want += float64(post[i]) * out[i*12+j] * (u[j] - mean) / sigma
			}
			got, ok := a.Neurons.Value(fmt.Sprintf("neuron %d.%d", layer, i))
			if !ok {
				t.Fatalf("no neuron %d.%d", layer, i)
			}
			near(t, "neuron", got, want, 1e-6)
			sum += got
		}
		bias, _ := a.Neurons.Value(fmt.Sprintf("mlp_bias %d", layer))
		mlp, _ := a.Parts.Value(fmt.Sprintf("mlp %d", layer))
		near(t, "the sum of a layer", sum+bias, mlp, 1e-5*math.Abs(mlp)+1e-6)
	}
	if !slices.IsSortedFunc(a.Neurons, func(p, q inside.Part) int {
		return cmp.Compare(math.Abs(q.Value), math.Abs(p.Value))
	}) || !slices.Equal(all(9).Neurons, a.Neurons[:9]) || all(0).Neurons != nil {
		t.Error("the largest are not the first")
	}
	// of several texts the means and the spreads
	pairs := []inside.Pair{{Clean: ids, Metric: q}, {Clean: []int{1, 2, 3}, Metric: q},
		{Clean: []int{11}, Metric: q}}
	set, err := inside.AttributeAll(context.Background(), m, pairs,
		inside.AttributeOptions{Neurons: 1 << 20}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(set.Neurons) != 3*38 {
		t.Fatalf("%d neurons of pairs", len(set.Neurons))
	}
	for i, part := range set.Neurons {
		var values []float64
		for _, p := range pairs {
			a, err := inside.Attribute(context.Background(), m, p.Clean, q,
				inside.AttributeOptions{Neurons: 1 << 20})
			if err != nil {
				t.Fatal(err)
			}
			v, _ := a.Neurons.Value(part.Name)
			values = append(values, v)
		}
		mean := (values[0] + values[1] + values[2]) / 3
		squares := 0.0
		for _, v := range values {
			squares += (v - mean) * (v - mean)
		}
		near(t, "mean", part.Mean, mean, 1e-12)
		near(t, "spread", part.Spread, math.Sqrt(squares/2), 1e-12)
		if i > 0 && math.Abs(part.Mean) > math.Abs(set.Neurons[i-1].Mean) {
			t.Errorf("%s is not in its place", part.Name)
		}
	}
}

func each(texts [][]int) iter.Seq2[[]int, error] {
	return func(yield func([]int, error) bool) {
		for _, ids := range texts {
			if !yield(ids, nil) {
				return
			}
		}
	}
}

// The strongest of many texts are those of a search that evaluates each alone.
func TestStrongestTexts(t *testing.T) {
	var texts [][]int
	for i := range 90 {
		var ids []int
		for j := range 1 + i*7%23 {
			ids = append(ids, (i*i+3*j)%29)
		}
		texts = append(texts, ids)
	}
	texts = append(texts, texts[3], texts[40]) // the first of equal ones comes first
	for _, kernel := range kernels.Variants() {
		m, _ := neuronModel(t, fixture.Options{}, model.Options{Threads: 2, Kernel: kernel})
		for _, p := range []model.Point{{Kind: model.MLPPost, Layer: 2}, {Kind: model.ResidPre}} {
			const index = 11
			var want []inside.Strong
			for i, ids := range texts {
				x := pointOf(t, m, ids, p)
				width, at := len(x)/len(ids), 0
				for j := range ids {
					if x[j*width+index] > x[at*width+index] {
						at = j
					}
				}
				want = append(want, inside.Strong{Text: i, At: at, Value: x[at*width+index],
					Tokens: ids})
			}
			slices.SortStableFunc(want, func(a, b inside.Strong) int {
				return cmp.Compare(b.Value, a.Value)
			})
			for _, k := range []int{1, 8, 1000} {
				got, err := inside.Strongest(context.Background(), m, each(texts), p, index, k)
				if err != nil || !reflect.DeepEqual(got, want[:min(k, len(want))]) {
					t.Errorf("%s: %d strongest: %v, %v\nwant %v", p, k, got, err, want)
				}
			}
		}
	}
}

func TestStrongestRefuses(t *testing.T) {
	m, _ := neuronModel(t, fixture.Options{}, model.Options{})
	bad := errors.New("no such file")
	post := model.Point{Kind: model.MLPPost}
	for want, c := range map[string]struct {
		p     model.Point
		index int
		texts iter.Seq2[[]int, error]
	}{
		"text 1: token 0: id 29, want 0 to 28": {post, 0, each([][]int{{1}, {29}})},
		"no tokens":                            {post, 0, each([][]int{{1}, {}})},
		"number 60 of":                         {post, 60, each(nil)},
		"number -1 of":                         {post, -1, each(nil)},
		"number 0 of":                          {model.Point{Kind: model.Pattern}, 0, each(nil)},
		"want one point":                       {model.Point{Kind: model.MLPPost, Layer: model.AllLayers}, 0, each(nil)},
		"no such file": {post, 0, func(yield func([]int, error) bool) {
			yield(nil, bad)
		}},
	} {
		_, err := inside.Strongest(context.Background(), m, c.texts, c.p, c.index, 1)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if got, err := inside.Strongest(context.Background(), m, each(nil), post, 0, 1); err != nil ||
		len(got) != 0 {
		t.Errorf("of no texts: %v, %v", got, err)
	}
	m, _ = neuronModel(t, fixture.Options{}, model.Options{Edits: []model.Edit{{
		At: model.Point{Kind: model.MLPOut, Layer: 1}, Op: model.Set, Values: []float32{0}}}})
	_, err := inside.Attribute(context.Background(), m, []int{1}, inside.Metric{},
		inside.AttributeOptions{Neurons: 1})
	if err == nil || !strings.Contains(err.Error(), "hook_mlp_out") {
		t.Errorf("neurons with an edit: %v", err)
	}
}
