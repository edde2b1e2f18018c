package kernels

// The machine's limits, measured with the same workers and registers as the work that is held against them.

import "encoding/binary"

// FMAPeak does nothing but multiply and add in registers, iterations times 48 vectors, and returns how
// many floating-point operations this worker did. No barrier.
func (w *Worker) FMAPeak(iterations int) (operations float64) {
	return w.team.variant.fmaPeak(iterations)
}

// ReadMemory reads b once, the workers sharing it, and returns a sum of what this worker read. It ends with a barrier.
func ReadMemory(w *Worker, b []byte) (sum uint64) {
	const each = 4 << 20 // long enough that its beginning does not count
	for i := w.Next() * each; i < len(b); i = w.Next() * each {
		sum += w.team.variant.readMemory(b[i:min(i+each, len(b))])
	}
	w.Sync()
	return sum
}

// fmaPeak goes on with independent chains of fused multiply-adds. The values mean nothing.
func fmaPeak(iterations int) float64 {
	var a, b, c, d float32 = 1, 2, 3, 4
	for range iterations {
		a, b, c, d = fma(a, 0.5, 1), fma(b, 0.5, 1), fma(c, 0.5, 1), fma(d, 0.5, 1)
	}
	if a+b+c+d == 0 {
		return 0
	}
	return 8 * float64(iterations)
}

// readMemory adds the whole cache lines of b up.
func readMemory(b []byte) uint64 {
	var sum uint64
	for ; len(b) >= 64; b = b[64:] {
		for i := 0; i < 64; i += 8 {
			sum += binary.LittleEndian.Uint64(b[i:])
		}
	}
	return sum
}
