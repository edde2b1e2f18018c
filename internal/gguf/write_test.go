package gguf

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"picogpt/weights"
)

func TestWhatIsWrittenIsRead(t *testing.T) {
	tensors := []weights.Tensor{
		{Name: "a", DType: weights.F32, Shape: []int{2, 3}, Data: bytes.Repeat([]byte{1}, 24)},
		{Name: "b", DType: weights.F16, Shape: []int{5}, Data: bytes.Repeat([]byte{2}, 10)},
		{Name: "c", DType: weights.BF16, Shape: []int{1, 1, 2}, Data: []byte{3, 4, 5, 6}},
	}
	pairs := []Pair{{"u", uint32(7)}, {"i", int32(-7)}, {"f", float32(0.5)}, {"b", true},
		{"s", "text"}, {"list", []string{"", "é"}}, {"kinds", []int32{1, 5}}}
	var b bytes.Buffer
	if err := Write(&b, pairs, tensors); err != nil {
		t.Fatal(err)
	}
	f, err := Parse(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range tensors {
		got := f.Tensors[i].Elements()
		if same, err := got.Equal(want); got.Name != want.Name || !same || err != nil {
			t.Errorf("%s: %v %v, %v", want.Name, got.Shape, got.Data, err)
		}
	}
	if n, _, err := f.Uint("u"); n != 7 || err != nil {
		t.Error(n, err)
	}
	if x, _, err := f.Float("f"); x != 0.5 || err != nil {
		t.Error(x, err)
	}
	if s, _, err := f.Text("s"); s != "text" || err != nil {
		t.Error(s, err)
	}
	if list, err := f.Texts("list"); !slices.Equal(list, []string{"", "é"}) || err != nil {
		t.Error(list, err)
	}
	if list, err := f.Uints("kinds"); !slices.Equal(list, []int{1, 5}) || err != nil {
		t.Error(list, err)
	}
}

func TestWhatCannotBeWritten(t *testing.T) {
	vector := weights.Tensor{Name: "x", DType: weights.F32, Shape: []int{1}, Data: make([]byte, 4)}
	for want, change := range map[string]func(x *weights.Tensor){
		"x: type U8, want F32":         func(x *weights.Tensor) { x.DType = weights.U8 },
		"x: 0 dimensions, want 1 to 4": func(x *weights.Tensor) { x.Shape = nil },
		"name of 65 bytes":             func(x *weights.Tensor) { x.Name = strings.Repeat("x", 65) },
	} {
		x := vector
		change(&x)
		if err := Write(&bytes.Buffer{}, nil, []weights.Tensor{x}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if err := Write(&bytes.Buffer{}, []Pair{{"x", 1.5}}, nil); err == nil ||
		err.Error() != "x: a value of type float64" {
		t.Error(err)
	}
}
