package weights

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestAWrittenFileIsTheseBytes(t *testing.T) {
	var b bytes.Buffer
	err := Write(&b, map[string]string{"format": "pt", "a": "<&>\n"}, []Tensor{
		{Name: "q", DType: U8, Shape: []int{3}, Data: []byte{1, 2, 3}},
		{Name: "w", DType: F32, Shape: []int{}, Data: []byte{0, 0, 128, 63}},
	})
	if err != nil {
		t.Fatal(err)
	}
	header := `{"__metadata__":{"a":"<&>\n","format":"pt"},` +
		`"w":{"dtype":"F32","shape":[],"data_offsets":[0,4]},"q":{"dtype":"U8","shape":[3],"data_offsets":[4,7]}}`
	header += strings.Repeat(" ", 184-len(header)) // 8 + 184 = 3·64
	want := binary.LittleEndian.AppendUint64(nil, 184)
	want = append(append(want, header...), 0, 0, 128, 63, 1, 2, 3)
	if !bytes.Equal(b.Bytes(), want) {
		t.Errorf("wrote %q\nwant  %q", b.Bytes(), want)
	}
}

func TestWhatIsWrittenOpensTheSame(t *testing.T) {
	var all []Tensor
	for i, d := range []DType{BOOL, U8, I8, I16, U16, F16, BF16, I32, U32, F32, F64, I64, U64} {
		shape := []int{3, i}
		data := bytes.Repeat([]byte{byte(i)}, 3*i*d.Size())
		all = append(all, Tensor{Name: "h." + string(d) + "_é", DType: d, Shape: shape, Data: data})
	}
	path := filepath.Join(t.TempDir(), "out.safetensors")
	meta := map[string]string{"format": "pt", `quote"`: "é\u2028"}
	if err := WriteFile(context.Background(), path, meta, all); err != nil {
		t.Fatal(err)
	}
	f, err := openPath(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if fmt.Sprint(f.Metadata()) != fmt.Sprint(meta) || f.Name() != path {
		t.Errorf("metadata %q of %s, want %q of %s", f.Metadata(), f.Name(), meta, path)
	}
	for _, w := range all {
		g, ok := f.Tensor(w.Name)
		if !ok || g.DType != w.DType || fmt.Sprint(g.Shape) != fmt.Sprint(w.Shape) || !bytes.Equal(g.Data, w.Data) {
			t.Errorf("%s: %v %s %v % x", w.Name, ok, g.DType, g.Shape, g.Data)
		}
		if !aligned(g.Data, uintptr(w.DType.Size())) && len(g.Data) > 0 {
			t.Errorf("%s: not aligned", w.Name)
		}
	}
	if len(f.All()) != len(all) {
		t.Errorf("%d tensors, want %d", len(f.All()), len(all))
	}
	if _, ok := f.Tensor("none"); ok {
		t.Error("has a tensor that nobody wrote")
	}
}

// madeOf returns t with a Fill instead of its Data.
func madeOf(t Tensor) Tensor {
	data := t.Data
	t.Data = nil
	t.Fill = func(dst []byte, from int64) error {
		copy(dst, data[from:from+int64(len(dst))])
		return nil
	}
	return t
}

func TestFilledTensorsGiveTheSameFile(t *testing.T) {
	whole := Tensor{Name: "a", DType: F32, Shape: []int{1000, 500}, Data: noise(4 * 1000 * 500)}
	streamed := madeOf(whole)
	var a, b bytes.Buffer
	if err := errors.Join(Write(&a, nil, []Tensor{whole}), Write(&b, nil, []Tensor{streamed})); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Error("the files differ")
	}
}

func TestWriteRefusesWhatOpenWould(t *testing.T) {
	full := errors.New("disk full")
	ok := Tensor{Name: "a", DType: U8, Shape: []int{2}, Data: []byte{1, 2}}
	with := func(change func(*Tensor)) []Tensor {
		x := ok
		change(&x)
		return []Tensor{x}
	}
	var many []Tensor
	for i := range maxHeader / 40 {
		many = append(many, Tensor{Name: fmt.Sprint(i), DType: U8, Shape: []int{0}})
	}
	for _, c := range []struct {
		name    string
		tensors []Tensor
		want    []string
	}{
		{"short data", with(func(x *Tensor) { x.Data = x.Data[:1] }), []string{"a: 1 bytes of data, want 2"}},
		{"no data", with(func(x *Tensor) { x.Data = nil }), []string{"a: 0 bytes of data, want 2"}},
		{"broken fill", with(func(x *Tensor) { x.Data, x.Fill = nil, func([]byte, int64) error { return full } }), []string{"a: disk full"}},
		{"same name", []Tensor{ok, ok}, []string{"a: name used twice"}},
		{"reserved name", with(func(x *Tensor) { x.Name = "__metadata__" }), []string{"__metadata__: name used twice"}},
		{"invalid name", with(func(x *Tensor) { x.Name = "\xff" }), []string{"unprintable"}},
		{"unknown type", with(func(x *Tensor) { x.DType = "F4" }), []string{`a: unknown type "F4"`}},
		{"negative shape", with(func(x *Tensor) { x.Shape = []int{-1, -2} }), []string{"a: shape"}},
		{"overflowing shape", with(func(x *Tensor) { x.Shape = []int{1 << 30, 1 << 30, 64} }), []string{"a: shape"}},
		{"header too large", many, []string{"header of", "want at most"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			wantError(t, Write(io.Discard, nil, c.tensors), c.want...)
			dir := t.TempDir()
			path := filepath.Join(dir, "out.safetensors")
			wantError(t, WriteFile(context.Background(), path, nil, c.tensors), append(c.want, path+": ")...)
			if left, _ := os.ReadDir(dir); len(left) > 0 {
				t.Errorf("a failed WriteFile leaves %s", left[0].Name())
			}
		})
	}
}

// TestReplacingAnOpenFileLeavesItsReaderAlone: if the system cannot replace a mapped file, writing
// returns an error, and the file does not change.
func TestReplacingAnOpenFileLeavesItsReaderAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.safetensors")
	const size = 1 << 16
	write := func(v byte) error {
		one := Tensor{Name: "a", DType: U8, Shape: []int{size}, Data: bytes.Repeat([]byte{v}, size)}
		return WriteFile(context.Background(), path, nil, []Tensor{one})
	}
	open := func() *Tensors {
		t.Helper()
		opened, err := openPath(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { opened.Close() })
		return opened
	}
	holds := func(opened *Tensors, v byte) {
		t.Helper()
		if a, _ := opened.Tensor("a"); a.Data[0] != v || a.Data[size-1] != v {
			t.Errorf("holds %d and %d, want %d", a.Data[0], a.Data[size-1], v)
		}
	}
	if err := write(1); err != nil {
		t.Fatal(err)
	}
	before := open()
	holds(before, 1)
	now := byte(2)
	if err := write(now); err != nil {
		if runtime.GOOS != "windows" {
			t.Fatal(err)
		}
		now = 1
	}
	holds(before, 1)
	holds(open(), now)
}
