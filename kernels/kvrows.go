package kernels

// The blocks of a cache as plain rows, for files and other devices: head after head, position after
// position.

import (
	"math"
	"unsafe"
)

// Bytes returns the memory of b, whose numbers are in this machine's byte order.
func (b KV) Bytes() []byte {
	switch {
	case b.F16 != nil:
		return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(b.F16))), 2*len(b.F16))
	case b.Q8 != nil:
		return b.Q8
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(b.F32))), 4*len(b.F32))
}

// PlainRow returns how many elements a key or a value of dim numbers takes in plain rows. In Q8 these
// are the integers, int8, and then the scales: of a key, bfloat16 for each 32 integers, of a value one
// float32. Their least byte is the first on every machine, and zeros fill what is left.
func PlainRow(format Format, dim int) int {
	if format == Q8 {
		return plainRowQ8(dim)
	}
	return dim
}

// Finite reports whether no number of plain rows, keys and then as many values of dim numbers, is a
// NaN or an infinity.
func (b KV) Finite(dim int) bool {
	const exponent, exponent16 = 0xff << 23, 0x7c00
	for _, x := range b.F32 {
		if math.Float32bits(x)&exponent == exponent {
			return false
		}
	}
	for _, x := range b.F16 {
		if x&exponent16 == exponent16 {
			return false
		}
	}
	return finiteQ8(b.Q8, dim)
}

// ReadKV sets keys [heads, n, dk] and values [heads, n, dv] to the first n positions of a block
// with that room. Rows are as long as PlainRow says.
func ReadKV(keys, values KV, k, v KV, room, n, heads, dk, dv int) {
	format := k.format()
	rowK, rowV := KVRow(format, dk, dv)
	plainK, plainV := PlainRow(format, dk), PlainRow(format, dv)
	for h := range heads {
		k, v := k.from(h*rowK*room), v.from(h*rowV*room)
		keys, values := keys.from(h*n*plainK), values.from(h*n*plainV)
		switch format {
		case Q8:
			for i := range n {
				readQ8(keys.Q8[i*plainK:(i+1)*plainK], values.Q8[i*plainV:(i+1)*plainV], k, v, room,
					i, dk, dv)
			}
			continue
		case F16:
			transpose16(keys.F16, dk, k.F16, room, dk, n)
			copy(values.F16[:n*dv], v.F16)
			continue
		}
		for j := 0; j < n; j += panelCols {
			at, width := packedPanel(dk, room, j, 0)
			Transpose(keys.F32[j*dk:], dk, k.F32[at:], width, dk, min(width, n-j))
		}
		for j := 0; j < dv; j += panelCols {
			for i := range n {
				at, width := packedPanel(room, dv, j, i)
				copy(values.F32[i*dv+j:][:width], v.F32[at:])
			}
		}
	}
}

// WriteKV sets the first n positions of a block with that room to keys [heads, n, dk] and values
// [heads, n, dv].
func WriteKV(k, v KV, room int, keys, values KV, n, heads, dk, dv int) {
	format := k.format()
	rowK, rowV := KVRow(format, dk, dv)
	plainK, plainV := PlainRow(format, dk), PlainRow(format, dv)
	for h := range heads {
		k, v := k.from(h*rowK*room), v.from(h*rowV*room)
		keys, values := keys.from(h*n*plainK), values.from(h*n*plainV)
		switch format {
		case Q8:
			for i := range n {
				writeQ8(k, v, room, i, keys.Q8[i*plainK:(i+1)*plainK],
					values.Q8[i*plainV:(i+1)*plainV], dk, dv)
			}
			continue
		case F16:
			transpose16(k.F16, room, keys.F16, dk, n, dk)
			copy(v.F16, values.F16[:n*dv])
			continue
		}
		columns := Panels{Data: k.F32, K: dk, Cols: room}
		columns.PackColumns(0, keys.F32, dk, n)
		rows := Panels{Data: v.F32, K: room, Cols: dv}
		rows.PackRows(0, values.F32, dv, n)
	}
}

// transpose16 is Transpose of 16-bit numbers.
func transpose16(dst []uint16, ldd int, src []uint16, lds, n, k int) {
	for i := range n {
		for j, x := range src[i*lds:][:k] {
			dst[j*ldd+i] = x
		}
	}
}
