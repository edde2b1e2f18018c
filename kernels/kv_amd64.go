//go:build !purego

package kernels

// The leaf operations on keys and values in 16 bits, in AVX2 and AVX-512.

// round16AVX2 is round16 on the elements before len(dst) mod 8.
//
//go:noescape
func round16AVX2(dst []uint16, src []float32)

func round16Fast(dst []uint16, src []float32) {
	round16AVX2(dst, src)
	if rest := len(dst) &^ 7; rest < len(dst) {
		round16(dst[rest:], src[rest:])
	}
}

// panelRow16AVX2 and panelRow16AVX512 are panelRow16.
//
//go:noescape
func panelRow16AVX2(y, x []float32, b []uint16, next int)

//go:noescape
func panelRow16AVX512(y, x []float32, b []uint16, next int)
