package kernels

// Integers in the models of the leaves in AVX-512 assembly: see zmm_test.go.

import (
	"encoding/binary"
	"math/bits"
)

// A zint is a 512-bit register of int32. Instructions on words and bytes take the lanes apart.
type zint [16]int32

// broadcastI sets every lane to x.
func broadcastI(x int32) (z zint) {
	for i := range z {
		z[i] = x
	}
	return z
}

// halvesI sets lanes 0–7 to low and the others to high.
func halvesI(low, high int32) (z zint) {
	for i := range z {
		z[i] = low
		if i >= 8 {
			z[i] = high
		}
	}
	return z
}

// widenBytes is VPMOVSXBW: 32 bytes become words.
func widenBytes(b []byte) (z zint) {
	for i := range z {
		z[i] = int32(int8(b[2*i]))&0xffff | int32(int8(b[2*i+1]))<<16
	}
	return z
}

// twice is VBROADCASTI64X4: 32 bytes in both halves.
func twice(b []byte) (z zint) {
	for i := range z {
		z[i] = int32(binary.LittleEndian.Uint32(b[i%8*4:]))
	}
	return z
}

// widenScales is VPMOVZXWD and a shift: 16 numbers in bfloat16 become float32.
func widenScales(b []byte) (z zmm) {
	for i := range z {
		z[i] = widen(binary.LittleEndian.Uint16(b[2*i:]), true)
	}
	return z
}

// and is VPANDD.
func (z zint) and(x zint) zint {
	for i := range z {
		z[i] &= x[i]
	}
	return z
}

// shiftWords is VPSRLVW: each word to the right by as much as the same word of by says.
func (z zint) shiftWords(by zint) zint {
	for i := range z {
		low, high := uint16(z[i])>>uint16(by[i]), uint16(z[i]>>16)>>uint16(by[i]>>16)
		z[i] = int32(uint32(high)<<16 | uint32(low))
	}
	return z
}

// add is VPADDD.
func (z *zint) add(x zint) {
	for i := range z {
		z[i] += x[i]
	}
}

// addWords is VPDPWSSD: a lane gains the sum of two products of words.
func (z *zint) addWords(x, y zint) {
	for i := range z {
		z[i] += int32(int16(x[i]))*int32(int16(y[i])) + x[i]>>16*(y[i]>>16)
	}
}

// addBytes is VPDPBUSD: a lane gains the sum of four products of bytes, those of x without a sign.
func (z *zint) addBytes(x, y zint) {
	for i := range z {
		for n := range 4 {
			z[i] += int32(uint8(x[i]>>(8*n))) * int32(int8(y[i]>>(8*n)))
		}
	}
}

// floats is VCVTDQ2PS.
func (z zint) floats() (f zmm) {
	for i := range z {
		f[i] = float32(z[i])
	}
	return f
}

// pairAt returns the pair of words, or the four bytes, at index i of a row in memory.
func pairAt(q []int16, i int) int32 {
	return int32(uint16(q[2*i])) | int32(q[2*i+1])<<16
}

func fourAt(b []byte, i int) int32 { return int32(binary.LittleEndian.Uint32(b[4*i:])) }

// rowBytes are the 128 bytes that quantOne4AVX512 makes of 32 integers: high bytes, low bytes, what
// the high ones cannot hold, and the mask of that, each four in the order 0, 2, 1, 3.
type rowBytes struct {
	high, low, rest [quantBlock]byte
	mask            uint32
}

func makeRowBytes(q []int16) (r rowBytes) {
	for k := range quantBlock {
		at := k &^ 3 // where the byte of input k goes
		at += []int{0, 2, 1, 3}[k%4]
		sum := min(int32(q[k])+128, 1<<15-1) // VPADDSW
		r.high[at], r.low[at] = byte(sum>>8), byte(q[k])
		if q[k] > 0x7f7f {
			r.rest[at] = 1
			r.mask |= bits.RotateLeft32(1, k)
		}
	}
	return r
}
