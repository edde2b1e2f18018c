// Element types, and tensors as floats or raw bits.

package weights

import (
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"

	"picogpt/kernels"
)

// A DType is an element type, spelled as in safetensors.
type DType string

// The element types that a file may have. Only F32, F16, BF16 and F64 are read
// as floats; the others are carried as bytes.
const (
	BOOL DType = "BOOL"
	U8   DType = "U8"
	I8   DType = "I8"
	I16  DType = "I16"
	U16  DType = "U16"
	F16  DType = "F16"
	BF16 DType = "BF16"
	I32  DType = "I32"
	U32  DType = "U32"
	F32  DType = "F32"
	F64  DType = "F64"
	I64  DType = "I64"
	U64  DType = "U64"
)

// Size returns the bytes of one element, 0 for an unknown type.
func (d DType) Size() int {
	switch d {
	case BOOL, U8, I8:
		return 1
	case I16, U16, F16, BF16:
		return 2
	case I32, U32, F32:
		return 4
	case F64, I64, U64:
		return 8
	}
	return 0
}

// Float32s returns the elements as float32s. For an F32 tensor these are the file's own bytes, if
// they are in order and alignment and byte order allow it; they must not be written to. All others
// are converted into new memory: F16 and BF16 exactly, F64 rounded to nearest. It is an error if
// that rounding makes zeros of all numbers and some were not zero.
func (t Tensor) Float32s() ([]float32, error) {
	switch t.DType {
	case F32, F16, BF16, F64:
	default:
		return nil, fmt.Errorf("%s: type %s, want F32, F16, BF16 or F64", t.Name, t.DType)
	}
	src, err := t.Bytes()
	if err != nil {
		return nil, err
	}
	n := len(src) / t.DType.Size()
	if t.DType == F32 && littleEndian() && aligned(src, 4) {
		return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(src))), n), nil
	}
	dst := make([]float32, n)
	switch t.DType {
	case F32:
		for i := range dst {
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
		}
	case F16:
		for i := range dst {
			dst[i] = kernels.FromHalf(binary.LittleEndian.Uint16(src[2*i:]))
		}
	case BF16: // the upper half of a float32
		for i := range dst {
			dst[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(src[2*i:])) << 16)
		}
	case F64:
		var there, kept uint64
		for i := range dst {
			bits := binary.LittleEndian.Uint64(src[8*i:])
			dst[i] = float32(math.Float64frombits(bits))
			there, kept = there|bits<<1, kept|uint64(math.Float32bits(dst[i])<<1)
		}
		if there != 0 && kept == 0 {
			return nil, fmt.Errorf("%s: F32 makes zeros of all numbers, which are not in F64", t.Name)
		}
	}
	return dst, nil
}

// Uint16s returns the raw bits of an F16 or BF16 tensor. They are the file's own bytes, if these
// are in order and alignment and byte order allow it; they must not be written to.
func (t Tensor) Uint16s() ([]uint16, error) {
	if t.DType != F16 && t.DType != BF16 {
		return nil, fmt.Errorf("%s: type %s, want F16 or BF16", t.Name, t.DType)
	}
	src, err := t.Bytes()
	if err != nil {
		return nil, err
	}
	n := len(src) / 2
	if littleEndian() && aligned(src, 2) {
		return unsafe.Slice((*uint16)(unsafe.Pointer(unsafe.SliceData(src))), n), nil
	}
	dst := make([]uint16, n)
	for i := range dst {
		dst[i] = binary.LittleEndian.Uint16(src[2*i:])
	}
	return dst, nil
}

// littleEndian reports whether this machine's floats have the byte order of the file.
func littleEndian() bool { return binary.NativeEndian.Uint16([]byte{1, 0}) == 1 }

// aligned reports whether b may be viewed as elements of the given size.
func aligned(b []byte, size uintptr) bool {
	return uintptr(unsafe.Pointer(unsafe.SliceData(b)))%size == 0
}
