//go:build !purego

package kernels

// The leaf operations in AVX-512 assembly (F, BW, DQ, VL, VNNI). The documentation of each stub is
// the Go function that it equals bit for bit.

import "unsafe"

// avx512Variant returns v with faster leaves for 512-bit registers.
func avx512Variant(v variant) *variant {
	v.name = "avx512"
	v.tile, v.tileAhead = tileFast512, tileAVX512
	v.sizes = usualSizes
	v.aheadRows = aheadLeast
	v.chains = chainsBy(chainAVX2, chains2AVX512, chains3AVX512, chains6AVX512)
	v.f16.chains = chainsBy(chainF16, chains2F16AVX512, chains3F16AVX512, chains6F16AVX512)
	v.bf16.chains = chainsBy(chainBF16, chains2BF16AVX512, chains3BF16AVX512, chains6BF16AVX512)
	v.chainRows = chainRowsBy(chainRowsAVX512, chainRowsAVX2)
	v.f16.chainRows = chainRowsBy(chainRowsF16AVX512, chainRowsF16AVX2)
	v.bf16.chainRows = chainRowsBy(chainRowsBF16AVX512, chainRowsBF16AVX2)
	setExpAVX512(&v)
	setQuantAVX512(&v)
	v.exp64s, v.logSumExp = exp64sAVX512, logSumExpBy(maxAVX2, sumExpAVX512)
	v.f16.packLanes = packLanesBy(packLanesF16AVX2, FromHalf)
	v.bf16.packLanes = packLanesBy(packLanesBF16AVX2, fromBFloat)
	v.dot = dotOctetsBy(dotOctetAVX512, dotFast)
	v.f16.dot = dotOctetsBy(dotOctetF16AVX512, dotF16)
	v.bf16.dot = dotOctetsBy(dotOctetBF16AVX512, dotBF16)
	v.fmaPeak, v.productPeak = fmaPeakAVX512, productPeakAVX512
	v.chainKV = chainKVBy(chainKVAVX512)
	return &v
}

// tileAVX512 is tile, in blocks of 6 rows (4 at the end) by four panels, then two, then one. Every
// 64 steps it asks the second-level cache for a row of the other memory, at the panels' columns.
//
//go:noescape
func tileAVX512(c []float32, ldc int, a []float32, lda, ka int, b []float32, ldb, nextb, rows, k,
	panels int, add bool, next ahead)

func tileFast512(
	c []float32, ldc int, a []float32, lda, ka int, b []float32, ldb, nextb, rows, k, panels int,
	add bool,
) {
	// b is already in a cache
	tileAVX512(c, ldc, a, lda, ka, b, ldb, nextb, rows, k, panels, add,
		ahead{at: unsafe.Pointer(unsafe.SliceData(b))})
}

// exp64sAVX512 is exp64s.
//
//go:noescape
func exp64sAVX512(y, x []float64, max, by float64)

// sumExpAVX512 is sumExpAVX2.
//
//go:noescape
func sumExpAVX512(x []float32, max float64) float64

// fmaPeakAVX512 is fmaPeakAVX2 with chains of 16 lanes.
func fmaPeakAVX512(iterations int) float32

// productPeakAVX512 is productPeakVNNI with 16 lanes.
func productPeakAVX512(iterations int) float32

// productPeakAMX is productPeakVNNI with tiles: two products of bytes are one.
func productPeakAMX(iterations int) float32

// dotOctetAVX512 is dot for k a multiple of 8, eight rows of x at a time by two rows of w: n and n + 1,
// n = 0, 2, … < 2·count, and those far and 2·far after them.
//
//go:noescape
func dotOctetAVX512(dst []float32, ldd int, x []float32, ldx int, w []float32, ldw, rows, count, far,
	k int)

//go:noescape
func dotOctetF16AVX512(dst []float32, ldd int, x []float32, ldx int, w []uint16, ldw, rows, count,
	far, k int)

//go:noescape
func dotOctetBF16AVX512(dst []float32, ldd int, x []float32, ldx int, w []uint16, ldw, rows, count,
	far, k int)

// dotOctetsBy is dot by a leaf for eights of rows, and by rest for what is left of rows and of
// outputs. If other rows meet w too, it is taken in parts that stay in the second cache.
func dotOctetsBy[T float32 | uint16](octet dotPart[T], rest dotLeaf[T]) dotLeaf[T] {
	return func(dst []float32, ldd int, x []float32, ldx int, w []T, ldw, rows, outs, k int) {
		eights, run := rows&^7, outs
		if k%8 > 0 || k == 0 {
			eights = 0
		}
		if 0 < eights && eights < rows {
			run = 192
		}
		for j := 0; j < outs; j += run {
			y, wj, n, done := dst[j:], w[j*ldw:], min(run, outs-j), 0
			if far := n / 6 * 2; eights > 0 && far > 0 {
				octet(y, ldd, x, ldx, wj, ldw, eights, far/2, far, k)
				done = 3 * far
			}
			if eights > 0 && done < n {
				rest(y[done:], ldd, x, ldx, wj[done*ldw:], ldw, eights, n-done, k)
			}
			if eights < rows {
				rest(y[eights*ldd:], ldd, x[eights*ldx:], ldx, wj, ldw, rows-eights, n, k)
			}
		}
	}
}
