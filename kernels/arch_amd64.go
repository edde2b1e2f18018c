//go:build !purego

package kernels

// The leaf operations in AVX2, FMA and F16C assembly. The documentation of each stub is the Go
// function that it equals bit for bit. variants_amd64.go chooses the variants of a processor.

import "unsafe"

// avx2Variant returns the variant for processors with AVX2, FMA and F16C.
func avx2Variant() *variant {
	return &variant{
		name: "avx2",
		tile: tileFast, tileAhead: tileAheadFast,
		sizes: sizes{batchRows: 32, tileWidth: 96, aheadRows: segment / 4},
		weightLeaves: weightLeaves[float32]{
			chain: chainAVX2, chains: chainsBy(chainAVX2, chains2AVX2, chains3AVX2, chains6AVX2),
			chainRows: chainRowsAVX2, pack: packAVX2, packLanes: packLanesBy(packLanesAVX2, asItIs),
			dot: dotFast, dotPairs: dotPairsBy(dotPairAVX2, dotFast),
		},
		f16: weightLeaves[uint16]{
			chain:     chainF16,
			chains:    chainsBy(chainF16, chains2F16AVX2, chains3F16AVX2, chains6F16AVX2),
			chainRows: chainRowsF16AVX2, pack: packF16AVX2,
			convert: eightsBy(convertF16AVX2, goVariant.f16.convert),
			dot:     dotF16, dotPairs: dotPairsBy(dotPairF16AVX2, dotF16),
		},
		bf16: weightLeaves[uint16]{
			chain:     chainBF16,
			chains:    chainsBy(chainBF16, chains2BF16AVX2, chains3BF16AVX2, chains6BF16AVX2),
			chainRows: chainRowsBF16AVX2, pack: packBF16AVX2,
			convert: eightsBy(convertBF16AVX2, goVariant.bf16.convert),
			dot:     dotBF16, dotPairs: dotPairsBy(dotPairBF16AVX2, dotBF16),
		},
		layerNorm: layerNormAVX2,
		activate: activateBy(geluTanhAVX2, geluErfAVX2, quickGELUAVX2, siluAVX2, reluAVX2,
			tanhAVX2),
		add:        addAVX2,
		scale:      scaleAVX2,
		expShift:   expShiftAVX2,
		scoresMax:  scoresMaxAVX2,
		logSumExp:  logSumExpBy(maxAVX2, sumExpAVX2),
		exp64s:     exp64sAVX2,
		sum64:      sum64Fast,
		widen64:    widen64Fast,
		allFinite:  allFiniteFast,
		maxima:     maximaFast,
		within:     withinFast,
		sumAtLeast: sumAtLeastAVX2,

		round16: eightsBy(round16AVX2, round16),
		chainKV: chainKVBy(chainKVAVX2),
		round8:  round8Fast,
		scaleBy: eightsBy(scaleByAVX2, scaleBy),
		fetch:   fetchLines,

		packRows:   packRowsAVX2,
		packGroups: packGroupsAVX2,

		quantizeRow: quantizeRow(peakBitsFast, roundRowAVX2),
		quantTile8:  quantTile8AVX2,
		quantTile4:  quantTile4AVX2,
		quantOne8:   quantOne8AVX2,
		quantOne4:   quantOne4AVX2,
		scaleAdd:    scaleAddAVX2,
		errors4:     errors4AVX2,

		fmaPeak:     fmaPeakAVX2,
		productPeak: productPeakAVX2,
		readMemory:  readMemoryAVX2,
	}
}

// pause tells the processor that the caller is spinning; it takes about a hundred nanoseconds.
func pause()

// tileAVX2 is tile, in blocks of 6 rows (4 and 2 at the end) by 16 columns. It asks the second-level
// cache for count lines, one after four steps of k: from at on, step bytes apart, and for the next
// panels even and odd bytes further on in turn.
//
//go:noescape
func tileAVX2(c []float32, ldc int, a []float32, lda, ka int, b []float32, ldb, nextb, rows, k,
	panels int, add bool, at unsafe.Pointer, step, count, even, odd int)

func tileFast(
	c []float32, ldc int, a []float32, lda, ka int, b []float32, ldb, nextb, rows, k, panels int,
	add bool,
) {
	tileAVX2(c, ldc, a, lda, ka, b, ldb, nextb, rows, k, panels, add, nil, 0, 0, 0, 0)
}

func tileAheadFast(
	c []float32, ldc int, a []float32, lda, ka int, b []float32, ldb, nextb, rows, k, panels int,
	add bool, next ahead,
) {
	step, count, even, odd := next.row, next.rows, next.pair/2, next.pair/2
	if even < 64 { // a line for two panels, which ask for it in every second row
		step, count, even, odd = 2*step, (count+1)/2, next.row, next.pair-next.row
	}
	tileAVX2(c, ldc, a, lda, ka, b, ldb, nextb, rows, k, panels, add, next.at, step, count, even, odd)
}

