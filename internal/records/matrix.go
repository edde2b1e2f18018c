package records

// Matrices: vectors as a file that NumPy or safetensors reads, a row each.

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
)

// A Matrix writes rows of float32 as one matrix [rows, width]. How many there are is written at the
// beginning, when all are there.
type Matrix struct {
	width  int
	header func(rows int) []byte // always as long
	w      io.Writer
	rows   int
	buffer []byte
}

// npyHeader is the length of the header that NumPy itself writes for most files.
const npyHeader = 128

// NPY returns a matrix in the format of NumPy's version 1.0.
func NPY(width int) *Matrix {
	return &Matrix{width: width, header: func(rows int) []byte {
		head := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }", rows,
			width)
		const begin = "\x93NUMPY\x01\x00" // then two bytes with the length of what follows
		return fmt.Appendf([]byte(begin), "%c\x00%-*s\n", npyHeader-len(begin)-2,
			npyHeader-len(begin)-3, head)
	}}
}

// Safetensors returns a matrix as the one tensor of a file. metadata is short.
func Safetensors(width int, name string, metadata map[string]string) *Matrix {
	head := func(rows int) string {
		b, _ := json.Marshal(map[string]any{"__metadata__": metadata, name: map[string]any{
			"dtype": "F32", "shape": []int{rows, width}, "data_offsets": []int{0, 4 * rows * width},
		}})
		return string(b)
	}
	length := (len(head(math.MaxInt/4/width)) + 63) / 64 * 64 // spaces may follow the object
	return &Matrix{width: width, header: func(rows int) []byte {
		b := binary.LittleEndian.AppendUint64(nil, uint64(length))
		return fmt.Appendf(b, "%-*s", length, head(rows))
	}}
}

// Begin begins to write. w is an io.WriterAt too.
func (m *Matrix) Begin(w io.Writer) error {
	m.w = w
	_, err := w.Write(m.header(0))
	return err
}

// Write writes a row; nil is one of NaN.
func (m *Matrix) Write(row []float32) error {
	m.rows++
	m.buffer = m.buffer[:0]
	for i := range m.width {
		x := float32(math.NaN())
		if row != nil {
			x = row[i]
		}
		m.buffer = binary.LittleEndian.AppendUint32(m.buffer, math.Float32bits(x))
	}
	_, err := m.w.Write(m.buffer)
	return err
}

// End writes how many rows there are.
func (m *Matrix) End() error {
	_, err := m.w.(io.WriterAt).WriteAt(m.header(m.rows), 0)
	return err
}
