// One tensor, whose elements lie in memory as they are needed or have to be made.

package weights

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"picogpt/internal/folder"
)

// A Tensor is one named array of a checkpoint, row-major. Its elements are little-endian. Either
// Data holds them or Fill makes them.
type Tensor struct {
	Name  string
	DType DType
	Shape []int  // empty for a scalar
	Data  []byte // read-only, and valid until Tensors.Close

	// Fill makes the elements if Data is nil: elements that a file has in another order or in
	// quantized blocks, or that lie in another program's memory. It sets dst to the tensor's bytes
	// from byte `from` on. Both are multiples of an element's size, dst ends within the tensor, and
	// several goroutines may fill parts of it at once.
	Fill func(dst []byte, from int64) error

	// Done, if not nil, is called when Fill has made the whole tensor: the memory that it was made
	// of is no longer needed soon. Fill may be called again.
	Done func()

	Added bool // in no file: a bias of zeros, for an architecture without one

	turned *Tensor // the tensor of which Transposed returned this one
}

// Far is the Fill of tensors whose elements are on another machine and are not read.
func Far([]byte, int64) error {
	return errors.New("on another machine: only headers are read from there")
}

// Len returns the number of elements, the product of Shape.
func (t Tensor) Len() int {
	n := 1
	for _, d := range t.Shape {
		n *= d
	}
	return n
}

// Size returns the bytes of all elements.
func (t Tensor) Size() int64 { return int64(t.Len()) * int64(t.DType.Size()) }

// Bytes returns the elements: Data if it is set, else new memory.
func (t Tensor) Bytes() ([]byte, error) {
	if t.Data != nil || t.Fill == nil {
		return t.Data, nil
	}
	dst := make([]byte, t.Size())
	folder.LargePages(dst)
	pieces := t.pieces()
	count, fill := len(pieces)-1, func(i int) error {
		return t.Fill(dst[pieces[i]:pieces[i+1]], pieces[i])
	}
	if t.turned != nil { // every row of the whole matrix is read, each once
		count, fill = t.turned.strips(), func(i int) error { return t.turned.turn(dst, i) }
	}
	if err := together(count, fill); err != nil {
		return nil, fmt.Errorf("%s: %w", t.Name, err)
	}
	if t.Done != nil {
		t.Done()
	}
	return dst, nil
}

// together calls f with 0 to n-1 on all processors, and returns the error of the lowest number.
func together(n int, f func(i int) error) error {
	failed := make([]error, n)
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		workers.Go(func() {
			for i := next.Add(1) - 1; int(i) < n; i = next.Add(1) - 1 {
				failed[i] = f(int(i))
			}
		})
	}
	workers.Wait()
	return cmp.Or(failed...)
}

// pieceRows divides the number of rows of each piece that Fill is asked for. It is the size of the
// largest quantized block, so that no block is decoded twice when a matrix of blocks is transposed.
const pieceRows = 256

// pieces returns the borders, in bytes, of the parts in which Fill makes a tensor.
func (t Tensor) pieces() []int64 {
	size, piece := t.Size(), int64(1<<20)
	if len(t.Shape) > 1 && t.Shape[0] > 0 {
		rows := pieceRows * (size / int64(t.Shape[0]))
		piece = rows * max(1, piece/max(1, rows))
	}
	borders := []int64{0}
	for at := piece; at < size; at += piece {
		borders = append(borders, at)
	}
	return append(borders, size)
}

// Equal reports whether two tensors have the same type, shape and bytes.
func (t Tensor) Equal(u Tensor) (bool, error) {
	if t.DType != u.DType || !slices.Equal(t.Shape, u.Shape) {
		return false, nil
	}
	a, err := t.Bytes()
	if err != nil {
		return false, err
	}
	b, err := u.Bytes()
	return err == nil && bytes.Equal(a, b), err
}
