package main

// ggml's number formats for matrices, row by row.

import (
	"encoding/binary"
	"math"

	"picogpt/kernels"
)

// A ggmlType is one of ggml's types, with ggml's number.
type ggmlType uint32

const (
	ggmlF32 ggmlType = 0
	ggmlF16 ggmlType = 1
	ggmlQ4  ggmlType = 2
	ggmlQ8  ggmlType = 8
)

// String returns ggml's name.
func (t ggmlType) String() string {
	return map[ggmlType]string{ggmlF32: "f32", ggmlF16: "f16", ggmlQ4: "q4_0", ggmlQ8: "q8_0"}[t]
}

// fileType returns llama.cpp's number for a file mostly of type t.
func (t ggmlType) fileType() int {
	if t == ggmlQ8 {
		return 7
	}
	return int(t)
}

// size returns the bytes of n values, in whole blocks of 32 if t has blocks.
func (t ggmlType) size(n int) int {
	switch t {
	case ggmlF32:
		return 4 * n
	case ggmlF16:
		return 2 * n
	case ggmlQ8:
		return n / 32 * 34
	}
	return n / 32 * 18
}

// encode appends x, whose length is a multiple of 32 if t has blocks.
func (t ggmlType) encode(dst []byte, x []float32) []byte {
	switch t {
	case ggmlF32:
		return append(dst, floatBytes(x)...)
	case ggmlF16:
		for _, v := range x {
			dst = binary.LittleEndian.AppendUint16(dst, kernels.Half(v))
		}
		return dst
	}
	for ; len(x) > 0; x = x[32:] {
		if t == ggmlQ8 {
			dst = appendQ8(dst, (*[32]float32)(x))
		} else {
			dst = appendQ4(dst, (*[32]float32)(x))
		}
	}
	return dst
}

// appendQ8 appends a q8_0 block: d as float16, then 32 signed bytes q; a value is q·d.
func appendQ8(dst []byte, x *[32]float32) []byte {
	d := widest(x) / 127
	dst = binary.LittleEndian.AppendUint16(dst, kernels.Half(abs(d)))
	for _, v := range x {
		dst = append(dst, byte(int8(nearest(v, abs(d)))))
	}
	return dst
}

// appendQ4 appends a q4_0 block: d as float16, then 16 bytes with value i in the low half and i+16
// in the high; a value is (q−8)·d. The value farthest from 0 gets q = 0, because that end of the
// range has one step more.
func appendQ4(dst []byte, x *[32]float32) []byte {
	d := widest(x) / -8
	dst = binary.LittleEndian.AppendUint16(dst, kernels.Half(d))
	q := func(v float32) byte { return byte(min(15, nearest(v, d)+8)) }
	for i := range 16 {
		dst = append(dst, q(x[i])|q(x[i+16])<<4)
	}
	return dst
}

// widest returns the value furthest from 0, with its sign.
func widest(x *[32]float32) float32 {
	w := float32(0)
	for _, v := range x {
		if abs(v) > abs(w) {
			w = v
		}
	}
	return w
}

// nearest returns v/d rounded, and 0 for a block of zeros.
func nearest(v, d float32) int {
	if d == 0 {
		return 0
	}
	return int(math.RoundToEven(float64(v / d)))
}

func abs(x float32) float32 { return float32(math.Abs(float64(x))) }

func floatBytes(x []float32) []byte {
	b := make([]byte, 0, 4*len(x))
	for _, v := range x {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}
