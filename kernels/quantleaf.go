package kernels

// The leaf operations on integers in pure Go: the definition that every other variant must equal bit for bit.

import "math"

// Activations are quantized by row, to 16 bits: rows of GPT-2's activations have outliers that would leave most of 8 bits
// unused, and 16 bits cost no more, since VPMADDWD multiplies int16 anyway. No sum overflows: 32 · 32767 · 128 < 2³¹.
const quantMax = 32767

// quantizeRow sets q to the integers nearest to x·quantMax/max|x|, ties to even, and zeros past x's end, and sums[b] to
// the sum of block b. len(q) is a multiple of quantBlock, len(sums) the number of blocks. It returns the scale max|x|/quantMax,
// by which an integer means a number again. The scale of a row that holds a NaN or an infinity is NaN, with all integers zero; the
// scale of a row without a number of at least 2⁻⁸⁰ is 0, likewise.
func quantizeRow(q []int16, sums []int32, x []float32) float32 {
	var most uint32 // the bits of |x|: they are in the order of the numbers, and NaN comes last
	for _, v := range x {
		most = max(most, math.Float32bits(v)&0x7fffffff)
	}
	clear(q)
	clear(sums)
	peak := math.Float32frombits(most)
	switch {
	case most >= 0x7f800000:
		return float32(math.NaN())
	case peak < quantLeast:
		return 0
	}
	inverse := float32(quantMax / peak)
	for i, v := range x {
		n := int32(roundEven(float32(v * inverse)))
		q[i] = int16(n)
		sums[i/quantBlock] += n
	}
	return float32(peak / quantMax)
}

// quantLeast keeps quantMax/max|x| from overflowing.
const quantLeast = 0x1p-80

// roundEven rounds |x| < 2²² to the nearest integer, ties to even: a sum near 1.5·2²³ has no bits for a fraction.
func roundEven(x float32) float32 {
	return float32(float32(x+0x1.8p23) - 0x1.8p23)
}

// quantTile8 goes on with the chains of rows × tiles·tileCols outputs over blocks blocks of Q8 weights: for each block b in order,
// y[i,j] = fma(float32(Σ q[i,k]·w[k,j] over the block), its scale, y[i,j]). Rows of y lie ldy apart; rows of q lie ldq blocks apart, and so
// do rows of sums; the tiles of 16 more outputs lie ldw bytes further on in w.
func quantTile8(y []float32, ldy int, q []int16, sums []int32, ldq int, w []byte, ldw, rows, blocks, tiles int) {
	for t := range tiles {
		for i := range rows {
			out := y[i*ldy+t*tileCols:][:tileCols]
			for b := range blocks {
				tile := w[t*ldw+b*q8Tile:][:q8Tile]
				x := q[(i*ldq+b)*quantBlock:][:quantBlock]
				for j := range out {
					var sum int32
					for k, v := range x {
						sum += int32(v) * int32(int8(tile[q8Index(j, k)]))
					}
					out[j] = fma(float32(sum), tileScale(tile, j), out[j])
				}
			}
		}
	}
}

// quantTile4 is quantTile8 on Q4 weights. sums[i,b] is the sum of row i's block b of q.
func quantTile4(y []float32, ldy int, q []int16, sums []int32, ldq int, w []byte, ldw, rows, blocks, tiles int) {
	for t := range tiles {
		for i := range rows {
			out := y[i*ldy+t*tileCols:][:tileCols]
			for b := range blocks {
				tile := w[t*ldw+b*q4Tile:][:q4Tile]
				x := q[(i*ldq+b)*quantBlock:][:quantBlock]
				for j := range out {
					sum := -8 * sums[i*ldq+b]
					for k, v := range x {
						at, shift := q4Index(j, k)
						sum += int32(v) * int32(tile[at]>>shift&15)
					}
					out[j] = fma(float32(sum), tileScale(tile, j), out[j])
				}
			}
		}
	}
}

// scaleAdd sets y[j] to fma(y[j], by, bias[j]), with +0 for a nil bias.
func scaleAdd(y, bias []float32, by float32) {
	if bias == nil {
		for j, v := range y {
			y[j] = fma(v, by, 0)
		}
		return
	}
	for j, v := range y {
		y[j] = fma(v, by, bias[j])
	}
}
