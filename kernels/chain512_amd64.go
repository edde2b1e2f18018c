//go:build !purego

package kernels

// Chains of one row and of a few in AVX-512. The documentation of each stub is the Go function that
// it equals.

// These are chainRows for pairs of groups.
//
//go:noescape
func chainRowsAVX512(y []float32, ldy int, x, w []float32, ldw, rows, pairs, cols int)

//go:noescape
func chainRowsF16AVX512(y []float32, ldy int, x []float32, w []uint16, ldw, rows, pairs, cols int)

//go:noescape
func chainRowsBF16AVX512(y []float32, ldy int, x []float32, w []uint16, ldw, rows, pairs, cols int)

// chainRowsBy is chainRows by leaves for pairs of groups and for one group.
func chainRowsBy[T float32 | uint16](
	two, one func(y []float32, ldy int, x []float32, w []T, ldw, rows, n, cols int),
) func(y []float32, ldy int, x []float32, w []T, ldw, rows, groups, cols int) {
	return func(y []float32, ldy int, x []float32, w []T, ldw, rows, groups, cols int) {
		pairs := groups / 2
		if pairs > 0 && cols > 0 {
			two(y, ldy, x, w, ldw, rows, pairs, cols)
		}
		if groups%2 > 0 {
			done := 2 * pairs * groupDepth
			one(y, ldy, x[done*rows:], w[done*ldw:], ldw, rows, 1, cols)
		}
	}
}

// These are chains for six, three or two segments. cols is a multiple of panelCols.
//
//go:noescape
func chains6AVX512(y []float32, ldy int, x, w []float32, ldw, n, cols int)

//go:noescape
func chains3AVX512(y []float32, ldy int, x, w []float32, ldw, n, cols int)

//go:noescape
func chains2AVX512(y []float32, ldy int, x, w []float32, ldw, n, cols int)

//go:noescape
func chains6F16AVX512(y []float32, ldy int, x []float32, w []uint16, ldw, n, cols int)

//go:noescape
func chains3F16AVX512(y []float32, ldy int, x []float32, w []uint16, ldw, n, cols int)

//go:noescape
func chains2F16AVX512(y []float32, ldy int, x []float32, w []uint16, ldw, n, cols int)

//go:noescape
func chains6BF16AVX512(y []float32, ldy int, x []float32, w []uint16, ldw, n, cols int)

//go:noescape
func chains3BF16AVX512(y []float32, ldy int, x []float32, w []uint16, ldw, n, cols int)

//go:noescape
func chains2BF16AVX512(y []float32, ldy int, x []float32, w []uint16, ldw, n, cols int)
