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

func TestFMAPeakCountsWhatItDoes(t *testing.T) {
	for _, v := range available {
		if got := v.fmaPeak(0); got != 0 {
			t.Errorf("%s: no iterations did %v operations", v.name, got)
		}
		if once, thrice := v.fmaPeak(1), v.fmaPeak(3); once <= 0 || thrice != 3*once {
			t.Errorf("%s: 1 iteration did %v operations, 3 did %v", v.name, once, thrice)
		}
	}
}
