package kernels

// The leaf operations, and which implementations of them this processor can run.

import (
	"fmt"
	"strings"
)

// A variant is one implementation of the leaf operations. The definition of each field is the pure
// Go function of the same name in leaf.go (quantleaf.go for integers, kv.go and kvquant.go for a
// cache in F16 and Q8, scores.go for scores). Slices are at least as long as the sizes say, and do
// not overlap unless the definition allows it.
type variant struct {
	name string
	// asks the operating system to let this process run it; nil if nothing needs to be asked
	permitted func() bool

	tile func(c []float32, ldc int, a []float32, lda, ka int, b []float32, ldb, nextb, rows,
		k, panels int, add bool)
	// tile, which also prefetches other memory, aheadRows rows of it in a call at most; nil if that
	// is no faster
	tileAhead func(c []float32, ldc int, a []float32, lda, ka int, b []float32, ldb, nextb, rows,
		k, panels int, add bool, next ahead)
	sizes
	weightLeaves[float32]
	f16, bf16  weightLeaves[uint16]
	packGroups func(dst, x []float32, ldx, rows, groups int)
	// nil if tile is only used for rows in place, ka = 1
	packRows func(dst, a []float32, lda, rows, k int)

	layerNorm  func(dst, x, gain, bias []float32, eps float32)
	activate   func(x []float32, a Activation)
	add        func(dst, x []float32)
	scale      func(x []float32, by float32)
	expShift   func(s []float32, max float32) float32
	scoresMax  func(s, mask []float32, scale, max float32) float32
	logSumExp  func(x []float32) float64
	exp64s     func(y, x []float64, max, by float64)
	sum64      func(x []float64, sum float64) float64
	widen64    func(y []float64, x []float32) bool
	allFinite  func(x []float32) bool
	maxima     func(y, x []float64)
	within     func(places []int32, x []float64, least, below float64) int
	sumAtLeast func(weights, scores []float64, least float64) float64

	round16 func(dst []uint16, src []float32)
	chainKV func(y, x []float32, w []uint16, ldw int, s soon)
	round8  func(dst []byte, src []float32) (scale uint16)
	scaleBy func(y, by []float32)
	// prefetches lines from each of four places: a, b, and those apart bytes behind them; nil if
	// that is no faster
	fetch func(a, b uintptr, apart, lines int)

	quantizeRow            func(q []int16, starts []int32, x []float32) float32
	quantTile8, quantTile4 quantTileLeaf
	// quantTile8 and quantTile4 take many rows and blocks best at once, not quantDepth blocks
	wholeDepth           bool
	quantOne8, quantOne4 quantOneLeaf // nil if one row has no leaf of its own
	scaleAdd             func(dst []float32, ldd int, y []float32, ldy int, bias, scales []float32,
		cols int)
	errors4 func(errors *[quantCols]float32, values *tileValues, inverses *[quantCols]float32)

	fmaPeak, productPeak func(iterations int) float32
	readMemory           func(b []byte) uint64
}

// sizes are what suits a variant's registers and caches.
type sizes struct {
	batchRows int // rows of linearBatch at most: for more, tile is as fast
	tileWidth int // outputs of a block of packed weights at most: see tileTask
	aheadRows int
}

// usualSizes suit processors on which nobody has measured others.
var usualSizes = sizes{batchRows: 96, tileWidth: 192}

// weightLeaves are the leaf operations on weights of one format of floats.
type weightLeaves[T float32 | uint16] struct {
	chain     func(y, x []float32, w []T, ldw int)
	chains    func(y []float32, ldy int, x []float32, w []T, ldw, count, n, cols int)
	chainRows func(y []float32, ldy int, x []float32, w []T, ldw, rows, groups, cols int)
	pack      func(dst []float32, src []T, ld, k, panels int)
	packLanes func(dst []float32, w []T, ldw, k, panels int) // nil if that is no faster
	convert   func(dst []float32, src []T)                   // nil for F32
	dot       dotLeaf[T]
	// dot for several rows on weights that a cache holds, k a multiple of 8; nil if that is no
	// faster
	dotPairs dotLeaf[T]
}

// halves returns the leaves for weights in F16 or BF16.
func (v *variant) halves(bf16 bool) *weightLeaves[uint16] {
	if bf16 {
		return &v.bf16
	}
	return &v.f16
}

type (
	dotLeaf[T float32 | uint16] func(dst []float32, ldd int, x []float32, ldx int, w []T, ldw,
		rows, outs, k int)
	quantTileLeaf func(y []float32, ldy int, q []int16, starts []int32, ldq int, w []byte, ldw,
		rows, blocks, tiles int, add bool)
	quantOneLeaf func(y []float32, q []int16, starts []int32, w []byte, ldw, blocks, tiles int)
)

// goVariant is the definition of every leaf operation.
var goVariant = &variant{
	name: "go",
	tile: tile, sizes: usualSizes,
	weightLeaves: weightLeaves[float32]{chain: chain, chains: chains(chain),
		chainRows: chainRows(chain), pack: pack, packLanes: packLanes, dot: dot},
	f16:        halfLeaves(false),
	bf16:       halfLeaves(true),
	packGroups: packGroups,
	packRows:   packRows,
	layerNorm:  layerNorm,
	activate:   activate,
	add:        add,
	scale:      scale,
	expShift:   expShift,
	scoresMax:  scoresMax,
	logSumExp:  logSumExp,
	exp64s:     exp64s,
	sum64:      sum64,
	widen64:    widen64,
	allFinite:  allFinite,
	maxima:     maxima,
	within:     within,
	sumAtLeast: sumAtLeast,

	round16: round16,
	chainKV: chainKV,
	round8:  round8,
	scaleBy: scaleBy,

	quantizeRow: quantizeRow(peakBits, roundRow),
	quantTile8:  quantTile8,
	quantTile4:  quantTile4,
	scaleAdd:    scaleAdd,
	errors4:     errors4,

	fmaPeak:     fmaPeak,
	productPeak: productPeak,
	readMemory:  readMemory,
}

// available lists the variants of this processor, the fastest first. It is set once, before main,
// and never changes.
var available = append(archVariants(), goVariant)

// Variants returns the names of the variants of this processor, the fastest first. The last is
// always "go". Whether the operating system permits them, [NewTeam] asks.
func Variants() []string {
	names := make([]string, len(available))
	for i, v := range available {
		names[i] = v.name
	}
	return names
}

// findVariant returns the variant of that name, or the fastest that this process may run.
func findVariant(name string) (*variant, error) {
	for _, v := range available {
		switch {
		case name != "" && name != v.name:
		case v.permitted == nil || v.permitted():
			return v, nil
		case name != "":
			return nil, fmt.Errorf("kernel: %q: the operating system does not permit it", name)
		}
	}
	return nil, fmt.Errorf("kernel: %q, want one that this machine has: %s", name,
		strings.Join(Variants(), ", "))
}
