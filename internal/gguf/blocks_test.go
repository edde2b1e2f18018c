package gguf

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"picogpt/weights"
)

// TestBlocksHaveTheExactWeights compares random blocks of every type with the weights that ggml's C
// code gives, which are the exact ones rounded once.
func TestBlocksHaveTheExactWeights(t *testing.T) {
	golden, err := weights.Open(os.DirFS("testdata"), "blocks.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	defer golden.Close()
	tested := 0
	for number := range Type(256) {
		l, ok := number.layout()
		if !ok || l.decode == nil {
			continue
		}
		raw, ok := golden.Tensor(l.name + ".raw")
		want, _ := golden.Tensor(l.name + ".f32")
		if !ok {
			t.Errorf("no golden blocks of type %s", l.name)
			continue
		}
		tested++
		tensor := Tensor{Name: "x", Type: number, Shape: want.Shape, Data: raw.Data}
		got, err := tensor.Elements().Bytes()
		if err != nil || !bytes.Equal(got, want.Data) {
			t.Errorf("%s: other weights, %v", l.name, err)
		}
		odd := make([]byte, len(got)+1)[1:] // where floats cannot lie
		if err := tensor.fill(odd, 0); err != nil || !bytes.Equal(odd, want.Data) {
			t.Errorf("%s, at an odd address: other weights, %v", l.name, err)
		}
		for from := 0; from+12 <= len(got); from += 28 { // parts of blocks
			part := make([]byte, 12)
			if err := tensor.fill(part, int64(from)); err != nil ||
				!bytes.Equal(part, want.Data[from:from+12]) {
				t.Errorf("%s, from byte %d: %x, %v; want %x", l.name, from, part, err,
					want.Data[from:from+12])
			}
		}
	}
	if tested != 12 {
		t.Errorf("%d types tested, want 12", tested)
	}
}

func TestTypesThatNeedTablesAreRefusedByName(t *testing.T) {
	for number, name := range map[Type]string{4: "Q4_2", 9: "Q8_1", 16: "IQ2_XXS", 19: "IQ1_S",
		21: "IQ3_S", 26: "I32", 34: "TQ1_0", 39: "MXFP4", 40: "NVFP4", 255: "number 255"} {
		if _, err := number.size([]int{256}); err == nil ||
			!strings.HasPrefix(err.Error(), "type "+name+", want ") {
			t.Errorf("type %d: %v, want that it names %s", number, err, name)
		}
	}
}
