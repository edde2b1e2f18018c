//go:build !purego

package kernels

// The leaf operations on keys and values in 16 and 8 bits, in AVX2 and AVX-512.

// round16AVX2 is round16 on the elements before len(dst) mod 8.
//
//go:noescape
func round16AVX2(dst []uint16, src []float32)

// chainKVAVX2 and chainKVAVX512 are chainKV on the columns before len(y) mod 8. Up to 64 columns
// stay in registers while all of x, which is not empty, passes.
//
//go:noescape
func chainKVAVX2(y, x []float32, w []uint16, ldw int, s soon)

//go:noescape
func chainKVAVX512(y, x []float32, w []uint16, ldw int, s soon)

// chainKVBy is chainKV by a leaf, and chainF16 for the last len(y) mod 8 columns.
func chainKVBy(
	leaf func(y, x []float32, w []uint16, ldw int, s soon),
) func(y, x []float32, w []uint16, ldw int, s soon) {
	return func(y, x []float32, w []uint16, ldw int, s soon) {
		if len(x) > 0 {
			leaf(y, x, w, ldw, s)
			if whole := len(y) &^ 7; whole < len(y) {
				chainF16(y[whole:], x, w[whole:], ldw)
			}
		}
	}
}

// roundByAVX2 is roundBy on the elements before len(dst) mod 8. inverse is not 0.
//
//go:noescape
func roundByAVX2(dst []byte, src []float32, inverse float32)

func round8Fast(dst []byte, src []float32) (scale uint16) {
	src = src[:len(dst)]
	scale, inverse := scale8(peakBitsFast(src))
	whole := len(src) &^ 7
	if inverse == 0 {
		whole = 0
	}
	roundByAVX2(dst[:whole], src, inverse)
	roundBy(dst[whole:], src[whole:], inverse)
	return scale
}

// fetchLines asks the second-level cache for lines.
//
//go:noescape
func fetchLines(a, b uintptr, apart, lines int)

// scaleByAVX2 is scaleBy on the elements before len(y) mod 8.
//
//go:noescape
func scaleByAVX2(y, by []float32)
