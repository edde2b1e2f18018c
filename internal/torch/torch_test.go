package torch

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"picogpt/dev/fixture"
	"picogpt/internal/folder"
	"picogpt/internal/pickle"

	"picogpt/dev/cases"

	"picogpt/kernels"
	"picogpt/weights"
)

// numbers returns the elements of a tensor of any type.
func numbers(t *testing.T, x *Tensor, name string) []float64 {
	t.Helper()
	w, err := x.Weights(name)
	if err != nil {
		t.Fatal(err)
	}
	b, err := w.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	var all []float64
	for e := range slices.Chunk(b, w.DType.Size()) {
		var whole [8]byte
		copy(whole[:], e)
		n := binary.LittleEndian.Uint64(whole[:])
		switch w.DType {
		case weights.F32:
			all = append(all, float64(math.Float32frombits(uint32(n))))
		case weights.F16:
			all = append(all, float64(kernels.FromHalf(uint16(n))))
		case weights.BF16:
			all = append(all, float64(math.Float32frombits(uint32(n)<<16)))
		case weights.F64:
			all = append(all, math.Float64frombits(n))
		default:
			all = append(all, float64(n))
		}
	}
	return all
}

// open opens a file of testdata.
func open(t *testing.T, name string) *File {
	t.Helper()
	f, err := Open(folder.Dir("testdata"), name)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// TestFilesOfPyTorch: testdata/make.py says what they hold.
func TestFilesOfPyTorch(t *testing.T) {
	count := func(from, n int) (all []float64) {
		for i := range n {
			all = append(all, float64(from+i))
		}
		return all
	}
	pick := func(all ...float64) []float64 { return all }
	var transposed, permuted, greater []float64
	for i := range 24 {
		transposed = append(transposed, float64(i%4*6+i/4))
		greater = append(greater, map[bool]float64{true: 1}[i > 3])
	}
	for k := range 4 { // of [2, 3, 4], the last dimension comes first
		for i := range 2 {
			for j := range 3 {
				permuted = append(permuted, float64(i*12+j*4+k))
			}
		}
	}
	two := []int{4, 6}
	wants := []struct {
		name  string
		shape []int
		want  []float64
	}{
		{"f32", two, count(0, 24)}, {"transposed", []int{6, 4}, transposed},
		{"column", []int{4}, pick(1, 7, 13, 19)},
		{"block", []int{2, 3}, pick(8, 9, 10, 14, 15, 16)},
		{"permuted", []int{4, 2, 3}, permuted}, {"again", two, count(0, 24)},
		{"expanded", []int{3, 2}, pick(7, 7, 7, 7, 7, 7)}, {"scalar", nil, pick(5)},
		{"empty", []int{0, 3}, nil}, {"f16", two, count(0, 24)}, {"bf16", two, count(0, 24)},
		{"f64", two, count(0, 24)}, {"u8", two, count(0, 24)}, {"i8", two, count(0, 24)},
		{"i16", two, count(0, 24)}, {"i32", two, count(0, 24)}, {"i64", two, count(0, 24)},
		{"bool", two, greater}, {"parameter", two, count(0, 24)}, {"odd", []int{3}, count(0, 3)},
		{"after", two, count(100, 24)},
	}
	for _, form := range []string{"zip", "legacy"} {
		for protocol := 2; protocol <= 5; protocol++ {
			name := fmt.Sprintf("%s%d.pt", form, protocol)
			d := open(t, name).Root.(*pickle.Dict)
			if len(d.Keys) != len(wants) {
				t.Errorf("%s: %v", name, d.Keys)
			}
			for _, c := range wants {
				v, _ := d.Get(c.name)
				x, ok := v.(*Tensor)
				if !ok {
					t.Errorf("%s: %s: %s", name, c.name, pickle.Kind(v))
					continue
				}
				if got := numbers(t, x, c.name); !slices.Equal(got, c.want) ||
					!slices.Equal(x.Shape(), c.shape) {
					t.Errorf("%s: %s: %v %v, want %v %v", name, c.name, x.Shape(), got, c.shape,
						c.want)
				}
			}
			a, _ := d.Get("f32")
			b, _ := d.Get("again")
			c, _ := d.Get("after")
			if !a.(*Tensor).Same(b.(*Tensor)) || a.(*Tensor).Same(c.(*Tensor)) {
				t.Errorf("%s: which tensors are the same", name)
			}
		}
	}
}

// TestPartsOfViews: a part of any view is that part of the whole.
func TestPartsOfViews(t *testing.T) {
	d := open(t, "zip2.pt").Root.(*pickle.Dict)
	for _, key := range d.Keys {
		v, _ := d.Get(key)
		w, err := v.(*Tensor).Weights(key.(string))
		if err != nil {
			t.Fatal(err)
		}
		if w.Fill == nil {
			continue
		}
		whole, err := w.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		width := w.DType.Size()
		for begin := 0; begin <= len(whole); begin += width {
			for end := begin; end <= len(whole); end += width {
				part := make([]byte, end-begin)
				if err := w.Fill(part, int64(begin)); err != nil ||
					string(part) != string(whole[begin:end]) {
					t.Fatalf("%s: bytes %d to %d: %v", key, begin, end, err)
				}
			}
		}
	}
}

// TestStoragesInOrderAreUsedInPlace: and nothing is made of them.
func TestStoragesInOrderAreUsedInPlace(t *testing.T) {
	d := open(t, "zip2.pt").Root.(*pickle.Dict)
	for _, name := range []string{"f32", "f16", "i64", "parameter", "scalar"} {
		v, _ := d.Get(name)
		if w, err := v.(*Tensor).Weights(name); err != nil || w.Data == nil {
			t.Errorf("%s is not in place, %v", name, err)
		}
	}
}

func TestOtherObjects(t *testing.T) {
	d := open(t, "nested.pt").Root.(*pickle.Dict)
	state, _ := d.Get("state")
	if x, ok := state.(*pickle.Dict); !ok || len(x.Keys) != 2 {
		t.Errorf("state: %s", pickle.Kind(state))
	}
	if size, _ := d.Get("size"); len(size.(pickle.Tuple)) != 2 {
		t.Errorf("size: %s", pickle.Kind(size))
	}
	module, ok := open(t, "module.pt").Root.(*pickle.Object)
	if want := (pickle.Class{Module: "torch.nn.modules.linear", Name: "Linear"}); !ok ||
		*module.Class != want {
		t.Errorf("module: %s", pickle.Kind(module))
	}
	for name, want := range map[string]string{
		"script.pt": "a TorchScript program",
		"make.py":   "not a file of torch.save",
		"none":      "no such file",
	} {
		if _, err := Open(folder.Dir("testdata"), name); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

// TestTensorsOfOtherKinds: they are no error of the file, and say what they are.
func TestTensorsOfOtherKinds(t *testing.T) {
	const want = ", want float32, float16, bfloat16 or float64"
	kinds := map[string]string{"conjugate": "a tensor of complex64" + want,
		"subclass": "a tensor of the class __main__.Mine, want a plain torch.Tensor",
		"jagged": "a tensor of the class torch.nested._internal.nested_tensor.NestedTensor, " +
			"want a plain torch.Tensor",
		"parameter":  "a tensor of float8_e4m3fn" + want,
		"sparse_coo": "a sparse tensor, want a dense one: save x.to_dense()",
		"sparse_csr": "a sparse tensor, want a dense one: save x.to_dense()",
		"qint8":      "a quantized tensor, want numbers: save x.dequantize()",
		"meta":       "a tensor without numbers, of the device meta, want one with them",
		"untyped":    "a storage", "numpy": "an array of NumPy", "tagged": "a tensor", "f32": "a tensor"}
	for _, dtype := range []string{"float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz",
		"float8_e5m2fnuz", "complex32", "complex64", "complex128", "uint16", "uint32", "uint64"} {
		kinds[dtype] = "a tensor of " + dtype + want
	}
	for _, name := range []string{"others-zip.pt", "others-legacy.pt"} {
		d := open(t, name).Root.(*pickle.Dict)
		if len(d.Keys) != len(kinds) {
			t.Errorf("%s: %v", name, d.Keys)
		}
		for _, key := range d.Keys {
			v, _ := d.Get(key)
			if kind := pickle.Kind(v); kind != kinds[key.(string)] {
				t.Errorf("%s: %s: %s, want %s", name, key, kind, kinds[key.(string)])
			}
		}
		v, _ := d.Get("f32")
		if got := numbers(t, v.(*Tensor), "f32"); got[0] != 100 || got[23] != 123 {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestMetadata: a view that negates its storage is not that storage's numbers.
func TestMetadata(t *testing.T) {
	for text, want := range map[string]string{
		"N.":                          "",
		"}.":                          "",
		"}X\x03\x00\x00\x00neg\x88s.": `a tensor with metadata, "neg"`,
		"K\x01.":                      "a tensor whose metadata are an integer, want a dict",
	} {
		metadata, err := pickle.Load([]byte(text), pickle.Options{})
		if err != nil {
			t.Fatal(err)
		}
		f := &File{}
		_, err = f.rebuild(pickle.Tuple{&storage{key: "0", dtype: weights.F32, count: 3}, int64(0),
			pickle.Tuple{int64(3)}, pickle.Tuple{int64(1)}, false, nil, metadata})
		if want == "" && err != nil || want != "" && (err == nil ||
			!strings.Contains(err.Error(), want)) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

// read opens what bytes are, and reads all its tensors. What it makes is bounded by limit.
func read(t *testing.T, b []byte) error {
	f, err := Open(folder.Memory{"x": b}, "x")
	if err != nil {
		return err
	}
	defer f.Close()
	d, ok := f.Root.(*pickle.Dict)
	if !ok {
		return nil
	}
	for _, key := range d.Keys {
		v, _ := d.Get(key)
		x, ok := v.(*Tensor)
		if !ok {
			continue
		}
		w, err := x.Weights(fmt.Sprint(key))
		if err != nil {
			return err
		}
		if w.Size() > int64(len(b)) {
			t.Errorf("%v: %d bytes of a file of %d", key, w.Size(), len(b))
		}
		if _, err := w.Bytes(); err != nil {
			return err
		}
	}
	return nil
}

// TestEveryCut: a file that is cut short anywhere is an error.
func TestEveryCut(t *testing.T) {
	cases.NotShort(t)
	for _, name := range []string{"zip2.pt", "legacy2.pt"} {
		b, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		for n := range b {
			if err := read(t, b[:n]); err == nil {
				t.Errorf("%s: %d of %d bytes are read without an error", name, n, len(b))
			}
		}
		if err := read(t, b); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzObject: no object makes a panic, and no tensor is larger than its file.
func FuzzObject(f *testing.F) {
	for _, name := range []string{"zip2.pt", "zip4.pt", "nested.pt", "module.pt", "others-zip.pt"} {
		b, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		a, err := readArchive(folder.Mapped{Bytes: b})
		if err != nil {
			f.Fatal(err)
		}
		root, _ := a.root()
		object, err := a.data(root + "data.pkl")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(object)
	}
	f.Fuzz(func(t *testing.T, object []byte) {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		add := func(name string, data []byte) {
			to, err := w.CreateHeader(&zip.FileHeader{Name: "x/" + name, Method: zip.Store})
			if err == nil {
				_, err = to.Write(data)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		add("data.pkl", object)
		for i := range 22 { // as many as testdata's have, of the size of most
			add(fmt.Sprint("data/", i), make([]byte, 96))
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if err := read(t, b.Bytes()); err != nil && (len(err.Error()) > 500 ||
			strings.ContainsAny(err.Error(), "\n\x1b")) {
			t.Errorf("not one plain line: %q", err)
		}
	})
}

// FuzzOpen: no bytes make a panic, and what is made is not larger than the file.
func FuzzOpen(f *testing.F) {
	for _, name := range []string{"zip2.pt", "zip4.pt", "legacy2.pt", "nested.pt", "script.pt",
		"others-legacy.pt"} {
		b, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	dir := f.TempDir()
	all, err := fixture.Hostiles("../../checkpoint/testdata/hostile.tar.gz", dir)
	if err != nil {
		f.Fatal(err)
	}
	for _, h := range all {
		for _, name := range []string{"pytorch_model.bin", "ckpt.pt"} {
			if b, err := os.ReadFile(dir + "/" + h.Dir + "/" + name); err == nil && len(b) < 20_000 {
				f.Add(b)
			}
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := read(t, b); err != nil && (len(err.Error()) > 500 ||
			strings.ContainsAny(err.Error(), "\n\x1b")) {
			t.Errorf("not one plain line: %q", err)
		}
	})
}

// TestTensorsEndWithTheirStorage looks at the last number of tensors with and without dimensions.
func TestTensorsEndWithTheirStorage(t *testing.T) {
	for _, shape := range [][]int64{{}, {1}, {2}, {1, 2}} {
		last := int64(2)
		if n := len(shape); n > 0 {
			last -= shape[n-1] - 1
		}
		for offset := range int64(5) {
			x := &Tensor{storage: &storage{count: 3}, offset: offset, strides: make([]int64, len(shape))}
			for i := range x.strides {
				x.strides[i] = 1
			}
			if err := x.check(shape); (err == nil) != (offset <= last) {
				t.Errorf("shape %v at %d of 3 numbers: %v", shape, offset, err)
			}
		}
	}
}
