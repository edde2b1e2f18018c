package weights

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/nlpodyssey/safetensors"
)

// FuzzOpen: no bytes make the loader panic, errors stay on one line, and what
// opens can be used and written back to a file that opens the same. Whatever opens opens with
// nlpodyssey's port of the format's own library too, and gives the same tensors.
func FuzzOpen(f *testing.F) {
	for _, c := range malformed() {
		if len(c.file) < 4096 {
			f.Add(c.file)
		}
	}
	f.Add(raw(`{"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F16","shape":[1,3],"data_offsets":[8,14]}}`, 14))
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := FromBytes("x", b)
		if err != nil {
			wantError(t, err, "x: ")
			return
		}
		sameAsTheLibrary(t, b, file)
		total := 0
		for _, x := range file.All() {
			total += len(x.Data)
			if int64(len(x.Data)) != x.Size() {
				t.Errorf("%s: %d bytes of data for %s %v", x.Name, len(x.Data), x.DType, x.Shape)
			}
			if v, err := x.Float32s(); err == nil && len(v) != x.Len() {
				t.Errorf("%s: %d floats for shape %v", x.Name, len(v), x.Shape)
			}
			if v, err := x.Uint16s(); err == nil && len(v) != x.Len() {
				t.Errorf("%s: %d halves for shape %v", x.Name, len(v), x.Shape)
			}
		}
		if total > len(b) {
			t.Errorf("tensors of %d bytes in a file of %d", total, len(b))
		}
		var out bytes.Buffer
		if err := Write(&out, file.Metadata(), file.All()); err != nil {
			t.Fatalf("what opened cannot be written: %v", err)
		}
		again, err := FromBytes("again", out.Bytes())
		if err != nil {
			t.Fatalf("what was written does not open: %v", err)
		}
		for _, x := range file.All() {
			y, ok := again.Tensor(x.Name)
			if !ok || y.DType != x.DType || fmt.Sprint(y.Shape) != fmt.Sprint(x.Shape) ||
				!bytes.Equal(x.Data, y.Data) {
				t.Errorf("%s changed on the way", x.Name)
			}
		}
	})
}

// sameAsTheLibrary reads b with github.com/nlpodyssey/safetensors, which this package does not use.
func sameAsTheLibrary(t *testing.T, b []byte, got *Tensors) {
	t.Helper()
	want, err := safetensors.Deserialize(b)
	if err != nil {
		t.Fatalf("nlpodyssey/safetensors refuses what opens here: %v", err)
	}
	if want.Len() != len(got.All()) {
		t.Fatalf("%d tensors, nlpodyssey/safetensors has %d", len(got.All()), want.Len())
	}
	for _, x := range got.All() {
		view, ok := want.Tensor(x.Name)
		if !ok || view.DType().String() != string(x.DType) || !bytes.Equal(view.Data(), x.Data) ||
			fmt.Sprint(view.Shape()) != fmt.Sprint(x.Shape) {
			t.Errorf("%s: %s %v, nlpodyssey/safetensors has %v", x.Name, x.DType, x.Shape, view)
		}
	}
}

// FuzzIndex: every shard that an index may name is a plain file name.
func FuzzIndex(f *testing.F) {
	for _, s := range []string{
		`{"weight_map":{"a":"s1.safetensors"}}`, `{"weight_map":{"a":"../x"}}`,
		`{"weight_map":{"a":null}}`, `{"metadata":{},"weight_map":{}}`, `[]`, ``,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		where, err := parseIndex(b)
		if err != nil {
			wantError(t, err)
			return
		}
		for _, shard := range (Index{listings: where}).Shards() {
			if bytes.ContainsAny([]byte(shard), "/\\\x00\n") || shard == "" || shard == "." ||
				shard == ".." {
				t.Errorf("shard %q", shard)
			}
		}
	})
}
