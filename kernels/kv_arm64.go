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

// chainKVFast is chainKV. It leaves prefetching to the processor.
func chainKVFast(y, x []float32, w []uint16, ldw int, _ soon) {
	chain16Fast(y, x, w, ldw, false)
}
