package steer

// Vectors as llama.cpp has them: beside float64, written and read, and files that lie, of any
// bytes.

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/internal/gguf"
	"picogpt/model"
	"picogpt/weights"
)

// A file of direction.2 is added after block 2, counted from 0, to every token: what float64 says
// of that is in the answers.
func TestADirectionIsAddedAfterItsBlock(t *testing.T) {
	answers, err := fixture.Inside()
	if err != nil {
		t.Fatal(err)
	}
	want := answers.Cases[0]
	for _, c := range answers.Cases {
		if c.Name == "steer" {
			want = c
		}
	}
	var file bytes.Buffer
	if err := (Vector{2: want.Edits[0].Values}).Write(&file, "gpt2"); err != nil {
		t.Fatal(err)
	}
	v, err := Parse(file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if len(v) != 1 || !slices.Equal(v[2], want.Edits[0].Values) {
		t.Fatalf("%v comes back", v.Layers())
	}
	edits, err := Edits([]Scaled{{v, 0.5}, {v, 0.5}}) // halves are exact
	if err != nil {
		t.Fatal(err)
	}
	m := testmodel.Demo(t, model.Options{Threads: 1, Edits: edits})
	s := m.NewSession()
	if err := m.Eval(context.Background(), model.Input{Session: s, Tokens: answers.IDs[0]}); err != nil {
		t.Fatal(err)
	}
	largest := 0.0
	for _, x := range s.Logits() {
		largest = max(largest, math.Abs(float64(x)))
	}
	for i, id := range want.Top {
		if d := math.Abs(float64(s.Logits()[id]) - want.Logits[i]); !(d <= 1e-4*largest) {
			t.Errorf("id %d: %v, want %v", id, s.Logits()[id], want.Logits[i])
		}
	}
}

func TestSumsAreInTheOrderOfTheList(t *testing.T) {
	a, b := Vector{1: {1, 1 << 24}, 3: {5, 5}}, Vector{1: {0.1, 1}}
	edits, err := Edits([]Scaled{{a, 1}, {b, 1}, {b, 1}, {b, 3}})
	if err != nil {
		t.Fatal(err)
	}
	sum := float32(1)
	for _, scale := range []float32{1, 1, 3} {
		sum += float32(scale * float32(0.1))
	}
	want := []model.Edit{
		{At: model.Point{Kind: model.ResidPost, Layer: 1}, Head: model.AllHeads, Op: model.Add,
			Values: []float32{sum, 1<<24 + 4}}, // 2^24 + 1 is rounded to 2^24
		{At: model.Point{Kind: model.ResidPost, Layer: 3}, Head: model.AllHeads, Op: model.Add,
			Values: []float32{5, 5}},
	}
	if !reflect.DeepEqual(edits, want) {
		t.Errorf("%v, want %v", edits, want)
	}
	if _, err := Edits([]Scaled{{a, math.MaxFloat32}}); err == nil ||
		err.Error() != "direction.1, scaled: number 1 is not finite" {
		t.Errorf("%v", err)
	}
	if edits, err := Edits(nil); len(edits) != 0 || err != nil {
		t.Errorf("%v, %v of nothing", edits, err)
	}
	if part := a.Between(2, 9); len(part) != 1 || part[3] == nil || len(a) != 2 {
		t.Errorf("between 2 and 9: %v of %v", part, a)
	}
}

func TestVectorsOfOtherModelsAreRefused(t *testing.T) {
	c := model.DefaultConfig()
	c.Layer, c.Embd = 4, 2
	for _, x := range []struct {
		v    Vector
		want string
	}{
		{Vector{1: {1, 2}, 3: {1, 2}}, ""},
		{Vector{1: {1, 2}, 4: {1, 2}}, "direction.4: the model has the blocks 1 to 3 "},
		{Vector{2: {1, 2, 3}}, "direction.2: 3 numbers, want 2, the model's n_embd"},
	} {
		if err := x.v.Check(c); (err == nil) != (x.want == "") || err != nil && !strings.HasPrefix(err.Error(), x.want) {
			t.Errorf("%v: %v, want %q", x.v, err, x.want)
		}
	}
}

func TestFilesThatAreNoVectorsAreRefused(t *testing.T) {
	tensor := func(name string, shape []int, x ...float32) weights.Tensor {
		var b []byte
		for _, x := range x {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
		return weights.Tensor{Name: name, DType: weights.F32, Shape: shape, Data: b}
	}
	good := tensor("direction.1", []int{2}, 1, 2)
	half := weights.Tensor{Name: "direction.2", DType: weights.F16, Shape: []int{2}, Data: make([]byte, 4)}
	for name, x := range map[string]struct {
		arch    any
		tensors []weights.Tensor
		want    string
	}{
		"good":         {"controlvector", []weights.Tensor{good}, ""},
		"a model":      {"gpt2", []weights.Tensor{good}, `general.architecture: "gpt2", want controlvector`},
		"nothing":      {nil, []weights.Tensor{good}, "general.architecture: missing"},
		"a number":     {uint32(1), []weights.Tensor{good}, "general.architecture: a u32, want a string"},
		"no tensor":    {"controlvector", nil, "no tensor direction.N"},
		"block 0":      {"controlvector", []weights.Tensor{tensor("direction.0", []int{1}, 1)}, "direction.0: want direction.N"},
		"two zeros":    {"controlvector", []weights.Tensor{tensor("direction.01", []int{1}, 1)}, "direction.01: want direction.N"},
		"far":          {"controlvector", []weights.Tensor{tensor("direction.65536", []int{1}, 1)}, "direction.65536: want"},
		"another name": {"controlvector", []weights.Tensor{good, tensor("steer.2", []int{2}, 1, 2)}, "steer.2: want direction.N"},
		"a matrix":     {"controlvector", []weights.Tensor{tensor("direction.1", []int{1, 2}, 1, 2)}, "direction.1: type F32, shape [1 2]"},
		"half":         {"controlvector", []weights.Tensor{half}, "direction.2: type F16"},
		"widths": {"controlvector", []weights.Tensor{good, tensor("direction.2", []int{3}, 1, 2, 3)},
			"direction.2: 3 numbers, others have 2"},
		"not a number": {"controlvector", []weights.Tensor{tensor("direction.7", []int{2}, 1, float32(math.NaN()))},
			"direction.7: number 1 is not finite"},
	} {
		var b bytes.Buffer
		var pairs []gguf.Pair
		if x.arch != nil {
			pairs = append(pairs, gguf.Pair{Key: "general.architecture", Value: x.arch})
		}
		if err := gguf.Write(&b, pairs, x.tensors); err != nil {
			t.Fatal(err)
		}
		_, err := Parse(b.Bytes())
		if (err == nil) != (x.want == "") || err != nil && !strings.HasPrefix(err.Error(), x.want) {
			t.Errorf("%s: %v, want %q", name, err, x.want)
		}
		for cut := range b.Len() { // no part of a file is one, and none panics
			if _, err := Parse(b.Bytes()[:cut]); err == nil && cut < b.Len()-32 {
				t.Errorf("%s: %d of %d bytes are read", name, cut, b.Len())
			}
		}
	}
}

func FuzzVector(f *testing.F) {
	for _, v := range []Vector{{1: {0.5, -1}}, {2: {1}, 11: {3}}, {65535: {1e30, 0, float32(math.Copysign(0, -1))}}} {
		var b bytes.Buffer
		if err := v.Write(&b, "gpt2"); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	var twice bytes.Buffer
	if err := gguf.Write(&twice, []gguf.Pair{{Key: "general.architecture", Value: architecture}}, []weights.Tensor{
		{Name: "direction.01", DType: weights.F32, Shape: []int{1}, Data: make([]byte, 4)}}); err != nil {
		f.Fatal(err)
	}
	f.Add(twice.Bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := Parse(b)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("an error of several lines: %v", err)
			}
			return
		}
		numbers := 0
		for _, x := range v {
			numbers += len(x)
		}
		if 4*numbers > len(b) {
			t.Errorf("%d numbers of %d bytes", numbers, len(b))
		}
		var written bytes.Buffer
		if err := v.Write(&written, ""); err != nil {
			t.Fatal(err)
		}
		if again, err := Parse(written.Bytes()); err != nil || !reflect.DeepEqual(again, v) {
			t.Errorf("%v is read as %v, %v", v, again, err)
		}
	})
}
