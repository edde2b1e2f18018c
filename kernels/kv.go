package kernels

// The blocks of a cache of keys and values: their layout in memory, in float32, binary16 or 8 bits,
// and how keys and values are stored.

import "fmt"

// A KV is the keys, or the values, of one block of positions for some heads, one after the other.
// One of the slices is set, as the number format of the cache requires.
//
// A block has room for a number of positions that is a multiple of KVRoom. A head's keys are a matrix
// [head_dim, room] and its values a matrix [room, head_dim]: head_dim·room numbers each. In F32
// these are packed Panels, which the register tile reads. In F16, which is widened for the tile,
// they are row-major, so that one query reads a whole block in order.
//
// A cache in F16 rounds each number once, to nearest even, when it is stored and before it is read.
// If the rounded number is not finite (beyond 65504), a NaN is stored: an infinite key could be
// hidden by a score of −Inf. A cache in Q8 rounds keys and values to integers with scales: see
// round8. A key or a value with a number of 2¹⁰⁰ or more is stored as NaNs.
type KV struct {
	F32 []float32
	F16 []uint16 // the bits of IEEE 754 binary16
	Q8  []byte   // integers and scales: see kvquant.go. It begins at a multiple of 4
}

// MakeKV makes a block of n elements in F32, F16 or Q8: see [KVRow].
func MakeKV(format Format, n int) KV {
	switch format {
	case F32:
		return KV{F32: make([]float32, n)}
	case F16:
		return KV{F16: make([]uint16, n)}
	case Q8:
		b := KV{F32: make([]float32, (n+3)/4)}.Bytes()
		return KV{Q8: b[:n:n]}
	}
	panic(fmt.Sprintf("kernels: keys and values in %v, want f32, f16 or q8", format))
}

// KVBytes returns the memory of n elements of a block.
func KVBytes(format Format, n int) int64 {
	switch format {
	case F16:
		return 2 * int64(n)
	case Q8:
		return int64(n)
	}
	return 4 * int64(n)
}

// KVRow returns how many elements of a block a head takes for each position: for a key of dk numbers
// and for a value of dv. In Q8 an element is a byte.
func KVRow(format Format, dk, dv int) (key, value int) {
	if format == Q8 {
		return keyRowQ8(dk), valueRowQ8(dv)
	}
	return dk, dv
}

// KVRoom returns the least number of positions that a block has room for. Every room is a multiple.
func KVRoom(format Format) int {
	if format == Q8 {
		return quantBlock
	}
	return 8
}

// format returns the number format of b.
func (b KV) format() Format {
	switch {
	case b.F16 != nil:
		return F16
	case b.Q8 != nil:
		return Q8
	}
	return F32
}

// Part returns the elements from … to of b.
func (b KV) Part(from, to int) KV {
	switch {
	case b.F16 != nil:
		return KV{F16: b.F16[from:to:to]}
	case b.Q8 != nil:
		return KV{Q8: b.Q8[from:to:to]}
	}
	return KV{F32: b.F32[from:to:to]}
}

// from returns the elements of b from index i on.
func (b KV) from(i int) KV { return b.Part(i, len(b.F32)+len(b.F16)+len(b.Q8)) }

// copy copies all elements of another block to the beginning of b.
func (b KV) copy(from KV) {
	copy(b.F32, from.F32)
	copy(b.F16, from.F16)
	copy(b.Q8, from.Q8)
}

// storeKV writes n keys [dk], which lie ldk apart, and n values [dv], which lie ldv apart, to a
// block with that room, from position j on. k and v begin at the head. It is part of one worker's
// task, and does not wait at a barrier.
func (w *Worker) storeKV(
	k, v KV, room, j, n int, key []float32, ldk, dk int, value []float32, ldv, dv int,
) {
	switch {
	case k.Q8 != nil:
		for i := range n {
			w.storeQ8(k, v, room, j+i, key[i*ldk:i*ldk+dk], value[i*ldv:i*ldv+dv])
		}
		return
	case k.F16 == nil:
		keys := Panels{Data: k.F32, K: dk, Cols: room}
		keys.PackColumns(j, key, ldk, n)
		values := Panels{Data: v.F32, K: room, Cols: dv}
		values.PackRows(j, value, ldv, n)
		return
	}
	half := w.halves(n * dk)
	for i := range n {
		w.team.variant.round16(half[i*dk:(i+1)*dk], key[i*ldk:])
		w.team.variant.round16(v.F16[(j+i)*dv:(j+i+1)*dv], value[i*ldv:])
	}
	for d := range dk {
		for i := range k.F16[d*room+j:][:n] {
			k.F16[d*room+j+i] = half[i*dk+d]
		}
	}
}

// MoveKV copies the keys and values of some heads to a block of the same format with at least as
// much room.
func MoveKV(kTo, vTo KV, roomTo int, kFrom, vFrom KV, room, heads, dk, dv int) {
	rowK, rowV := KVRow(kFrom.format(), dk, dv)
	if room == roomTo {
		kTo.copy(kFrom.Part(0, heads*rowK*room))
		vTo.copy(vFrom.Part(0, heads*rowV*room))
		return
	}
	for h := range heads {
		kFrom, vFrom := kFrom.from(h*rowK*room), vFrom.from(h*rowV*room)
		kTo, vTo := kTo.from(h*rowK*roomTo), vTo.from(h*rowV*roomTo)
		switch {
		case kFrom.Q8 != nil:
			kTo.copy(kFrom.Part(0, rowK*room))
			moveQ8(vTo, roomTo, vFrom, room, dv)
			continue
		case kFrom.F16 == nil:
			movePanels(kTo.F32, dk, roomTo, kFrom.F32, dk, room)
			movePanels(vTo.F32, roomTo, dv, vFrom.F32, room, dv)
			continue
		}
		for i := range dk {
			copy(kTo.F16[i*roomTo:][:room], kFrom.F16[i*room:])
		}
		copy(vTo.F16[:room*dv], vFrom.F16)
	}
}

// movePanels copies packed panels [rows, cols] to those of a matrix that is at least as large.
func movePanels(to []float32, rowsTo, colsTo int, from []float32, rows, cols int) {
	for j := 0; j < cols; j += panelCols {
		for k := range rows {
			src, n := packedPanel(rows, cols, j, k)
			dst, _ := packedPanel(rowsTo, colsTo, j, k)
			copy(to[dst:dst+n], from[src:])
		}
	}
}

// round16 rounds to F16, to nearest even. A result that is not finite becomes a NaN.
func round16(dst []uint16, src []float32) {
	for i := range dst {
		h := Half(src[i])
		if h&0x7c00 == 0x7c00 {
			h |= 0x0200
		}
		dst[i] = h
	}
}

// eightsBy is an operation by a leaf for the elements before the last len(dst) mod 8.
func eightsBy[T, U float32 | uint16](leaf, rest func(dst []T, src []U)) func(dst []T, src []U) {
	return func(dst []T, src []U) {
		leaf(dst, src)
		if whole := len(dst) &^ 7; whole < len(dst) {
			rest(dst[whole:], src[whole:])
		}
	}
}

// chainKV is chain16 in F16, for one query of a cache. It may prefetch soon: a line from each of
// its four places for every two inputs, and some more at the end.
func chainKV(y, x []float32, w []uint16, ldw int, _ soon) { chain16(y, x, w, ldw, false) }
