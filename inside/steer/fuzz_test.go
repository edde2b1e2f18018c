package steer

// Files of control vectors, from bytes of any kind.

import (
	"bytes"
	"math"
	"reflect"
	"strings"
	"testing"

	"picogpt/internal/gguf"
	"picogpt/weights"
)

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
