package main

// Files, read back: safetensors with package weights, NumPy's as its format says.

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"picogpt/internal/outfile"
	"picogpt/weights"
)

// writtenArrays returns the file that write writes.
func writtenArrays(
	t *testing.T, f arrayFormat, arrays []arrayShape, write func(*arrayWriter) error,
) (file []byte, err error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m")
	err = outfile.WriteFile(t.Context(), path, outfile.Options{}, func(w io.Writer) error {
		a, err := beginArrays(w, f, map[string]string{"layer": "2"}, arrays...)
		if err == nil {
			err = write(a)
		}
		if err == nil {
			err = a.end()
		}
		return err
	})
	if err == nil {
		file, err = os.ReadFile(path)
	}
	return file, err
}

// numbers are the first n natural numbers as float32s, some of them changed.
func numbers(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(i)
	}
	if n > 3 {
		x[1], x[2], x[3] = float32(math.NaN()), float32(math.Inf(-1)), 1e-40
	}
	return x
}

// holds compares bytes of a file with numbers, bit for bit.
func holds(t *testing.T, what string, b []byte, want []float32) {
	t.Helper()
	if len(b) != 4*len(want) {
		t.Fatalf("%s: %d bytes, want %d", what, len(b), 4*len(want))
	}
	for i, x := range want {
		if got := binary.LittleEndian.Uint32(b[4*i:]); got != math.Float32bits(x) {
			t.Errorf("%s: number %d is %08x, want %v", what, i, got, x)
		}
	}
}

func TestAnArrayGrows(t *testing.T) {
	growing := []arrayShape{{"embeddings", []int{growingRows, 3}}}
	for n := range 12 {
		want := numbers(3 * n)
		rows := func(w *arrayWriter) error {
			for i := range n {
				if err := w.write(want[3*i : 3*i+3]); err != nil {
					return err
				}
			}
			return nil
		}
		npy, err := writtenArrays(t, npyArrays, growing, rows)
		if err != nil {
			t.Fatal(err)
		}
		head := fmt.Sprintf("\x93NUMPY\x01\x00v\x00%-117s\n",
			fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, 3), }", n))
		if string(npy[:128]) != head {
			t.Errorf("%q, want %q", npy[:128], head)
		}
		holds(t, "npy", npy[128:], want)
		file, err := writtenArrays(t, safetensorsArrays, growing, rows)
		if err != nil {
			t.Fatal(err)
		}
		f, err := weights.FromBytes("m", file)
		if err != nil {
			t.Fatal(err)
		}
		tensor, ok := f.Tensor("embeddings")
		if !ok || !slices.Equal(tensor.Shape, []int{n, 3}) || f.Metadata()["layer"] != "2" {
			t.Fatalf("%v, shape %v, metadata %v", ok, tensor.Shape, f.Metadata())
		}
		holds(t, "safetensors", tensor.Data, want)
	}
}

func TestArraysAreWrittenInAnyOrder(t *testing.T) {
	arrays := []arrayShape{{"a", []int{2, 3}}, {"b", []int{4, 1, 2}}, {"c", []int{5}}}
	all := numbers(19)
	inOrder, err := writtenArrays(t, safetensorsArrays, arrays,
		func(w *arrayWriter) error { return w.write(all) })
	if err != nil {
		t.Fatal(err)
	}
	parts := [][3]int{{2, 3, 5}, {2, 0, 3}, {1, 6, 8}, {1, 0, 6}, {0, 1, 6}, {0, 0, 1}}
	backwards, err := writtenArrays(t, safetensorsArrays, arrays, func(w *arrayWriter) error {
		for _, p := range parts {
			from := []int{0, 6, 14}[p[0]]
			if err := w.writeAt(p[0], p[1], all[from+p[1]:from+p[2]]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || string(backwards) != string(inOrder) {
		t.Errorf("error %v, or other bytes", err)
	}
	f, err := weights.FromBytes("m", inOrder)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]float32{all[:6], all[6:14], all[14:]} {
		holds(t, arrays[i].Name, f.All()[i].Data, want)
	}
}

func TestShapesOfNumPy(t *testing.T) {
	for want, shape := range map[string][]int{"()": {}, "(3,)": {3}, "(0, 7)": {0, 7},
		"(12, 1024, 1024)": {12, 1024, 1024}} {
		if got := string(npyHead(shape, 0)); !strings.Contains(got, "'shape': "+want+", }") ||
			len(got) != 128 || got[127] != '\n' {
			t.Errorf("%v: %q", shape, got)
		}
	}
	if b := npyHead(slices.Repeat([]int{1e9}, 8), 0); len(b)%64 != 0 || len(b) < 150 ||
		int(binary.LittleEndian.Uint16(b[8:])) != len(b)-10 {
		t.Errorf("%q", b)
	}
}

// A file whose numbers are not all written is no file.
func TestNumbersThatAreMissingAreAnError(t *testing.T) {
	for _, n := range []int{0, 5, 7} {
		_, err := writtenArrays(t, npyArrays, []arrayShape{{"a", []int{2, 3}}},
			func(w *arrayWriter) error { return w.write(numbers(n)) })
		if want := fmt.Sprintf("%d numbers, want 6", n); err == nil ||
			!strings.HasSuffix(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	for name, arrays := range map[string][]arrayShape{
		"a: name used twice": {{"a", []int{1}}, {"a", []int{1}}},
		"empty name":         {{"", []int{1}}},
		"more elements":      {{"a", []int{1 << 20, 1 << 20, 1 << 30}}},
	} {
		_, err := writtenArrays(t, safetensorsArrays, arrays, func(*arrayWriter) error { return nil })
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("error %v, want %q", err, name)
		}
	}
}

func TestFormatsByName(t *testing.T) {
	for name, want := range map[string]arrayFormat{"a.npy": npyArrays, "x/A.NPY": npyArrays,
		"b.safetensors": safetensorsArrays, "npy": "", "a.json": "", "a.npy.gz": "", "": ""} {
		if got := arrayFormatOf(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
