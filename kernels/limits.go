package kernels

// The machine's limits, measured with the same workers and registers as the work that they are
// compared with.

import "encoding/binary"

// Peak only multiplies and adds in registers, by the instructions that the leaves of a format use,
// iterations times 48 vectors, and returns how many operations this worker did, two to each
// product: of float32, or of integers in Q8 and Q4. It does not wait at a barrier.
func (w *Worker) Peak(f Format, iterations int) (operations float64) {
	run := w.team.variant.fmaPeak
	if f >= Q8 {
		run = w.team.variant.productPeak
	}
	for ; iterations > 0; iterations -= countable {
		operations += 2 * float64(run(min(iterations, countable)))
	}
	return operations
}

// ReadMemory reads b once, shared by the workers, and returns a sum of the part that this worker
// read. It ends with a barrier.
func ReadMemory(w *Worker, b []byte) (sum uint64) {
	const each = 4 << 20 // so long that its beginning does not matter
	for i := w.Next() * each; i < len(b); i = w.Next() * each {
		sum += w.team.variant.readMemory(b[i:min(i+each, len(b))])
	}
	w.Sync()
	return sum
}

// fmaPeak continues four independent chains of fused multiply-adds, each of which adds 1 to a
// chain, and returns their number, which proves that they were done.
func fmaPeak(iterations int) float32 {
	var a, b, c, d float32
	for range iterations {
		a, b, c, d = fma(1, 1, a), fma(1, 1, b), fma(1, 1, c), fma(1, 1, d)
	}
	return float32(float32(a+b) + float32(c+d))
}

// productPeak continues four independent sums of products of int16, each of which adds 1 to a sum.
func productPeak(iterations int) float32 {
	x := [...]int16{1, 1, 1, 1}
	return products(x[:], x[0], iterations)
}

// products is not inlined, so that nothing is known of what it multiplies.
//
//go:noinline
func products(x []int16, w int16, iterations int) float32 {
	var a, b, c, d int32
	for range iterations {
		a += int32(x[0]) * int32(w)
		b += int32(x[1]) * int32(w)
		c += int32(x[2]) * int32(w)
		d += int32(x[3]) * int32(w)
	}
	return float32(a + b + c + d)
}

// countable is the number of iterations that float32 counts exactly with any number of chains and
// lanes: the sum is 384 for each in AVX2, 1536 with pairs of integers in AVX-512, 2¹⁴ in AMX.
const countable = 1 << 15

// readMemory adds up the whole cache lines of b.
func readMemory(b []byte) uint64 {
	var sum uint64
	for ; len(b) >= 64; b = b[64:] {
		for i := 0; i < 64; i += 8 {
			sum += binary.LittleEndian.Uint64(b[i:])
		}
	}
	return sum
}
