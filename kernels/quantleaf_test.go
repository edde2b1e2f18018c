package kernels

// Every variant of the leaf operations on integers against pure Go: see variants_test.go.

import (
	"unsafe"
)

// integers places n integers of any bits; a quarter of them are the extremes.
func integers[T int16 | int32](p *placer, n int, least, most T) []T {
	size := int(unsafe.Sizeof(least))
	return numbersIn[T](p.take(n*size, size, func(b []byte) {
		s := numbersIn[T](b)
		for i := range s {
			switch p.rng.IntN(8) {
			case 0:
				s[i] = least
			case 1:
				s[i] = most
			default:
				s[i] = least + T(p.rng.Int64N(int64(most)-int64(least)+1))
			}
		}
	}))
}

// blocks places n bytes at any alignment: weights, all of them extremes now and then, and scales.
func (p *placer) blocks(n int) []byte {
	return p.take(n, 1, func(b []byte) {
		worst := p.rng.IntN(4) == 0
		for i := range b {
			if b[i] = byte(p.rng.Uint32()); worst {
				b[i] = 0x80
			}
		}
	})
}

func quantTileTest(
	name string, rows []int, size int, leaf func(v *variant) quantTileLeaf,
) leafTest {
	return leafTest{name: name, a: rows, b: []int{1, 2, 8, 9, 17}, ints: 1<<1 | 1<<2 | 1<<3,
		call: func(v *variant, p *placer, rows, blocks, c int) []float64 {
			tiles, pad := c+1, (rows+c)&1
			ldy, ldq, ldw := tiles*quantCols+pad, blocks+pad, blocks*size+3*pad
			y := p.floats(matrixSize(rows, ldy, tiles*quantCols))
			q := integers[int16](p, quantBlock*matrixSize(rows, ldq, blocks), -quantMax, quantMax)
			starts := integers[int32](p, matrixSize(rows, ldq, blocks), -8*32*quantMax,
				8*32*quantMax)
			for i := range starts { // what quantizeRow makes of q: AMX's tiles do without
				if size == q4Tile {
					starts[i] = 0
					for _, v := range q[i*quantBlock:][:quantBlock] {
						starts[i] -= 8 * int32(v)
					}
				}
			}
			leaf(v)(y, ldy, q, starts, ldq, p.blocks(matrixSize(tiles, ldw, blocks*size)), ldw,
				rows, blocks, tiles, (rows/2+c)&1 == 1)
			return nil
		}}
}

// quantOneTest is one row, tiles in fours, and more blocks than a leaf may have room for at once.
func quantOneTest(
	name string, size int, leaf func(v *variant) (one quantOneLeaf, definition quantTileLeaf),
) leafTest {
	return leafTest{name: name, a: []int{1, 2}, b: []int{1, 2, 17, 129},
		ints: 1<<1 | 1<<2 | 1<<3,
		call: func(v *variant, p *placer, fours, blocks, pad int) []float64 {
			tiles := 4 * fours
			if blocks > 50 {
				tiles = 4 // a room is not endless
			}
			ldw := blocks*size + 3*pad
			y, q := p.floats(tiles*quantCols),
				integers[int16](p, blocks*quantBlock, -quantMax, quantMax)
			starts := integers[int32](p, blocks, -8*32*quantMax, 8*32*quantMax)
			w := p.blocks(matrixSize(tiles, ldw, blocks*size))
			if one, definition := leaf(v); one == nil {
				definition(y, len(y), q, starts, blocks, w, ldw, 1, blocks, tiles, true)
			} else {
				one(y, q, starts, w, ldw, blocks, tiles)
			}
			return nil
		}}
}

var (
	quantHeights = []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 19}
	quantGroups  = []int{16, 17, 32, 35}

	tile8 = func(v *variant) quantTileLeaf { return v.quantTile8 }
	tile4 = func(v *variant) quantTileLeaf { return v.quantTile4 }
)

var quantLeafTests = []leafTest{
	quantTileTest("quantTile8", quantHeights, q8Tile, tile8),
	quantTileTest("quantTile4", quantHeights, q4Tile, tile4),
	quantTileTest("quantGroups8", quantGroups, q8Tile, tile8),
	quantTileTest("quantGroups4", quantGroups, q4Tile, tile4),
	quantOneTest("quantOne8", q8Tile, func(v *variant) (quantOneLeaf, quantTileLeaf) {
		return v.quantOne8, quantTile8
	}),
	quantOneTest("quantOne4", q4Tile, func(v *variant) (quantOneLeaf, quantTileLeaf) {
		return v.quantOne4, quantTile4
	}),
	{name: "quantizeRow", a: edges, b: one, ints: 1<<0 | 1<<1,
		call: func(v *variant, p *placer, n, _, c int) []float64 {
			blocks := blocksOf(n)
			q, starts, x := integers[int16](p, blocks*quantBlock, -9, 9),
				integers[int32](p, blocks, -9, 9), p.floats(n)
			// a row without NaN and infinities, with whole numbers and halves: ties
			if p.kind == special && c > 0 {
				for i := range x {
					x[i] = float32(p.rng.IntN(2*quantMax+1)-quantMax) / 2
				}
				if n > 0 {
					x[p.rng.IntN(n)] = quantMax
				}
			}
			return []float64{float64(v.quantizeRow(q, starts, x))}
		}},
	{name: "scaleAdd", a: edges, b: short, call: func(v *variant, p *placer, cols, rows,
		c int) []float64 {
		ldd, ldy := cols+3-c, cols+c
		dst, y := p.floats(matrixSize(rows, ldd, cols)), p.floats(matrixSize(rows, ldy, cols))
		bias, scales := p.floats(cols), p.floats(rows)
		if c == 1 {
			bias = nil
		}
		v.scaleAdd(dst, ldd, y, ldy, bias, scales, cols)
		return nil
	}},
	{name: "scaleAdd in place", a: edges, b: short, call: func(v *variant, p *placer, cols, rows,
		c int) []float64 {
		y, bias, scales := p.floats(matrixSize(rows, cols+c, cols)), p.floats(cols), p.floats(rows)
		if c == 1 {
			bias = nil
		}
		v.scaleAdd(y, cols+c, y, cols+c, bias, scales, cols)
		return nil
	}},
	{name: "errors4", a: []int{0, 1, 2, 3, 4}, b: one,
		call: func(v *variant, p *placer, n, _, _ int) []float64 {
			errors, inverses, values := p.floats(quantCols), p.floats(quantCols),
				p.floats(quantBlock*quantCols)
			// to the range of use, and ties; NaN and the like only where it counts for nothing
			for i := range values {
				switch p.kind {
				case ordinary:
					values[i] *= float32(5 * n)
				case special:
					values[i] = float32(p.rng.IntN(48)-24) / 2
				}
			}
			for j := range inverses {
				switch p.kind {
				case ordinary:
					inverses[j] = 1 + float32(j)/8
				case special:
					inverses[j] = 1
				}
			}
			v.errors4((*[quantCols]float32)(errors),
				(*tileValues)(unsafe.Pointer(unsafe.SliceData(values))),
				(*[quantCols]float32)(inverses))
			return nil
		}},
}
