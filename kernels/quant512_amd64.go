//go:build !purego

package kernels

// The leaf operations on integers in AVX-512 assembly (F, BW, DQ, VL, VNNI). Each stub is
// documented by the Go function that it equals bit for bit.

// setQuantAVX512 replaces leaves of v.
func setQuantAVX512(v *variant) {
	v.quantTile8, v.quantTile4 = quantTile8AVX512, quantTile4AVX512
}

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
