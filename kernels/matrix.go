package kernels

// A weight matrix in one of the number formats.

import (
	"fmt"
	"unsafe"
)

// A Format is how a matrix's numbers are stored.
type Format uint8

// The number formats. F16 is IEEE 754 binary16. Q8 and Q4 store blocks of integers with a scale
// (see quant.go).
const (
	F32 Format = iota
	F16
	BF16
	Q8
	Q4
)

var formatNames = [...]string{"f32", "f16", "bf16", "q8", "q4"}

func (f Format) String() string {
	if int(f) < len(formatNames) {
		return formatNames[f]
	}
	return fmt.Sprintf("Format(%d)", uint8(f))
}

// A Layout is the order of a matrix's numbers in F32, F16 and BF16.
type Layout uint8

const (
	InOut Layout = iota // [in, out]: GPT-2's Conv1D weights. Linear runs chains.
	// [out, in]: wte as the logits' head, PyTorch's nn.Linear. Linear runs lanes.
	OutIn
)

// A Matrix is the weights of a linear layer: a view, which is never written. Format says which of
// the slices is set.
type Matrix struct {
	Format  Format
	Layout  Layout
	In, Out int
	F32     []float32 // F32, [in, out] or [out, in]
	F16     []uint16  // the bits of F16 or BF16, in the same order
	Blocks  []byte    // Q8, Q4: in the layout of quant.go, for either Layout

	// numbers from the weights of one input to those of the next in [in, out]; 0 means Out. It is
	// more in a matrix that Columns returned.
	Stride int
}

// Columns returns the n outputs of m from output from on, as a view of an [in, out] matrix. It
// reports false if a block of Q8 or Q4 would have to be cut.
func (m *Matrix) Columns(from, n int) (view Matrix, ok bool) {
	view = Matrix{Format: m.Format, Layout: m.Layout, In: m.In, Out: n, Stride: m.stride()}
	switch {
	case m.Layout != InOut:
		return view, false
	case m.Format == F32:
		view.F32 = m.F32[min(from, len(m.F32)):]
	case m.Format == F16 || m.Format == BF16:
		view.F16 = m.F16[min(from, len(m.F16)):]
	case from%quantCols != 0:
		return view, false
	default:
		size := blocksOf(m.In) * m.Format.tileBytes()
		view.Blocks = m.Blocks[from/quantCols*size : (from+n+quantCols-1)/quantCols*size]
	}
	return view, true
}

func (m *Matrix) stride() int {
	if m.Stride != 0 {
		return m.Stride
	}
	return m.Out
}

// Bytes returns the number of bytes of the weights, which a decoding step must read.
func (m *Matrix) Bytes() int64 {
	return int64(len(m.F32))*4 + int64(len(m.F16))*2 + int64(len(m.Blocks))
}

// weightBytes returns the size of one weight in F32, F16 or BF16.
func (m *Matrix) weightBytes() int {
	if m.Format == F32 {
		return 4
	}
	return 2
}

// Touch reads a weight of every 32 KiB of some matrices, and returns how many that this worker read
// are not 0. Linux maps 64 KiB of a file when one byte is first read, and workers that come upon
// the same bytes, or the same table of pages, wait for each other: so the first time this takes
// less than it saves. It ends with a barrier.
func Touch(w *Worker, matrices ...*Matrix) (found int) {
	next, first := w.Next(), 0
	for _, m := range matrices {
		tasks := int(m.Bytes()+touchTask-1) / touchTask
		for ; next < first+tasks; next = w.Next() {
			at := (next - first) * touchTask
			found += touch(m.F32, at/4) + touch(m.F16, at/2) + touch(m.Blocks, at)
		}
		first += tasks
	}
	w.Sync()
	return found
}

const (
	touchStep = 32 << 10
	touchTask = 2 << 20 // what a table of pages maps
)

// touch is a task from weight i on. Addresses are multiples, for all matrices of a file: where it is
// not in memory Linux reads 128 KiB, and the next 128 once the page at 32 of them is asked for.
func touch[T float32 | uint16 | byte](weights []T, i int) (found int) {
	if i >= len(weights) {
		return 0
	}
	size := int(unsafe.Sizeof(weights[0]))
	end := min(len(weights), i+touchTask/size)
	i += int(-uintptr(unsafe.Pointer(&weights[i]))%touchStep) / size
	for ; i < end; i += touchStep / size {
		if weights[i] != 0 {
			found++
		}
	}
	return found
}

// Row sets dst to the weights of output i; dst[k] is that of input k. If m is wte, this is a
// token's embedding. In the layout InOut the numbers are apart.
func (m *Matrix) Row(dst []float32, i int) {
	switch {
	case m.Format == Q8 || m.Format == Q4:
		m.quantRow(dst, i)
	case m.Layout == InOut:
		for k := range dst[:m.In] {
			if at := k*m.stride() + i; m.Format == F32 {
				dst[k] = m.F32[at]
			} else {
				dst[k] = widen(m.F16[at], m.bf16())
			}
		}
	case m.Format == F32:
		copy(dst, m.F32[i*m.In:(i+1)*m.In])
	default:
		convert16(dst[:m.In], m.F16[i*m.In:(i+1)*m.In], m.bf16())
	}
}

func (m *Matrix) bf16() bool { return m.Format == BF16 }

// check panics with the sizes if a caller's slices do not have them.
func (m *Matrix) check(dst, x []float32, rows int, bias []float32) {
	if len(x) < rows*m.In || len(dst) < rows*m.Out || bias != nil && len(bias) != m.Out {
		panic(fmt.Sprintf("kernels: Linear [%d,%d] on %d rows: x has %d numbers, dst %d, bias %d",
			m.In, m.Out, rows, len(x), len(dst), len(bias)))
	}
}
