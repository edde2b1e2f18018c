// Package arrayfile writes arrays of float32 as files that NumPy and safetensors read. The shapes
// stand at the beginning of a file, so they are known before its numbers.
package arrayfile

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"sync/atomic"

	"picogpt/weights"
)

// A Format is a format of files, named as their names end.
type Format string

// The formats.
const (
	NPY         Format = "npy"         // NumPy's, version 1.0: one array, without a name
	Safetensors Format = "safetensors" // arrays with names, and metadata
)

// FormatOf returns the format that the name of a file asks for, "" for another name.
func FormatOf(name string) Format {
	for _, f := range []Format{NPY, Safetensors} {
		if strings.HasSuffix(strings.ToLower(name), "."+string(f)) {
			return f
		}
	}
	return ""
}

// Rows is the first dimension of an array that is as long as what is written. It is the file's only
// array.
const Rows = -1

// An Array is the name and the shape of an array, row-major.
type Array struct {
	Name  string
	Shape []int
}

// Len returns the number of elements.
func (a Array) Len() int { return weights.Tensor{Shape: a.Shape}.Len() }

// A Writer writes one file.
type Writer struct {
	w        io.Writer
	format   Format
	metadata map[string]string
	arrays   []Array
	header   int     // its bytes
	starts   []int64 // before which element of the file each array begins

	written atomic.Int64 // elements
	buffers sync.Pool    // of *[]byte
}

// Begin writes the beginning of a file. The metadata is for Safetensors, and short.
func Begin(w io.Writer, f Format, metadata map[string]string, arrays ...Array) (*Writer, error) {
	a := &Writer{w: w, format: f, metadata: metadata, arrays: arrays}
	a.buffers.New = func() any { return new([]byte) }
	at := int64(0)
	for i := range arrays {
		a.starts = append(a.starts, at)
		at += int64(arrays[i].Len())
	}
	rows := 0
	if a.grows() { // leave room for the most rows that there can be
		rows = math.MaxInt / 8 / a.rowLen()
	}
	head, err := a.head(rows)
	if err != nil {
		return nil, err
	}
	a.header = len(head)
	_, err = w.Write(head)
	return a, err
}

func (a *Writer) grows() bool { return len(a.arrays[0].Shape) > 0 && a.arrays[0].Shape[0] == Rows }

// rowLen returns how many numbers a row of an array that grows has.
func (a *Writer) rowLen() int { return max(1, Array{Shape: a.arrays[0].Shape[1:]}.Len()) }

// head returns what the file begins with, at least a.header bytes. Of an array that grows it says
// that it has so many rows.
func (a *Writer) head(rows int) ([]byte, error) {
	shape := func(a Array) []int {
		if len(a.Shape) > 0 && a.Shape[0] == Rows {
			return append([]int{rows}, a.Shape[1:]...)
		}
		return a.Shape
	}
	if a.format == NPY {
		return npyHead(shape(a.arrays[0]), a.header), nil
	}
	var tensors []weights.Tensor
	for _, array := range a.arrays {
		tensors = append(tensors, weights.Tensor{Name: array.Name, DType: weights.F32,
			Shape: shape(array)})
	}
	b, err := weights.Header(a.metadata, tensors)
	if err == nil && len(b) < a.header { // spaces may follow
		b = fmt.Appendf(b, "%*s", a.header-len(b), "")
		binary.LittleEndian.PutUint64(b, uint64(len(b)-8))
	}
	return b, err
}

// npyHead returns the beginning of a file of NumPy, at least so many bytes: a multiple of 64, and
// the 128 that NumPy itself writes for most arrays.
func npyHead(shape []int, least int) []byte {
	dims := ""
	for _, n := range shape {
		dims += fmt.Sprintf("%d, ", n)
	}
	if len(shape) > 1 {
		dims = strings.TrimSuffix(dims, ", ")
	} else {
		dims = strings.TrimSuffix(dims, " ") // (3,)
	}
	text := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%s), }", dims)
	const begin = "\x93NUMPY\x01\x00" // then two bytes with the length of what follows
	length := max(128, least, (len(begin)+2+len(text)+1+63)/64*64)
	b := binary.LittleEndian.AppendUint16([]byte(begin), uint16(length-len(begin)-2))
	return fmt.Appendf(b, "%-*s\n", length-len(b)-1, text)
}

// Write writes the numbers that come next, array after array.
func (a *Writer) Write(x []float32) error {
	return a.encode(x, func(b []byte) error {
		_, err := a.w.Write(b)
		return err
	})
}

// WriteAt writes numbers of an array from its element at on. The file is an io.WriterAt. Several
// goroutines may call it at a time, each for other numbers.
func (a *Writer) WriteAt(array, at int, x []float32) error {
	return a.encode(x, func(b []byte) error {
		_, err := a.w.(io.WriterAt).WriteAt(b, int64(a.header)+4*(a.starts[array]+int64(at)))
		return err
	})
}

func (a *Writer) encode(x []float32, write func([]byte) error) error {
	b := a.buffers.Get().(*[]byte)
	defer a.buffers.Put(b)
	var err error
	if *b, err = binary.Append((*b)[:0], binary.LittleEndian, x); err == nil {
		err = write(*b)
	}
	if err == nil {
		a.written.Add(int64(len(x)))
	}
	return err
}

// End checks that all numbers are written. Of an array that grows it writes how many rows there
// are; the file is an io.WriterAt then.
func (a *Writer) End() error {
	written, last := a.written.Load(), len(a.arrays)-1
	if !a.grows() {
		if want := a.starts[last] + int64(a.arrays[last].Len()); written != want {
			return fmt.Errorf("%d numbers, want %d", written, want)
		}
		return nil
	}
	head, err := a.head(int(written) / a.rowLen())
	if err == nil {
		_, err = a.w.(io.WriterAt).WriteAt(head, 0)
	}
	return err
}
