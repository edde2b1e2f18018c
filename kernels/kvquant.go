package kernels

// The blocks of a cache in Q8: how keys and values are rounded, where they are stored, and how
// attention multiplies with them.
//
// A head's keys are the Q8 weights of a matrix [head_dim, room]: a position is an output, and each
// 32 numbers of its key have a scale. Its values are those of a matrix [room, head_dim], whose scales
// are all 1: the scale of a position's value stands before the tiles, [room] float32, and attention
// multiplies the weights by it. So a key or a value is rounded by itself, whatever others there are,
// and queries and weights are rows that are quantized as those of a linear layer.

import (
	"encoding/binary"
	"math"
	"unsafe"
)

// scaleBytes is the size of the scale of a value.
const scaleBytes = 4

// keyRowQ8 and valueRowQ8 are KVRow in Q8: a position's part of its tiles, and of the scales.
func keyRowQ8(dk int) int   { return blocksOf(dk) * q8Tile / quantCols }
func valueRowQ8(dv int) int { return tilesOf(dv)*q8Tile/quantBlock + scaleBytes }

// plainRowQ8 is the size of a plain row: the integers, and then scales, bfloat16 of a key and float32
// of a value.
func plainRowQ8(dim int) int { return dim + max(scaleBytes, 2*blocksOf(dim)) }

// tooLargeQ8 is the magnitude from which on a key or a value is stored as a NaN: sums of products
// with less cannot overflow before they are multiplied by the scale of the query.
const tooLargeQ8 = 0x1p100

// round8 sets dst to the integers nearest to src/scale, ties to even, and returns the scale, the
// bfloat16 nearest to max|src|/127. If a number is at least 2¹⁰⁰, or not finite, the scale is NaN;
// if none is at least 2⁻⁸⁰ it is 0: then all integers are zero.
func round8(dst []byte, src []float32) (scale uint16) {
	src = src[:len(dst)]
	scale, inverse := scale8(peakBits(src))
	roundBy(dst, src, inverse)
	return scale
}

// scale8 returns the scale of numbers whose greatest magnitude has these bits, and its inverse, which
// is 0 to make zeros of all.
func scale8(peak uint32) (scale uint16, inverse float32) {
	most := math.Float32frombits(peak)
	switch {
	case !(most < tooLargeQ8):
		most = float32(math.NaN())
	case peak < leastWeight:
		most = 0
	}
	scale = blockScale(most, 127)
	return scale, blockInverse(scale)
}

// roundBy sets dst to src·inverse, rounded, or to zeros if inverse is 0. No result is beyond ±127.
func roundBy(dst []byte, src []float32, inverse float32) {
	if inverse == 0 { // also where src is not finite
		clear(dst)
		return
	}
	for i := range dst {
		dst[i] = byte(int8(roundEven(float32(src[i] * inverse))))
	}
}

// scaleBy sets y[i] to y[i]·by[i].
func scaleBy(y, by []float32) {
	for i, v := range y {
		y[i] = float32(v * by[i])
	}
}

// tileOfValues is the scale of the tiles of values.
const tileOfValues = 0x3f80 // 1 in bfloat16

// scalesQ8 returns the scales of the values where b begins.
func (b KV) scalesQ8(room int) []float32 {
	s := b.Q8[:scaleBytes*room]
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(s))), room)
}

// keyTile returns the tile of block i of the key of position j, and j's output there.
func (b KV) keyTile(j, i, dk int) (tile []byte, output int) {
	return b.Q8[(j/quantCols*blocksOf(dk)+i)*q8Tile:][:q8Tile], j % quantCols
}

// valueTile returns the tile of the i-th 16 numbers of the value of position j, and j's input there.
func (b KV) valueTile(j, i, room int) (tile []byte, input int) {
	return b.Q8[scaleBytes*room+(i*room/quantBlock+j/quantBlock)*q8Tile:][:q8Tile], j % quantBlock
}

