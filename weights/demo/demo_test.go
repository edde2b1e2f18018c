package demo_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io/fs"
	"testing"
	"testing/fstest"
	"unsafe"

	"picogpt/weights"
	"picogpt/weights/demo"
)

func TestTheCheckpointIsTheOneThatWasTrained(t *testing.T) {
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"config.json", demo.Config(), "e599cc240afa853dbd2c6866980d59baa292780ff744ceb4b1b806fad05de86d"},
		{"model.safetensors", demo.Weights(),
			"ec60965a769b0b54f91c08c48da562c55658acc4467c6d7bfd5a20d2f960e5ef"},
	} {
		if got := fmt.Sprintf("%x", sha256.Sum256(c.data)); got != c.want {
			t.Errorf("%s: SHA-256 %s, want %s", c.name, got, c.want)
		}
	}
}

func TestTheFolderHasTheFiles(t *testing.T) {
	if err := fstest.TestFS(demo.FS(), "config.json", "model.safetensors"); err != nil {
		t.Error(err)
	}
	b, err := fs.ReadFile(demo.FS(), "model.safetensors")
	if err != nil || !bytes.Equal(b, demo.Weights()) {
		t.Errorf("model.safetensors: %d bytes, %v, want Weights", len(b), err)
	}
}

func TestTheCheckpointOpensInPlace(t *testing.T) {
	f, err := weights.FromBytes("demo", demo.Weights())
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(f.All()), 2+4*12+2; got != want {
		t.Errorf("%d tensors, want %d", got, want)
	}
	parameters, little := 0, binary.NativeEndian.Uint16([]byte{1, 0}) == 1 // as the file is
	for _, tensor := range f.All() {
		parameters += tensor.Len()
		bits, err := tensor.Uint16s()
		if err != nil {
			t.Fatal(err)
		}
		if unsafe.Pointer(&bits[0]) != unsafe.Pointer(&tensor.Data[0]) && little {
			t.Errorf("%s: copied, want a view of the file's bytes", tensor.Name)
		}
	}
	if want := 7_259_008; parameters != want {
		t.Errorf("%d parameters, want %d", parameters, want)
	}
	if wte, ok := f.Tensor("wte.weight"); !ok || wte.Shape[0] != 50257 || wte.Shape[1] != 128 {
		t.Errorf("wte.weight: %v %v, want [50257 128]", ok, wte.Shape)
	}
}
