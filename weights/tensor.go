// One tensor: where its elements lie in memory as they are wanted, and where they must be made.

package weights

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// A Tensor is one named array of a checkpoint, row-major. Its elements are little-endian. Either
// Data holds them or Fill makes them.
type Tensor struct {
	Name  string
	DType DType
	Shape []int  // empty for a scalar
	Data  []byte // read-only, and valid until Tensors.Close

	// Fill makes the elements where Data is nil: those that a file has in another order or in
	// quantized blocks, and those that another program's memory holds. It sets dst to the bytes of
	// the tensor from byte `from` on. Both are multiples of an element's size, dst ends within the
	// tensor, and several goroutines may fill parts of it at once.
	Fill func(dst []byte, from int64) error

	// Done, if not nil, is called when Fill has made the whole tensor: what it was made of may leave
	// the memory. Fill may be called again.
	Done func()
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

// Bytes returns the elements: Data where there is one, else in new memory.
func (t Tensor) Bytes() ([]byte, error) {
	if t.Data != nil || t.Fill == nil {
		return t.Data, nil
	}
	dst := make([]byte, t.Size())
	pieces := t.pieces()
	failed := make([]error, len(pieces)-1)
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(failed)) {
		workers.Go(func() {
			for i := next.Add(1) - 1; int(i) < len(failed); i = next.Add(1) - 1 {
				failed[i] = t.Fill(dst[pieces[i]:pieces[i+1]], pieces[i])
			}
		})
	}
	workers.Wait()
	for _, err := range failed {
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.Name, err)
		}
	}
	if t.Done != nil {
		t.Done()
	}
	return dst, nil
}

// pieceRows divides the rows of every piece that Fill is asked for: the size of the largest
// quantized block, so that where a matrix of blocks is transposed none is decoded twice.
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

// Transposed returns a matrix [rows, cols] as [cols, rows].
func (t Tensor) Transposed() Tensor {
	rows, cols, width := t.Shape[0], t.Shape[1], t.DType.Size()
	from := t
	t.Shape, t.Data = []int{cols, rows}, nil
	t.Fill = func(dst []byte, at int64) error {
		return from.columns(dst, int(at)/width, rows, cols)
	}
	return t
}

// columns sets dst to the elements of the transpose of t from number `at` on, column after column.
// Columns are taken many at a time, since neighbours in a row lie together.
func (t Tensor) columns(dst []byte, at, rows, cols int) error {
	const most = pieceRows
	width := t.DType.Size()
	buffer := make([]byte, most*width)
	for n := len(dst) / width; n > 0; {
		col, row := at/rows, at%rows
		count := min(most, cols-col, n/rows)
		height := rows
		if row != 0 || count == 0 { // a part of one column
			count, height = 1, min(rows-row, n)
		}
		for r := range height {
			part := buffer[:count*width]
			begin := ((row+r)*cols + col) * width
			if t.Data != nil {
				part = t.Data[begin : begin+len(part)]
			} else if err := t.Fill(part, int64(begin)); err != nil {
				return err
			}
			scatter(dst[r*width:], part, height*width, width)
		}
		done := count * height
		dst, at, n = dst[done*width:], at+done, n-done
	}
	return nil
}

// scatter sets dst[0], dst[stride], … to the elements of src, all in bytes.
func scatter(dst, src []byte, stride, width int) {
	switch width {
	case 2:
		for i := 0; i+2 <= len(src); i += 2 {
			*(*[2]byte)(dst) = [2]byte(src[i:])
			dst = dst[min(stride, len(dst)):]
		}
	case 4:
		for i := 0; i+4 <= len(src); i += 4 {
			*(*[4]byte)(dst) = [4]byte(src[i:])
			dst = dst[min(stride, len(dst)):]
		}
	default:
		for i := 0; i < len(src); i += width {
			copy(dst, src[i:i+width])
			dst = dst[min(stride, len(dst)):]
		}
	}
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