// setKey stores block i of the key of position j.
func (b KV) setKey(j, i, dk int, integers []byte, scale uint16) {
	tile, output := b.keyTile(j, i, dk)
	binary.LittleEndian.PutUint16(tile[q8Weights+2*output:], scale)
	for k, n := range integers {
		tile[q8Index(output, k)] = n
	}
}

// setValue stores the value of position j.
func (b KV) setValue(j, room int, integers []byte, scale float32) {
	b.scalesQ8(room)[j] = scale
	for i := 0; i*quantCols < len(integers); i++ {
		tile, input := b.valueTile(j, i, room)
		if input == 0 {
			for at := q8Weights; at < q8Tile; at += 2 {
				binary.LittleEndian.PutUint16(tile[at:], tileOfValues)
			}
		}
		for output, n := range integers[i*quantCols : min((i+1)*quantCols, len(integers))] {
			tile[q8Index(output, input)] = n
		}
	}
}

// storeQ8 is storeKV in Q8, for one position.
func (w *Worker) storeQ8(k, v KV, room, j int, key, value []float32) {
	integers := KV{F16: w.halves((max(len(key), len(value)) + 1) / 2)}.Bytes()
	for i := 0; i*quantBlock < len(key); i++ {
		part := key[i*quantBlock : min((i+1)*quantBlock, len(key))]
		scale := w.team.variant.round8(integers[:len(part)], part)
		k.setKey(j, i, len(key), integers[:len(part)], scale)
	}
	scale := w.team.variant.round8(integers[:len(value)], value)
	v.setValue(j, room, integers[:len(value)], widen(scale, true))
}

// moveQ8 is MoveKV in Q8, for the values of one head.
func moveQ8(to KV, roomTo int, from KV, room, dv int) {
	copy(to.scalesQ8(roomTo), from.scalesQ8(room))
	for i := range tilesOf(dv) {
		for j := 0; j < room; j += quantBlock {
			tile, _ := to.valueTile(j, i, roomTo)
			old, _ := from.valueTile(j, i, room)
			copy(tile, old)
		}
	}
}

// readQ8 and writeQ8 are ReadKV and WriteKV in Q8, for one head and position. Bytes of scales are in
// the files' order.
func readQ8(key, value []byte, k, v KV, room, j, dk, dv int) {
	clear(key[dk:])
	clear(value[dv:])
	for i := range blocksOf(dk) {
		tile, output := k.keyTile(j, i, dk)
		copy(key[dk+2*i:], tile[q8Weights+2*output:][:2])
		for at := range min(quantBlock, dk-i*quantBlock) {
			key[i*quantBlock+at] = tile[q8Index(output, at)]
		}
	}
	binary.LittleEndian.PutUint32(value[dv:], math.Float32bits(v.scalesQ8(room)[j]))
	for i := range tilesOf(dv) {
		tile, input := v.valueTile(j, i, room)
		for at := range min(quantCols, dv-i*quantCols) {
			value[i*quantCols+at] = tile[q8Index(at, input)]
		}
	}
}

func writeQ8(k, v KV, room, j int, key, value []byte, dk, dv int) {
	for i := range blocksOf(dk) {
		k.setKey(j, i, dk, key[i*quantBlock:min((i+1)*quantBlock, dk)],
			binary.LittleEndian.Uint16(key[dk+2*i:]))
	}
	v.setValue(j, room, value[:dv],
		math.Float32frombits(binary.LittleEndian.Uint32(value[dv:])))
}

// finiteQ8 reports whether the scales of plain rows of keys and values, [2, rows], are finite.
func finiteQ8(rows []byte, dim int) bool {
	const exponent, exponent16 = 0xff << 23, 0x7f80
	size := plainRowQ8(dim)
	for at := 0; at < len(rows)/2; at += size {
		key, value := rows[at+dim:], rows[len(rows)/2+at+dim:]
		for i := range blocksOf(dim) {
			if binary.LittleEndian.Uint16(key[2*i:])&exponent16 == exponent16 {
				return false
			}
		}
		if binary.LittleEndian.Uint32(value)&exponent == exponent {
			return false
		}
	}
	return true
}

