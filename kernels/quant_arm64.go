//go:build !purego

package kernels

// The leaf operations on integers in NEON assembly. The documentation of each stub is the Go
// function that it equals bit for bit.

// quantTile8NEON is quantTile8 where add is set, in blocks of four rows and of one.
//
//go:noescape
func quantTile8NEON(y []float32, ldy int, q []int16, starts []int32, ldq int, w []byte, ldw, rows,
	blocks, tiles int)

// quantTile4NEON is quantTile4, likewise.
//
//go:noescape
func quantTile4NEON(y []float32, ldy int, q []int16, starts []int32, ldq int, w []byte, ldw, rows,
	blocks, tiles int)

// quantTileBy sets the sums to zero first, because the leaves only continue sums.
func quantTileBy(
	leaf func(y []float32, ldy int, q []int16, starts []int32, ldq int, w []byte, ldw, rows, blocks,
		tiles int),
) quantTileLeaf {
	return func(
		y []float32, ldy int, q []int16, starts []int32, ldq int, w []byte, ldw, rows, blocks,
		tiles int, add bool,
	) {
		for i := range rows {
			if !add {
				clear(y[i*ldy:][:tiles*quantCols])
			}
		}
		leaf(y, ldy, q, starts, ldq, w, ldw, rows, blocks, tiles)
	}
}

// scaleAddNEON is scaleAdd.
//
//go:noescape
func scaleAddNEON(dst []float32, ldd int, y []float32, ldy int, bias, scales []float32, cols int)

// errors4NEON is errors4.
//
//go:noescape
func errors4NEON(errors *[quantCols]float32, values *tileValues, inverses *[quantCols]float32)

// peakBitsNEON is peakBits.
//
//go:noescape
func peakBitsNEON(x []float32) uint32

// roundRowNEON is roundRow on whole blocks: it ignores what x has beyond.
//
//go:noescape
func roundRowNEON(q []int16, starts []int32, x []float32, inverse float32)
