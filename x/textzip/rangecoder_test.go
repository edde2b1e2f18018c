package textzip

import (
	"math"
	"math/rand/v2"
	"testing"

	"picogpt/dev/cases"
	"picogpt/kernels"
)

// Symbols of all sizes, from certain to one in 2^46, and those whose carries run far.
func TestTheCoderIsExact(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for i := range cases.Of(300, 20_000) {
		symbols := make([]symbol, random.IntN(200))
		ideal := 0.0
		for j := range symbols {
			total := 1 + random.Uint64N(1<<random.IntN(47))
			s := symbol{size: total, total: total}
			switch random.IntN(4) {
			case 0:
				s.size = 1
				s.low = total - 1
			case 1, 2:
				s.low = random.Uint64N(total)
				s.size = 1 + random.Uint64N(total-s.low)
			}
			symbols[j] = s
			ideal += math.Log2(float64(s.total) / float64(s.size))
		}
		e := newEncoder()
		for _, s := range symbols {
			e.encode(s)
		}
		payload := e.end()
		if excess := float64(8*len(payload)) - ideal; excess > 8+0.0015*float64(len(symbols)) {
			t.Fatalf("case %d: %d bytes for %.1f bits", i, len(payload), ideal)
		}
		d := newDecoder(payload)
		for j, s := range symbols {
			if v := d.value(s.total); v < s.low || v >= s.low+s.size {
				t.Fatalf("case %d: symbol %d: value %d, want it in %+v", i, j, v, s)
			}
			d.take(s)
		}
	}
}

func TestFrequenciesAreProbabilities(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 2))
	for _, vocab := range []int{1, 2, 255, 256, 257, 1000, 5003} {
		logits := make([]float32, vocab)
		sum := 0.0
		for i := range logits {
			logits[i] = float32(random.NormFloat64() * 5)
			sum += math.Exp(float64(logits[i]))
		}
		var want *frequencies
		for _, name := range kernels.Variants() {
			leaves, err := kernels.LeavesOf(name)
			if err != nil {
				t.Fatal(err)
			}
			f := newFrequencies(vocab)
			f.set(leaves, logits)
			if want == nil {
				want = f
			}
			low := uint64(0)
			for id, x := range logits {
				s := f.symbol(id)
				p, got := math.Exp(float64(x))/sum, float64(s.size)/float64(s.total)
				if s != want.symbol(id) || s.low != low || s.size == 0 ||
					math.Abs(got-p) > 1e-5*p+2e-9 {
					t.Fatalf("%s, id %d of %d: %+v is %g, want %g", name, id, vocab, s, got, p)
				}
				for _, v := range []uint64{s.low, s.low + s.size - 1} {
					if found, fs := f.find(v); found != id || fs != s {
						t.Fatalf("%s: value %d is of id %d, want %d", name, v, found, id)
					}
				}
				low += s.size
			}
			if low != f.total {
				t.Errorf("%s: frequencies come to %d, want %d", name, low, f.total)
			}
		}
	}
	f := newFrequencies(3)
	if f.set(kernels.Leaves{}, []float32{0, float32(math.NaN()), 1}); f.total != 0 {
		t.Error("frequencies of a NaN")
	}
}