// quantizeQueries makes the queries rows of integers.
func (t *attendTile) quantizeQueries() {
	for i := range t.Rows {
		t.queries.quantize(t.v, t.query+i, t.Q[i*t.LDQ:i*t.LDQ+t.DK], blocksOf(t.DK))
	}
}

// scoreQ8 is score for the rows from first on and the first n keys.
func (t *attendTile) scoreQ8(b, first, n int) {
	blocks, rows := blocksOf(t.DK), t.Rows-first
	y, i := t.scores[first*Block:], t.query+first
	t.later.fetch(t.v)
	t.v.multiplyTiles(Q8, y, Block, t.queries, i, rows, t.keysOf(b).Q8, blocks*q8Tile, blocks,
		tilesOf(n))
	t.later.fetch(t.v)
	t.v.scaleAdd(y, Block, y, Block, nil, t.queries.scales[i:i+rows], n)
}

// valuesQ8 is values. A weight of a key that a row does not see is the integer 0.
func (t *attendTile) valuesQ8(b, seeing int) {
	v, room := t.valuesOf(b)
	scales, rows, ldw := v.scalesQ8(room), t.Rows-seeing, room/quantBlock*q8Tile
	blocks := blocksOf(len(t.row(b, t.Rows-1)))
	for i := range rows {
		p := t.row(b, seeing+i)
		t.v.scaleBy(p, scales)
		t.weighed.quantize(t.v, i, p, blocks)
	}
	t.later.fetch(t.v)
	for j := 0; j < t.DV; j += outCols {
		cols := min(outCols, t.DV-j)
		ld := tilesOf(cols) * quantCols
		tiles := v.Q8[scaleBytes*room+j/quantCols*ldw:]
		t.v.multiplyTiles(Q8, t.part, ld, t.weighed, 0, rows, tiles, ldw, blocks, ld/quantCols)
		if j == 0 {
			t.later.fetch(t.v)
		}
		t.v.scaleAdd(t.part, ld, t.part, ld, nil, t.weighed.scales[:rows], cols)
		for i := range rows {
			t.v.add(t.outputs(seeing+i, j), t.part[i*ld:i*ld+cols])
		}
	}
}

// later is the memory that one query in Q8 reads next: the two halves of keys and of values, from
// which the variant fetches some lines between its steps. See soon for the gain.
type later struct {
	keys, values uintptr // addresses: a line beyond the memory is fetched for nothing
	apart        int     // bytes from a half to the other
	lines        int     // of each half, at a time
}

// fetches is how many of the six calls of later.fetch for a head and a block fetch all that comes
// next, so that the last lines have time to arrive; the others fetch from the head after it.
const fetches = 4

// later returns what to fetch while block b of tile i is computed: the memory of the next tile.
func (w *Worker) later(b, i int) later {
	t := &w.tiles[i]
	if !t.quantized() || t.Rows > 1 || t.v.fetch == nil {
		return later{}
	}
	t, b = w.nextTile(b, i)
	v, room := t.valuesOf(b)
	const line = 64
	return later{
		keys:   uintptr(unsafe.Pointer(unsafe.SliceData(t.keysOf(b).Q8))),
		values: uintptr(unsafe.Pointer(unsafe.SliceData(v.Q8))),
		apart:  max(t.rowK, t.rowV) * room / 2,
		lines:  (max(t.rowK, t.rowV)*room/2 + fetches*line - 1) / (fetches * line),
	}
}

// fetch fetches the next lines.
func (l *later) fetch(v *variant) {
	if l.lines > 0 {
		v.fetch(l.keys, l.values, l.apart, l.lines)
		l.keys, l.values = l.keys+uintptr(64*l.lines), l.values+uintptr(64*l.lines)
	}
}