// packRowsAVX2 is packRows.
//
//go:noescape
func packRowsAVX2(dst, a []float32, lda, rows, k int)

// packAVX2 is pack.
//
//go:noescape
func packAVX2(dst, src []float32, ld, k, panels int)

// packF16AVX2 and packBF16AVX2 are pack from F16 and BF16.
//
//go:noescape
func packF16AVX2(dst []float32, src []uint16, ld, k, panels int)

//go:noescape
func packBF16AVX2(dst []float32, src []uint16, ld, k, panels int)

// packLanesAVX2, packLanesF16AVX2 and packLanesBF16AVX2 are packLanes for the first 8·groups inputs,
// and lane inputs of each lane.
//
//go:noescape
func packLanesAVX2(dst, w []float32, ldw, lane, groups, panels int)

//go:noescape
func packLanesF16AVX2(dst []float32, w []uint16, ldw, lane, groups, panels int)

//go:noescape
func packLanesBF16AVX2(dst []float32, w []uint16, ldw, lane, groups, panels int)

func packLanesBy[T float32 | uint16](
	leaf func(dst []float32, w []T, ldw, lane, groups, panels int), widen func(T) float32,
) func(dst []float32, w []T, ldw, k, panels int) {
	return func(dst []float32, w []T, ldw, k, panels int) {
		leaf(dst, w, ldw, laneDepth(k), k/8, panels)
		packLanesFrom(dst, w, ldw, k/8*8, k, panels, widen)
	}
}

// dotRowAVX2 is dot for one row of x, four rows of w at a time, on outs &^ 3 of them.
//
//go:noescape
func dotRowAVX2(dst, x, w []float32, ldw, outs, k int)

// dotTileAVX2 is dot, four rows of x by three of w at a time: row n of w, n < count, row n + far
// and row n + 2·far.
//
//go:noescape
func dotTileAVX2(dst []float32, ldd int, x []float32, ldx int, w []float32, ldw, rows, count, far,
	k int)

var (
	dotFast = dotBy(dotRowAVX2, dotTileAVX2, 0, dot)
	dotF16  = dotBy(dotRowF16AVX2, dotTileF16AVX2, 8, goVariant.f16.dot)
	dotBF16 = dotBy(dotRowBF16AVX2, dotTileBF16AVX2, 8, goVariant.bf16.dot)
)

// dotBy is dot by leaves for one row of x and for several, and by short for fewer inputs than
// least.
func dotBy[T float32 | uint16](
	row func(dst, x []float32, w []T, ldw, outs, k int), tile dotPart[T], least int,
	short dotLeaf[T],
) dotLeaf[T] {
	return func(dst []float32, ldd int, x []float32, ldx int, w []T, ldw, rows, outs, k int) {
		done := 0
		switch {
		case k < least:
			short(dst, ldd, x, ldx, w, ldw, rows, outs, k)
			return
		case rows == 1:
			row(dst, x, w, ldw, outs, k)
			done = outs &^ 3
		default:
			tile(dst, ldd, x, ldx, w, ldw, rows, outs/3, outs/3, k)
			done = outs / 3 * 3
		}
		for ; done < outs; done++ {
			tile(dst[done:], ldd, x, ldx, w[done*ldw:], ldw, rows, 1, 0, k)
		}
	}
}

// A dotPart is dot for several rows of x and some rows of w, whose order its documentation says.
type dotPart[T float32 | uint16] func(dst []float32, ldd int, x []float32, ldx int, w []T, ldw,
	rows, count, far, k int)

// The same over weights in F16 and BF16, k ≥ 8.
//
//go:noescape
func dotRowF16AVX2(dst, x []float32, w []uint16, ldw, outs, k int)

//go:noescape
func dotRowBF16AVX2(dst, x []float32, w []uint16, ldw, outs, k int)

//go:noescape
func dotTileF16AVX2(dst []float32, ldd int, x []float32, ldx int, w []uint16, ldw, rows, count, far,
	k int)

//go:noescape
func dotTileBF16AVX2(dst []float32, ldd int, x []float32, ldx int, w []uint16, ldw, rows, count,
	far, k int)

// dotPairAVX2 is dot for k a multiple of 8, two rows of x at a time by two rows of w: n and n + 1,
// n = 0, 2, … < 2·count, and those far and 2·far after them.
//
//go:noescape
func dotPairAVX2(dst []float32, ldd int, x []float32, ldx int, w []float32, ldw, rows, count, far,
	k int)

//go:noescape
func dotPairF16AVX2(dst []float32, ldd int, x []float32, ldx int, w []uint16, ldw, rows, count, far,
	k int)

//go:noescape
func dotPairBF16AVX2(dst []float32, ldd int, x []float32, ldx int, w []uint16, ldw, rows, count,
	far, k int)

