package demo

// What writes model.rows from a model.safetensors that was trained anew, and the files of the
// checkpoint as they are. Paths are absolute, because a test runs in its package's folder:
//
//	go test ./weights/demo -args -pack "$PWD/FOLDER/model.safetensors"
//	go test ./weights/demo -args -folder "$PWD/FOLDER"

import (
	"bytes"
	"encoding/binary"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var (
	trained   = flag.String("pack", "", "write model.rows from this model.safetensors")
	unpacking = flag.String("folder", "", "write config.json and model.safetensors into this folder")
)

// pack leaves out the rows of the embedding that are equal to the most frequent one.
func pack(whole []byte) []byte {
	head := 8 + int(binary.LittleEndian.Uint64(whole))
	row := func(i int) []byte { return whole[head+i*rowBytes:][:rowBytes] }
	count, shared := map[string]int{}, ""
	for i := range rows {
		r := string(row(i))
		if count[r]++; count[r] > count[shared] {
			shared = r
		}
	}
	marks := make([]byte, (rows+7)/8)
	var stored []byte
	for i := range rows {
		if r := row(i); string(r) != shared {
			marks[i/8] |= 1 << (i % 8)
			stored = append(stored, r...)
		}
	}
	packed := append([]byte(nil), whole[:head]...)
	packed = append(append(append(packed, marks...), shared...), stored...)
	return append(packed, whole[head+rows*rowBytes:]...)
}

func TestTheEmbeddedFileIsWhatPackMakes(t *testing.T) {
	if *trained != "" {
		whole, err := os.ReadFile(*trained)
		if err == nil {
			err = os.WriteFile("model.rows", pack(whole), 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
		return // what is embedded is the former one
	}
	if !bytes.Equal(pack(Weights()), packed) {
		t.Error("model.rows is not what pack makes of the weights")
	}
	if *unpacking == "" {
		return
	}
	if err := os.MkdirAll(*unpacking, 0o777); err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{"config.json": Config(), "model.safetensors": Weights()} {
		if err := os.WriteFile(filepath.Join(*unpacking, name), b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}
