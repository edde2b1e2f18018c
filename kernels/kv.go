package kernels

// The blocks of a cache of keys and values: how they lie in memory, in float32 or binary16, and how
// keys and values get there.

import "fmt"

// A KV is the keys, or the values, of one block of positions: some heads, one after the other. One
// of the slices is set, by the number format of the cache.
//
// With room for so many positions, a multiple of 8, a head's keys are the Panels [head_dim, room]
// and its values the Panels [room, head_dim], packed: head_dim·room numbers each.
//
// A cache in F16 rounds each number once, to nearest even, when it is stored and before anything
// reads it. What is then not finite, which a number above 65504 may be, is stored as a NaN: an
// infinite key could hide in a score of −Inf.
type KV struct {
	F32 []float32
	F16 []uint16 // the bits of IEEE 754 binary16
}

// MakeKV makes a block of n numbers in F32 or F16.
func MakeKV(format Format, n int) KV {
	switch format {
	case F32:
		return KV{F32: make([]float32, n)}
	case F16:
		return KV{F16: make([]uint16, n)}
	}
	panic(fmt.Sprintf("kernels: keys and values in %v, want f32 or f16", format))
}

// KVBytes returns the memory of n keys or values in F32 or F16.
func KVBytes(format Format, n int) int64 {
	if format == F16 {
		return 2 * int64(n)
	}
	return 4 * int64(n)
}

// Part returns the numbers from … to of b.
func (b KV) Part(from, to int) KV {
	if b.F16 != nil {
		return KV{F16: b.F16[from:to:to]}
	}
	return KV{F32: b.F32[from:to:to]}
}

// from returns the numbers of b from one on.
func (b KV) from(i int) KV {
	if b.F16 != nil {
		return KV{F16: b.F16[i:]}
	}
	return KV{F32: b.F32[i:]}
}

// StoreKV writes one key [DK] and value [DV] as number j of a block that has room for so many. k
// and v begin at the head. It is part of one worker's task: there is no barrier.
func (w *Worker) StoreKV(k, v KV, room, j int, key, value []float32) {
	if k.F16 == nil {
		storeKey(k.F32, room, j, key)
		storeValue(v.F32, room, j, value)
		return
	}
	half := w.halves(max(len(key), len(value)))
	w.team.variant.round16(half[:len(key)], key)
	storeKey(k.F16, room, j, half[:len(key)])
	w.team.variant.round16(half[:len(value)], value)
	storeValue(v.F16, room, j, half[:len(value)])
}

func storeKey[T float32 | uint16](block []T, room, j int, key []T) {
	in := j % panelCols
	at, cols := packedPanel(len(key), room, j-in, 0)
	for i, x := range key {
		block[at+i*cols+in] = x
	}
}

func storeValue[T float32 | uint16](block []T, room, j int, value []T) {
	for i := 0; i < len(value); i += panelCols {
		at, cols := packedPanel(room, len(value), i, j)
		copy(block[at:at+cols], value[i:])
	}
}

// MoveKV copies the keys and values of some heads from a block to one of the same format that has
// more room, or as much.
func MoveKV(kTo, vTo KV, roomTo int, kFrom, vFrom KV, room, heads, dk, dv int) {
	if kTo.F16 == nil {
		moveKV(kTo.F32, vTo.F32, roomTo, kFrom.F32, vFrom.F32, room, heads, dk, dv)
	} else {
		moveKV(kTo.F16, vTo.F16, roomTo, kFrom.F16, vFrom.F16, room, heads, dk, dv)
	}
}

func moveKV[T float32 | uint16](
	kTo, vTo []T, roomTo int, kFrom, vFrom []T, room, heads, dk, dv int,
) {
	if room == roomTo {
		copy(kTo[:heads*dk*room], kFrom)
		copy(vTo[:heads*dv*room], vFrom)
		return
	}
	for h := range heads {
		movePanels(kTo[h*dk*roomTo:], dk, roomTo, kFrom[h*dk*room:], dk, room)
		movePanels(vTo[h*dv*roomTo:], roomTo, dv, vFrom[h*dv*room:], room, dv)
	}
}

// movePanels copies packed panels [rows, cols] to those of a matrix that is as large, or larger.
func movePanels[T float32 | uint16](to []T, rowsTo, colsTo int, from []T, rows, cols int) {
	for j := 0; j < cols; j += panelCols {
		for k := range rows {
			src, n := packedPanel(rows, cols, j, k)
			dst, _ := packedPanel(rowsTo, colsTo, j, k)
			copy(to[dst:dst+n], from[src:])
		}
	}
}

// round16 rounds to F16, to nearest even. What is then not finite becomes a NaN.
func round16(dst []uint16, src []float32) {
	for i, x := range src {
		h := Half(x)
		if h&0x7c00 == 0x7c00 {
			h |= 0x0200
		}
		dst[i] = h
	}
}

// panelRow16 continues the sums of one row over packed panels in F16: y[p·panelCols+j] =
// fma(x[k], b[p·next+k·panelCols+j], y[p·panelCols+j]) for each k in order.
func panelRow16(y, x []float32, b []uint16, next int) {
	for p := range len(y) / panelCols {
		chain16(y[p*panelCols:(p+1)*panelCols], x, b[p*next:], panelCols, false)
	}
}
