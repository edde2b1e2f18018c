package weights_test

import (
	"bytes"
	"fmt"
	"log"

	"picogpt/weights"
)

// A safetensors file in memory, written and read. Open maps one on disk.
func Example() {
	var file bytes.Buffer
	bias := weights.Tensor{Name: "h.0.ln_1.bias", DType: weights.F32, Shape: []int{2},
		Data: []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0}}
	if err := weights.Write(&file, map[string]string{"format": "pt"},
		[]weights.Tensor{bias}); err != nil {
		log.Fatal(err)
	}
	all, err := weights.FromBytes("file", file.Bytes())
	if err != nil {
		log.Fatal(err)
	}
	defer all.Close()
	t, ok := all.Tensor("h.0.ln_1.bias")
	if !ok {
		log.Fatal("no bias")
	}
	numbers, err := t.Float32s()
	fmt.Println(t.DType, t.Shape, numbers, err)
	// Output: F32 [2] [1 -2] <nil>
}
