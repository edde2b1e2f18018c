package torch

import (
	"archive/zip"
	"bytes"
	"math"
	"testing"

	"picogpt/internal/folder"

	"picogpt/weights"
)

// TestWhatIsWrittenIsRead by this package, which reads PyTorch's own files too, and by archive/zip.
func TestWhatIsWrittenIsRead(t *testing.T) {
	matrix := weights.Tensor{Name: "a", DType: weights.F32, Shape: []int{2, 3},
		Data: []byte("abcdefghijklmnopqrstuvwx")}
	halves := weights.Tensor{Name: "b", DType: weights.BF16, Shape: []int{3}, Data: []byte("abcdef")}
	written := Members{{"model", Members{{"one", matrix}, {"two", halves}, {"three", matrix}}},
		{"n", 7}, {"large", math.MaxInt}, {"yes", true}, {"no", false}, {"text", "é"}, {"empty", Members{}}}
	var b bytes.Buffer
	if err := Write(&b, written); err != nil {
		t.Fatal(err)
	}
	f, err := Open(folder.Memory{"x.pt": b.Bytes()}, "x.pt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	root := f.Root.(*Dict)
	for key, want := range map[string]any{"n": int64(7), "large": int64(math.MaxInt), "yes": true,
		"no": false, "text": "é"} {
		if got, _ := root.Get(key); got != want {
			t.Errorf("%s: %v, want %v", key, got, want)
		}
	}
	model, _ := root.Get("model")
	tensor := func(key string) *Tensor {
		x, _ := model.(*Dict).Get(key)
		return x.(*Tensor)
	}
	for key, want := range map[string]weights.Tensor{"one": matrix, "two": halves, "three": matrix} {
		got, err := tensor(key).Weights(key)
		if err != nil {
			t.Fatal(err)
		}
		if same, err := got.Equal(want); !same || err != nil {
			t.Errorf("%s: %v, %v", key, got, err)
		}
	}
	if !tensor("one").Same(tensor("three")) {
		t.Error("a tensor that is there twice has two storages")
	}
	archive, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range archive.File {
		if at, err := e.DataOffset(); at%64 != 0 || e.Method != zip.Store || err != nil {
			t.Errorf("%s: method %d at byte %d, %v; want it stored at a multiple of 64", e.Name,
				e.Method, at, err)
		}
	}
}

func TestWhatCannotBeWritten(t *testing.T) {
	for want, v := range map[string]any{
		"x: a value of type float64":        1.5,
		"x: type U8, want F32, F16 or BF16": weights.Tensor{DType: weights.U8},
		"x: y: a value of type []int":       Members{{"y", []int{1}}},
	} {
		if err := Write(&bytes.Buffer{}, Members{{"x", v}}); err == nil || err.Error() != want {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
