//go:build !purego

package kernels

// The leaf operations in NEON assembly. The documentation of each stub is the Go function that it
// equals bit for bit.

// archVariants returns the variants of this processor: every arm64 processor that Go supports has
// NEON, with fused multiply-adds.
func archVariants() []*variant {
	return []*variant{{
		name: "neon",
		tile: tileFast, sizes: usualSizes,
		weightLeaves: weightLeaves[float32]{
			chain: chainF32, chains: chains(chainF32), chainRows: chainRowsNEON, pack: packNEON,
			dot: dotBy(dotRowNEON, dotTileNEON),
		},
		f16: weightLeaves[uint16]{
			chain: chainF16, chains: chains(chainF16), chainRows: chainRowsF16NEON,
			pack: packF16NEON, convert: convertF16NEON, dot: dotBy(dotRowF16NEON, dotTileF16NEON),
		},
		bf16: weightLeaves[uint16]{
			chain: chainBF16, chains: chains(chainBF16), chainRows: chainRowsBF16NEON,
			pack: packBF16NEON, convert: convertBF16NEON,
			dot: dotBy(dotRowBF16NEON, dotTileBF16NEON),
		},
		packGroups: packGroupsNEON,
		layerNorm:  layerNormNEON,
		activate: activateBy(geluTanhNEON, geluErfNEON, quickGELUNEON, siluNEON, reluNEON,
			tanhNEON),
		add:        addNEON,
		scale:      scaleNEON,
		expShift:   expShiftNEON,
		scoresMax:  scoresMaxNEON,
		logSumExp:  logSumExpBy(maxNEON, sumExpNEON),
		exp64s:     exp64sNEON,
		sum64:      sum64,
		widen64:    widen64,
		allFinite:  allFinite,
		maxima:     maxima,
		within:     within,
		sumAtLeast: sumAtLeast,
		round16:    eightsBy(round16NEON, round16),
		chainKV:    chainKVFast,
		round8:     round8,
		scaleBy:    scaleBy,

		quantizeRow: quantizeRow(peakBitsNEON, roundRowNEON),
		quantTile8:  quantTileBy(quantTile8NEON),
		quantTile4:  quantTileBy(quantTile4NEON),
		scaleAdd:    scaleAddNEON,
		errors4:     errors4NEON,

		fmaPeak:     fmaPeakNEON,
		productPeak: productPeakNEON,
		readMemory:  readMemoryNEON,
	}}
}

// pause tells the processor that the caller is spinning; it takes about a hundred nanoseconds.
func pause()

// tileFast is tile if ka is 1. Rows need no packing here: the multiply-add takes one of the four
// elements of a register, so that a row of a is read in order.
func tileFast(
	c []float32, ldc int, a []float32, lda, _ int, b []float32, ldb, nextb, rows, k, panels int,
	add bool,
) {
	if k == 0 {
		return
	}
	for p := range panels {
		tileNEON(c[p*panelCols:], ldc, a, lda, b[p*nextb:], ldb, rows, k, add)
	}
}

// tileNEON is one panel of tile, in blocks of 6 rows (4 and 2 at the end).
//
//go:noescape
func tileNEON(c []float32, ldc int, a []float32, lda int, b []float32, ldb, rows, k int, add bool)

// chainNarrowNEON is chain: 64, 16, 4, 2 or 1 columns stay in registers while all of x passes.
//
//go:noescape
func chainNarrowNEON(y, x, w []float32, ldw int)

// chainWideNEON is chain on the columns before len(y) mod 16 and the elements before len(x) mod 8:
// eight rows of w at a time pass over y.
//
//go:noescape
func chainWideNEON(y, x, w []float32, ldw int)

// The same over weights in F16 and BF16.
//
//go:noescape
func chainNarrowF16NEON(y, x []float32, w []uint16, ldw int)

//go:noescape
func chainWideF16NEON(y, x []float32, w []uint16, ldw int)

//go:noescape
func chainNarrowBF16NEON(y, x []float32, w []uint16, ldw int)

//go:noescape
func chainWideBF16NEON(y, x []float32, w []uint16, ldw int)

var (
	chainF32  = chainBy(chainWideNEON, chainNarrowNEON)
	chainF16  = chainBy(chainWideF16NEON, chainNarrowF16NEON)
	chainBF16 = chainBy(chainWideBF16NEON, chainNarrowBF16NEON)
)

// chainBy splits a chain of many columns: whole vectors and long runs of rows of w, then the
// remaining rows, then the remaining columns.
func chainBy[T float32 | uint16](
	wide, narrow func(y, x []float32, w []T, ldw int),
) func(y, x []float32, w []T, ldw int) {
	return func(y, x []float32, w []T, ldw int) {
		if len(y) <= 128 {
			narrow(y, x, w, ldw)
			return
		}
		cols, rows := len(y)&^15, len(x)&^7
		wide(y[:cols], x[:rows], w, ldw)
		if rows < len(x) {
			narrow(y[:cols], x[rows:], w[rows*ldw:], ldw)
		}
		if cols < len(y) && len(x) > 0 {
			narrow(y[cols:], x, w[cols:], ldw)
		}
	}
}

