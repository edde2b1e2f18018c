package kernels

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// A measurement that skips bytes, or operations, would flatter the machine.
func TestReadMemoryReadsEveryWord(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 5))
	for _, size := range []int{0, 256, 512, 4096, 1 << 20, 5<<20 + 768} {
		b := make([]byte, size)
		var want uint64
		for i := 0; i < size; i += 8 {
			n := rng.Uint64()
			want += n
			binary.LittleEndian.PutUint64(b[i:], n)
		}
		for _, name := range Variants() {
			team := newTeam(t, 3, name)
			var sums [3]uint64
			team.Run(func(w *Worker) { sums[w.ID()] = ReadMemory(w, b) })
			if got := sums[0] + sums[1] + sums[2]; got != want {
				t.Errorf("%s: the words of %d bytes add up to %d, want %d", name, size, got, want)
			}
		}
	}
}

// The variants count what they do in the registers that do it: with a multiply-add less the number
// is another.
func TestPeakCountsWhatItDoes(t *testing.T) {
	lanes := map[string][2]int{"go": {4, 4}, "avx2": {48 * 8, 48 * 16}, "avx2vnni": {48 * 8, 48 * 16},
		"avx512": {48 * 16, 48 * 32}, "avx512amx": {48 * 16, 1 << 14}, "neon": {48 * 4, 48 * 4}}
	for _, name := range Variants() {
		newTeam(t, 1, name).Run(func(w *Worker) {
			for i, format := range []Format{F32, Q8} {
				for _, iterations := range []int{0, 1, 2, 3, 99, countable, 3*countable + 7} {
					want := 2 * float64(lanes[name][i]) * float64(iterations)
					if got := w.Peak(format, iterations); got != want {
						t.Errorf("%s, %v: %d iterations did %v operations, want %v",
							name, format, iterations, got, want)
					}
				}
			}
		})
	}
}
