//go:build !purego

package kernels

// The leaf operations on integers in AVX-512 assembly (F, BW, DQ, VL, VNNI), and the products with Q8
// and Q4 tiles in AMX (INT8) beside it. The documentation of each stub is the Go function that it
// equals bit for bit.

// setQuantAVX512 replaces leaves of v.
func setQuantAVX512(v *variant) {
	v.quantTile8, v.quantTile4 = quantTile8AVX512, quantTile4AVX512
	v.quantOne8, v.quantOne4 = quantOne8AVX512, quantOne4Fast512
}

// quantOne8AVX512 is quantTile8 on one row and tiles in fours, at least one block and one four.
//
//go:noescape
func quantOne8AVX512(y []float32, q []int16, starts []int32, w []byte, ldw, blocks, tiles int)

// quantOne4AVX512 is quantTile4, likewise, on at most quantOneBlocks blocks.
//
//go:noescape
func quantOne4AVX512(y []float32, q []int16, starts []int32, w []byte, ldw, blocks, tiles int)

const quantOneBlocks = 128 // quantOne4AVX512 has room for that many

func quantOne4Fast512(
	y []float32, q []int16, starts []int32, w []byte, ldw, blocks, tiles int,
) {
	for b := 0; b < blocks; b += quantOneBlocks {
		quantOne4AVX512(y, q[b*quantBlock:], starts[b:], w[b*q4Tile:], ldw,
			min(quantOneBlocks, blocks-b), tiles)
	}
}

// quantTile8AVX512 is quantTile8: two tiles of outputs by 8, 6, 4, 3, 2 and 1 rows. For many rows
// it widens the weights of up to 8 blocks to int16 first.
//
//go:noescape
func quantTile8AVX512(y []float32, ldy int, q []int16, starts []int32, ldq int, w []byte, ldw, rows,
	blocks, tiles int, add bool)

// quantTile4AVX512 is quantTile4, likewise.
//
//go:noescape
func quantTile4AVX512(y []float32, ldy int, q []int16, starts []int32, ldq int, w []byte, ldw, rows,
	blocks, tiles int, add bool)

// setQuantAMX replaces leaves of v.
func setQuantAMX(v *variant) {
	v.quantTile8 = amxLeaf(quantTile8AMX, quantTile8AVX512)
	v.quantTile4 = amxLeaf(quantTile4AMX, quantTile4AVX512)
	v.wholeDepth = true
	v.productPeak = productPeakAMX
}

// quantTile8AMX is quantTile8 on groups of 16 rows, at least one group, block and tile.
//
//go:noescape
func quantTile8AMX(y []float32, ldy int, q []int16, ldq int, w []byte, ldw, groups, blocks,
	tiles int, add bool)

// quantTile4AMX is quantTile4, likewise.
//
//go:noescape
func quantTile4AMX(y []float32, ldy int, q []int16, ldq int, w []byte, ldw, groups, blocks,
	tiles int, add bool)

// The leaf has room for the chains of mostAMX groups.
const groupAMX, mostAMX = 16, 18

// amxLeaf is many on the rows that are whole groups, and few on the others.
func amxLeaf(
	many func(y []float32, ldy int, q []int16, ldq int, w []byte, ldw, groups, blocks, tiles int,
		add bool),
	few quantTileLeaf,
) quantTileLeaf {
	return func(y []float32, ldy int, q []int16, starts []int32, ldq int, w []byte, ldw, rows,
		blocks, tiles int, add bool) {
		for rows > 0 {
			n := min(rows, groupAMX*mostAMX)
			if groups := n / groupAMX; groups > 0 && blocks > 0 && tiles > 0 {
				n = groups * groupAMX
				many(y, ldy, q, ldq, w, ldw, groups, blocks, tiles, add)
			} else {
				few(y, ldy, q, starts, ldq, w, ldw, n, blocks, tiles, add)
			}
			if rows -= n; rows > 0 {
				y, q, starts = y[n*ldy:], q[n*ldq*quantBlock:], starts[n*ldq:]
			}
		}
	}
}
