package records

// Matrices, read back: safetensors with package weights, NumPy's as its format says.

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"

	"picogpt/internal/outfile"
	"picogpt/weights"
)

// written returns the file of a matrix.
func written(t *testing.T, m *Matrix, rows [][]float32) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m")
	err := outfile.WriteFile(t.Context(), path, outfile.Options{}, func(w io.Writer) error {
		if err := m.Begin(w); err != nil {
			return err
		}
		for _, row := range rows {
			if err := m.Write(row); err != nil {
				return err
			}
		}
		return m.End()
	})
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestMatrices(t *testing.T) {
	for n := range 12 {
		var rows [][]float32
		for i := range n {
			rows = append(rows, []float32{float32(i), -0.5, 1e-20})
		}
		if n > 5 {
			rows[5] = nil
		}
		npy := written(t, NPY(3), rows)
		head := fmt.Sprintf("\x93NUMPY\x01\x00v\x00%-117s\n",
			fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, 3), }", n))
		if string(npy[:128]) != head || len(npy) != 128+12*n {
			t.Errorf("%q and %d bytes, want %q and %d", npy[:128], len(npy)-128, head, 12*n)
		}
		f, err := weights.FromBytes("m", written(t, Safetensors(3, "embeddings",
			map[string]string{"layer": "2"}), rows))
		if err != nil {
			t.Fatal(err)
		}
		tensor, ok := f.Tensor("embeddings")
		if !ok || fmt.Sprint(tensor.Shape) != fmt.Sprintf("[%d 3]", n) {
			t.Fatalf("%v, shape %v", ok, tensor.Shape)
		}
		if got := f.Metadata()["layer"]; got != "2" {
			t.Errorf("layer %q", got)
		}
		for _, data := range [][]byte{npy[128:], tensor.Data} {
			for i := range 3 * n {
				x := math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
				if row := rows[i/3]; row == nil && x == x || row != nil && x != row[i%3] {
					t.Errorf("%d rows: number %d is %v", n, i, x)
				}
			}
		}
	}
}
