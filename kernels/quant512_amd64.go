//go:build !purego

package kernels

// The leaf operations on integers in AVX-512 assembly (F, BW, DQ, VL, VNNI). Each stub is
// documented by the Go function that it equals bit for bit.

// setQuantAVX512 replaces leaves of v.
func setQuantAVX512(v *variant) {
	v.quantTile8, v.quantTile4 = quantTile8Fast512, quantTile4Fast512
}

// quantTile8Fast512 takes four tiles at a time where there is one row.
func quantTile8Fast512(
	y []float32, ldy int, q []int16, starts []int32, ldq int, w []byte,
	ldw, rows, blocks, tiles int,
) {
	four := 0
	if rows == 1 && blocks > 0 && tiles >= 4 {
		four = tiles &^ 3
		quantOne8AVX512(y, q, w, ldw, blocks, four)
	}
	if four < tiles {
		quantTile8AVX512(y[four*quantCols:], ldy, q, starts, ldq, w[four*ldw:], ldw, rows, blocks,
			tiles-four)
	}
}

// quantTile4Fast512 does, too.
func quantTile4Fast512(
	y []float32, ldy int, q []int16, starts []int32, ldq int, w []byte,
	ldw, rows, blocks, tiles int,
) {
	four := 0
	if rows == 1 && tiles >= 4 {
		four = tiles &^ 3
		for b := 0; b < blocks; b += quantOneBlocks {
			quantOne4AVX512(y, q[b*quantBlock:], starts[b:], w[b*q4Tile:], ldw,
				min(quantOneBlocks, blocks-b), four)
		}
	}
	if four < tiles {
		quantTile4AVX512(y[four*quantCols:], ldy, q, starts, ldq, w[four*ldw:], ldw, rows, blocks,
			tiles-four)
	}
}

// quantOneBlocks is for how many blocks quantOne4AVX512 has room.
const quantOneBlocks = 128

// quantOne8AVX512 and quantOne4AVX512 are quantTile8 and quantTile4 on one row and tiles in fours,
// at least one block and one four.
//
//go:noescape
func quantOne8AVX512(y []float32, q []int16, w []byte, ldw, blocks, tiles int)

//go:noescape
func quantOne4AVX512(y []float32, q []int16, starts []int32, w []byte, ldw, blocks, tiles int)

// quantTile8AVX512 is quantTile8: two tiles of outputs by 8, 6, 4, 3, 2 and 1 rows. For many rows
// it widens the weights of up to 8 blocks to int16 first.
//
//go:noescape
func quantTile8AVX512(y []float32, ldy int, q []int16, starts []int32, ldq int, w []byte, ldw, rows,
	blocks, tiles int)

// quantTile4AVX512 is quantTile4, likewise.
//
//go:noescape
func quantTile4AVX512(y []float32, ldy int, q []int16, starts []int32, ldq int, w []byte, ldw, rows,
	blocks, tiles int)