// chainRowsNEON is chainRows; chainRowsF16NEON and chainRowsBF16NEON are the same on F16 and BF16.
//
//go:noescape
func chainRowsNEON(y []float32, ldy int, x, w []float32, ldw, rows, groups, cols int)

//go:noescape
func chainRowsF16NEON(y []float32, ldy int, x []float32, w []uint16, ldw, rows, groups, cols int)

//go:noescape
func chainRowsBF16NEON(y []float32, ldy int, x []float32, w []uint16, ldw, rows, groups, cols int)

// packGroupsNEON is packGroups.
//
//go:noescape
func packGroupsNEON(dst, x []float32, ldx, rows, groups int)

// packNEON is pack.
//
//go:noescape
func packNEON(dst, src []float32, ld, k, panels int)

// packF16NEON and packBF16NEON are pack from F16 and BF16.
//
//go:noescape
func packF16NEON(dst []float32, src []uint16, ld, k, panels int)

//go:noescape
func packBF16NEON(dst []float32, src []uint16, ld, k, panels int)

// dotRowNEON is dot for one row of x, four rows of w at a time.
//
//go:noescape
func dotRowNEON(dst, x, w []float32, ldw, outs, k int)

// dotTileNEON is dot, four rows of x by three of w at a time.
//
//go:noescape
func dotTileNEON(dst []float32, ldd int, x []float32, ldx int, w []float32, ldw, rows, outs, k int)

// dotBy is dot by leaves for one row of x and for several.
func dotBy[T float32 | uint16](
	row func(dst, x []float32, w []T, ldw, outs, k int), tile dotLeaf[T],
) dotLeaf[T] {
	return func(dst []float32, ldd int, x []float32, ldx int, w []T, ldw, rows, outs, k int) {
		if rows == 1 {
			row(dst, x, w, ldw, outs, k)
			return
		}
		tile(dst, ldd, x, ldx, w, ldw, rows, outs, k)
	}
}

// The same over weights in F16 and BF16.
//
//go:noescape
func dotRowF16NEON(dst, x []float32, w []uint16, ldw, outs, k int)

//go:noescape
func dotRowBF16NEON(dst, x []float32, w []uint16, ldw, outs, k int)

//go:noescape
func dotTileF16NEON(dst []float32, ldd int, x []float32, ldx int, w []uint16, ldw, rows, outs,
	k int)

//go:noescape
func dotTileBF16NEON(dst []float32, ldd int, x []float32, ldx int, w []uint16, ldw, rows, outs,
	k int)

// layerNormNEON is layerNorm.
//
//go:noescape
func layerNormNEON(dst, x, gain, bias []float32, eps float32)

// addNEON is add.
//
//go:noescape
func addNEON(dst, x []float32)

// scaleNEON is scale.
//
//go:noescape
func scaleNEON(x []float32, by float32)

// scoresMaxNEON is scoresMax.
//
//go:noescape
func scoresMaxNEON(s, mask []float32, scale, max float32) float32

// expShiftNEON is expShift.
//
//go:noescape
func expShiftNEON(s []float32, max float32) float32

// Each of these is x[i] = a.apply(x[i]) for one activation.
//
//go:noescape
func geluTanhNEON(x []float32)

//go:noescape
func geluErfNEON(x []float32)

//go:noescape
func quickGELUNEON(x []float32)

//go:noescape
func siluNEON(x []float32)

//go:noescape
func reluNEON(x []float32)

//go:noescape
func tanhNEON(x []float32)

// maxNEON and sumExpNEON are the leaves of logSumExpBy.
//
//go:noescape
func maxNEON(x []float32) float32

//go:noescape
func sumExpNEON(x []float32, max float64) float64

// exp64sNEON is exp64s.
//
//go:noescape
func exp64sNEON(y, x []float64, max, by float64)

// convertF16NEON and convertBF16NEON are convert.
//
//go:noescape
func convertF16NEON(dst []float32, src []uint16)

//go:noescape
func convertBF16NEON(dst []float32, src []uint16)

// fmaPeakNEON runs 24 independent chains of fused multiply-adds, 4 lanes each, 2 steps an
// iteration. It returns their number, which is exact for up to countable iterations.
func fmaPeakNEON(iterations int) float32

// productPeakNEON is the same with products of int16, four at a time.
func productPeakNEON(iterations int) float32

// readMemoryNEON is readMemory on whole runs of 256 bytes.
//
//go:noescape
func readMemoryNEON(b []byte) uint64

// On keys and values in 16 bits.

// round16NEON is round16 on the elements before len(dst) mod 8.
//
//go:noescape
func round16NEON(dst []uint16, src []float32)

// chainKVFast is chainKV. It leaves prefetching to the processor.
func chainKVFast(y, x []float32, w []uint16, ldw int, _ soon) {
	chainF16(y, x, w, ldw)
}
