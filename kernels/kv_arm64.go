//go:build !purego

package kernels

// The leaf operations on keys and values in 16 bits, in NEON.

// round16NEON is round16 on the elements before len(dst) mod 8.
//
//go:noescape
func round16NEON(dst []uint16, src []float32)

func round16Fast(dst []uint16, src []float32) {
	round16NEON(dst, src)
	if rest := len(dst) &^ 7; rest < len(dst) {
		round16(dst[rest:], src[rest:])
	}
}

// panelRow16Fast is panelRow16.
func panelRow16Fast(y, x []float32, b []uint16, next int) {
	for p := range len(y) / panelCols {
		chainNarrowF16NEON(y[p*panelCols:(p+1)*panelCols], x, b[p*next:], panelCols)
	}
}
