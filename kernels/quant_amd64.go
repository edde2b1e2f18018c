//go:build !purego

package kernels

// The leaf operations on integers in AVX2 assembly. The documentation of each stub is the Go
// function that it equals bit for bit.

// quantTile8AVX2 is quantTile8, in blocks of 6, 4, 2 and 1 rows. For many rows it widens the
// weights of up to 16 blocks to int16 first.
//
//go:noescape
func quantTile8AVX2(y []float32, ldy int, q []int16, starts []int32, ldq int, w []byte, ldw, rows,
	blocks, tiles int, add bool)

// quantTile4AVX2 is quantTile4, likewise.
//
//go:noescape
func quantTile4AVX2(y []float32, ldy int, q []int16, starts []int32, ldq int, w []byte, ldw, rows,
	blocks, tiles int, add bool)

// quantTile8VNNI and quantTile4VNNI are the same with VPDPWSSD (AVX-512 VNNI, BW and VL), one
// instruction for two of AVX2, in blocks of 8, 6, 4, 3, 2 and 1 rows.
//
//go:noescape
func quantTile8VNNI(y []float32, ldy int, q []int16, starts []int32, ldq int, w []byte, ldw, rows,
	blocks, tiles int, add bool)

//go:noescape
func quantTile4VNNI(y []float32, ldy int, q []int16, starts []int32, ldq int, w []byte, ldw, rows,
	blocks, tiles int, add bool)

// quantOne8AVX2 and quantOne4AVX2 are quantTile8 and quantTile4 on one row and tiles in fours, at
// least one block and one four.
//
//go:noescape
func quantOne8AVX2(y []float32, q []int16, starts []int32, w []byte, ldw, blocks, tiles int)

//go:noescape
func quantOne4AVX2(y []float32, q []int16, starts []int32, w []byte, ldw, blocks, tiles int)

//go:noescape
func quantOne8VNNI(y []float32, q []int16, starts []int32, w []byte, ldw, blocks, tiles int)

//go:noescape
func quantOne4VNNI(y []float32, q []int16, starts []int32, w []byte, ldw, blocks, tiles int)

// scaleAddAVX2 is scaleAdd.
//
//go:noescape
func scaleAddAVX2(dst []float32, ldd int, y []float32, ldy int, bias, scales []float32, cols int)

// errors4AVX2 is errors4.
//
//go:noescape
func errors4AVX2(errors *[quantCols]float32, values *tileValues, inverses *[quantCols]float32)

// peakBitsAVX2 is peakBits. len(x) is a multiple of quantBlock.
//
//go:noescape
func peakBitsAVX2(x []float32) uint32

// roundRowAVX2 is roundRow on whole blocks: it ignores what x has beyond.
//
//go:noescape
func roundRowAVX2(q []int16, starts []int32, x []float32, inverse float32)

func peakBitsFast(x []float32) uint32 {
	whole := len(x) &^ (quantBlock - 1)
	return max(peakBitsAVX2(x[:whole]), peakBits(x[whole:]))
}