func dotPairsBy[T float32 | uint16](pair dotPart[T], rest dotLeaf[T]) dotLeaf[T] {
	return func(dst []float32, ldd int, x []float32, ldx int, w []T, ldw, rows, outs, k int) {
		far := outs / 6 * 2
		pair(dst, ldd, x, ldx, w, ldw, rows, far/2, far, k)
		if done := 3 * far; done < outs {
			rest(dst[done:], ldd, x, ldx, w[done*ldw:], ldw, rows, outs-done, k)
		}
	}
}

// layerNormAVX2 is layerNorm.
//
//go:noescape
func layerNormAVX2(dst, x, gain, bias []float32, eps float32)

// addAVX2 is add.
//
//go:noescape
func addAVX2(dst, x []float32)

// scaleAVX2 is scale.
//
//go:noescape
func scaleAVX2(x []float32, by float32)

// scoresMaxAVX2 is scoresMax.
//
//go:noescape
func scoresMaxAVX2(s, mask []float32, scale, max float32) float32

// expShiftAVX2 is expShift.
//
//go:noescape
func expShiftAVX2(s []float32, max float32) float32

// Each of these is x[i] = a.apply(x[i]) for one activation.
//
//go:noescape
func geluTanhAVX2(x []float32)

//go:noescape
func geluErfAVX2(x []float32)

//go:noescape
func quickGELUAVX2(x []float32)

//go:noescape
func siluAVX2(x []float32)

//go:noescape
func reluAVX2(x []float32)

//go:noescape
func tanhAVX2(x []float32)

// maxAVX2 and sumExpAVX2 are the leaves of logSumExpBy.
//
//go:noescape
func maxAVX2(x []float32) float32

//go:noescape
func sumExpAVX2(x []float32, max float64) float64

// exp64sAVX2 is exp64s.
//
//go:noescape
func exp64sAVX2(y, x []float64, max, by float64)

// sum64AVX2 is sum64 on whole runs of 64.
//
//go:noescape
func sum64AVX2(x []float64, sum float64) float64

func sum64Fast(x []float64, sum float64) float64 {
	return sum64(x[len(x)&^63:], sum64AVX2(x, sum))
}

// widen64AVX2 is widen64 on the elements before len(x) mod 8.
//
//go:noescape
func widen64AVX2(y []float64, x []float32) bool

func widen64Fast(y []float64, x []float32) bool {
	whole := len(x) &^ 7
	finite := widen64AVX2(y, x)
	return widen64(y[whole:], x[whole:]) && finite
}

// allFiniteAVX2 is allFinite on the elements before len(x) mod 8.
//
//go:noescape
func allFiniteAVX2(x []float32) bool

func allFiniteFast(x []float32) bool { return allFiniteAVX2(x) && allFinite(x[len(x)&^7:]) }

// maximaAVX2 is maxima where x is whole runs.
//
//go:noescape
func maximaAVX2(y, x []float64)

func maximaFast(y, x []float64) {
	whole := len(x) / MaximaRun
	maximaAVX2(y[:whole], x)
	maxima(y[whole:], x[whole*MaximaRun:])
}

// withinAVX2 is within on the elements before len(x) mod 16.
//
//go:noescape
func withinAVX2(places []int32, x []float64, least, below float64) int

func withinFast(places []int32, x []float64, least, below float64) int {
	n, whole := withinAVX2(places, x, least, below), len(x)&^15
	for i := whole; i < len(x); i++ {
		if x[i] >= least && x[i] < below {
			places[n] = int32(i)
			n++
		}
	}
	return n
}

// sumAtLeastAVX2 is sumAtLeast.
//
//go:noescape
func sumAtLeastAVX2(weights, scores []float64, least float64) float64

// convertF16AVX2 and convertBF16AVX2 are convert on the elements before len(dst) mod 8.
//
//go:noescape
func convertF16AVX2(dst []float32, src []uint16)

//go:noescape
func convertBF16AVX2(dst []float32, src []uint16)

func convert16Fast(dst []float32, src []uint16, bf16 bool) {
	if bf16 {
		convertBF16AVX2(dst, src)
	} else {
		convertF16AVX2(dst, src)
	}
	if rest := len(dst) &^ 7; rest < len(dst) {
		convert16(dst[rest:], src[rest:], bf16)
	}
}

// fmaPeakAVX2 runs 12 independent chains of fused multiply-adds, 8 lanes each, 4 steps an
// iteration. It returns their number, which is exact for up to countable iterations.
func fmaPeakAVX2(iterations int) float32

// productPeakAVX2 and productPeakVNNI are the same on pairs of int16.
func productPeakAVX2(iterations int) float32

func productPeakVNNI(iterations int) float32

// readMemoryAVX2 is readMemory on whole runs of 256 bytes.
//
//go:noescape
func readMemoryAVX2(b []byte) uint64
