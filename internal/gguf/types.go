package gguf

// Types: how the elements of a tensor are stored, and which types are read.

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unsafe"

	"picogpt/weights"
)

// A Type says how the elements of a tensor are stored, with ggml's number.
type Type uint32

// The types that are read. All except the first three are blocks of quantized weights.
const (
	F32   Type = 0
	F16   Type = 1
	BF16  Type = 30
	Q4_0  Type = 2
	Q4_1  Type = 3
	Q5_0  Type = 6
	Q5_1  Type = 7
	Q8_0  Type = 8
	Q2_K  Type = 10
	Q3_K  Type = 11
	Q4_K  Type = 12
	Q5_K  Type = 13
	Q6_K  Type = 14
	IQ4NL Type = 20
	IQ4XS Type = 23
)

// maxElements bounds a tensor, so that no later product with the number of its elements overflows.
const maxElements = math.MaxInt / 8

// A layout is the form of a type in a file.
type layout struct {
	name     string
	elements int                               // of a block
	bytes    int                               // of a block
	decode   func(dst []float32, block []byte) // sets dst to a block's weights; nil for floats
}

// layouts are the forms of the types that are read.
var layouts = [...]layout{
	F32: {"F32", 1, 4, nil}, F16: {"F16", 1, 2, nil}, BF16: {"BF16", 1, 2, nil},
	Q4_0: {"Q4_0", 32, 18, q40}, Q4_1: {"Q4_1", 32, 20, q41}, Q5_0: {"Q5_0", 32, 22, q50},
	Q5_1: {"Q5_1", 32, 24, q51}, Q8_0: {"Q8_0", 32, 34, q80}, Q2_K: {"Q2_K", 256, 84, q2k},
	Q3_K: {"Q3_K", 256, 110, q3k}, Q4_K: {"Q4_K", 256, 144, q4k}, Q5_K: {"Q5_K", 256, 176, q5k},
	Q6_K: {"Q6_K", 256, 210, q6k}, IQ4NL: {"IQ4_NL", 32, 18, iq4nl},
	IQ4XS: {"IQ4_XS", 256, 136, iq4xs},
}

// layout returns the form of a type in a file. ok is false for types that are not read.
func (t Type) layout() (l layout, ok bool) {
	if int64(t) < int64(len(layouts)) {
		l = layouts[t]
	}
	return l, l.bytes > 0
}

// String returns ggml's name of a type, also of types that are not read.
func (t Type) String() string {
	if l, ok := t.layout(); ok {
		return l.name
	}
	names := map[Type]string{4: "Q4_2", 5: "Q4_3", 9: "Q8_1", 15: "Q8_K", 16: "IQ2_XXS",
		17: "IQ2_XS", 18: "IQ3_XXS", 19: "IQ1_S", 21: "IQ3_S", 22: "IQ2_S", 24: "I8", 25: "I16",
		26: "I32", 27: "I64", 28: "F64", 29: "IQ1_M", 31: "Q4_0_4_4", 32: "Q4_0_4_8",
		33: "Q4_0_8_8", 34: "TQ1_0", 35: "TQ2_0", 36: "IQ4_NL_4_4", 37: "IQ4_NL_4_8",
		38: "IQ4_NL_8_8", 39: "MXFP4", 40: "NVFP4"}
	if name, ok := names[t]; ok {
		return name
	}
	return fmt.Sprintf("number %d", uint32(t))
}

// Quantized reports whether elements are stored in blocks, with less precision than floats.
func (t Type) Quantized() bool {
	l, ok := t.layout()
	return ok && l.decode != nil
}

// size returns the bytes of a tensor, whose elements are at most maxElements.
func (t Type) size(shape []int) (int64, error) {
	l, ok := t.layout()
	if !ok {
		return 0, fmt.Errorf("type %s, want F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K to "+
			"Q6_K, IQ4_NL or IQ4_XS", t)
	}
	if row := shape[len(shape)-1]; row%l.elements != 0 {
		return 0, fmt.Errorf("rows of %d, want whole blocks of %d for type %s", row, l.elements, t)
	}
	n := 1
	for _, d := range shape {
		n *= d
	}
	return int64(n/l.elements) * int64(l.bytes), nil
}

// Elements returns the tensor with elements of floats: those of the file or, for blocks, the exact
// weights, rounded once to float32 and made when they are needed.
func (t Tensor) Elements() weights.Tensor {
	w := weights.Tensor{Name: t.Name, Shape: t.Shape, DType: weights.F32, Data: t.Data}
	fill := t.fill
	if t.Data == nil {
		w.Fill, fill = weights.Far, weights.Far
	}
	switch t.Type {
	case F32:
	case F16:
		w.DType = weights.F16
	case BF16:
		w.DType = weights.BF16
	default:
		w.Data, w.Fill = nil, fill
	}
	return w
}

// fill implements weights.Tensor's Fill.
func (t Tensor) fill(dst []byte, from int64) error {
	l, ok := t.Type.layout()
	if !ok || l.decode == nil {
		return errors.New("type " + t.Type.String() + " has no blocks")
	}
	size := 4 * l.elements
	// for a block of which only a part is wanted, or which dst cannot hold in place
	var block []float32
	for len(dst) > 0 {
		at, skip := int(from)/size*l.bytes, int(from)%size
		done := min(size-skip, len(dst))
		if whole, ok := floats(dst[:done]); ok && done == size {
			l.decode(whole, t.Data[at:at+l.bytes])
		} else {
			if block == nil {
				block = make([]float32, l.elements)
			}
			l.decode(block, t.Data[at:at+l.bytes])
			for i, x := range block[skip/4 : (skip+done)/4] {
				binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(x))
			}
		}
		dst, from = dst[done:], from+int64(done)
	}
	return nil
}

// floats returns little-endian bytes as floats in place, if the machine is little-endian.
func floats(b []byte) ([]float32, bool) {
	p := unsafe.Pointer(unsafe.SliceData(b))
	if uintptr(p)%4 != 0 || binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		return nil, false
	}
	return unsafe.Slice((*float32)(p), len(b)/4), true
}
