package kernels

// The leaf operations on integers in pure Go: the definition that every other variant must equal
// bit for bit.

import "math"

// Activations are quantized by row, to 16 bits: rows of GPT-2's activations have outliers, so that
// with 8 bits most bits would be unused. 16 bits cost no more, because VPMADDWD multiplies int16
// anyway. No sum overflows: 32 · 32767 · 128 < 2³¹.
const quantMax = 32767

// quantizeRow sets q to the integers nearest to x·quantMax/max|x|, ties to even, and to zeros past
// x's end. It sets starts[b] to −8 times the sum of block b, from which Q4's sums start. len(q) is
// a multiple of quantBlock, len(starts) the number of blocks. It returns the scale max|x|/quantMax:
// an integer times the scale is the number. If a row holds a NaN or an infinity the scale is NaN;
// if no number is at least 2⁻⁸⁰ it is 0: then all integers are zero.
//
// It is by two leaves, of which round only rounds whole blocks.
func quantizeRow(
	peakBits func(x []float32) uint32,
	round func(q []int16, starts []int32, x []float32, inverse float32),
) func(q []int16, starts []int32, x []float32) float32 {
	return func(q []int16, starts []int32, x []float32) float32 {
		whole := len(x) &^ (quantBlock - 1)
		scale, inverse := rowScale(math.Float32frombits(peakBits(x)))
		round(q, starts, x[:whole], inverse)
		roundRow(q[whole:], starts[whole/quantBlock:], x[whole:], inverse)
		return scale
	}
}

// peakBits returns the bits of max|x|: they have the order of the numbers, and NaN comes last.
func peakBits(x []float32) uint32 {
	var most uint32
	for _, v := range x {
		most = max(most, math.Float32bits(v)&^(1<<31))
	}
	return most
}

// rowScale returns the scale of a row whose greatest magnitude is peak, and the factor for the row,
// which is 0 to make it zeros.
func rowScale(peak float32) (scale, inverse float32) {
	switch {
	case peak-peak != 0: // NaN or infinite
		return float32(math.NaN()), 0
	case peak < quantLeast:
		return 0, 0
	}
	return float32(peak / quantMax), float32(quantMax / peak)
}

const quantLeast = 0x1p-80 // keeps quantMax/peak from overflowing

// roundRow sets q to x·inverse, rounded, and to zeros past x's end, and starts as quantizeRow does.
// If inverse is 0 all of q is zero, even if x is not finite.
func roundRow(q []int16, starts []int32, x []float32, inverse float32) {
	clear(q)
	clear(starts)
	if inverse == 0 {
		return
	}
	for i, v := range x {
		n := int32(roundEven(float32(v * inverse)))
		q[i] = int16(n)
		starts[i/quantBlock] -= 8 * n
	}
}

// roundEven rounds |x| < 2²² to the nearest integer, ties to even: a sum near 1.5·2²³ has no
// fractional bits.
func roundEven(x float32) float32 {
	return float32(float32(x+0x1.8p23) - 0x1.8p23)
}

// quantTile continues the sums of rows × tiles·quantCols outputs over blocks ≥ 1 blocks of weights
// or, unless add is set, begins them at +0: for each block b in order, y[i,j] = fma(float32(Σ
// q[i,k]·w[k,j] over the block), its scale, y[i,j]). Rows of y lie ldy apart; rows of q and of
// starts lie ldq blocks apart; the tiles of the next 16 outputs are ldw bytes further in w. A tile
// has that size, and sum is that of one block and column j.
func quantTile(
	size int, sum func(tile []byte, j int, x []int16, start int32) int32,
) quantTileLeaf {
	return func(
		y []float32, ldy int, q []int16, starts []int32, ldq int, w []byte,
		ldw, rows, blocks, tiles int, add bool,
	) {
		for t := range tiles {
			for i := range rows {
				out := y[i*ldy+t*quantCols:][:quantCols]
				if !add {
					clear(out)
				}
				for b := range blocks {
					tile := w[t*ldw+b*size:][:size]
					x := q[(i*ldq+b)*quantBlock:][:quantBlock]
					for j := range out {
						n := sum(tile, j, x, starts[i*ldq+b])
						out[j] = fma(float32(n), tileScale(tile, j), out[j])
					}
				}
			}
		}
	}
}

// quantTile8 is quantTile for Q8 weights.
var quantTile8 = quantTile(q8Tile, func(tile []byte, j int, x []int16, _ int32) (sum int32) {
	for k, v := range x {
		sum += int32(v) * int32(int8(tile[q8Index(j, k)]))
	}
	return sum
})

// quantTile4 is quantTile for Q4 weights. The sum of row i's block b begins at starts[i,b], which
// accounts for the 8 that is subtracted from each weight: starts are those of quantizeRow, so that
// a leaf may subtract the 8 itself.
var quantTile4 = quantTile(q4Tile, func(tile []byte, j int, x []int16, sum int32) int32 {
	for k, v := range x {
		at, shift := q4Index(j, k)
		sum += int32(v) * int32(tile[at]>>shift&15)
	}
	return sum
})

// scaleAdd completes the chains of rows of cols outputs: dst[i,j] = fma(y[i,j], scales[i], bias[j]),
// with +0 if bias is nil. Rows of dst lie ldd apart, those of y ldy; dst may be y.
func scaleAdd(
	dst []float32, ldd int, y []float32, ldy int, bias, scales []float32, cols int,
) {
	for i, scale := range scales {
		out := dst[i*ldd : i*ldd+cols]
		for j, v := range y[i*ldy : i*ldy+cols] {
			if bias == nil {
				out[j] = fma(v, scale, 0)
			} else {
				out[j] = fma(v, scale, bias[j])
			}
		}
	}
}
