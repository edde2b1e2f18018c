package sample

// The sums behind filters: in ascending order of ids, however they are computed.

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"picogpt/kernels"
)

// TestEntropiesAreSumsInAscendingOrder compares the entropy with its definition, bit for bit.
func TestEntropiesAreSumsInAscendingOrder(t *testing.T) {
	rows, context := gpt2Rows()
	for kind, logits := range rows {
		for _, by := range []float64{1, 0.7, 1.9, 1e-3} {
			s := sampler(t, Params{Temperature: by})
			s.Open = make([]uint64, 786)
			for i := range s.Open {
				s.Open[i] = 0xfeedbeefcafe1337
			}
			if err := s.score(Row{Logits: logits}, context); err != nil {
				t.Fatal(err)
			}
			s.largest, s.by, s.weighed = slices.Max(s.scores), by, false
			s.weigh()
			sum := 0.0
			for i, w := range s.weights {
				if w != 0 {
					sum += float64(w * s.logWeight(i))
				}
			}
			want := kernels.Log64(s.mass) - sum/s.mass
			if got, _ := s.entropy(); got != want {
				t.Errorf("%s at temperature %v: %v, want %v", kind, by, got, want)
			}
		}
	}
}

func TestSumsOfScoresAreInAscendingOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for name, number := range map[string]func() float64{
		"logits":          func() float64 { return float64(float32(3*r.NormFloat64() - 40)) },
		"around 0":        func() float64 { return float64(float32(3 * r.NormFloat64())) },
		"doubles":         func() float64 { return 3 * r.NormFloat64() },
		"of all sizes":    func() float64 { return math.Ldexp(r.NormFloat64(), r.IntN(80)-50) },
		"halves of units": func() float64 { return float64(r.IntN(100))/(1<<31) + float64(r.IntN(3)) },
		"large":           func() float64 { return -float64(r.IntN(1<<20)) - float64(r.IntN(1<<30))/(1<<30) },
		"some infinite":   func() float64 { return 1 / float64(r.IntN(9000)) },
	} {
		for _, n := range []int{0, 1, 31, 32, 33, 1000, 50257} {
			x, want := make([]float64, n), 0.0
			for i := range x {
				x[i] = number()
				want += x[i]
			}
			if got := sumInOrder(x); got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
				t.Errorf("%s, %d numbers: %v, want %v", name, n, got, want)
			}
		}
	}
}

// TestLlamaCppsTypicalEqualsASort compares the selection with a sort of all, also where a sum
// equals the limit exactly.
func TestLlamaCppsTypicalEqualsASort(t *testing.T) {
	r := rand.New(rand.NewPCG(22, 6))
	for name, logit := range likenesses {
		for _, size := range []int{1, 2, 4, 64, 400, sized(3000, 50257)} {
			logits := make([]float32, size)
			for id := range logits {
				logits[id] = float32(logit(r, id))
			}
			for _, typical := range []float64{5e-324, 0.25, 0.5, r.Float64(), 0.95, 1 - 0x1p-53} {
				o := Params{Temperature: 1, Typical: typical, Samplers: samplersLlamaCpp}
				selected, sorted := sampler(t, o), sampler(t, o)
				for _, s := range []*Sampler{selected, sorted} {
					if err := s.score(Row{Logits: logits}, nil); err != nil {
						t.Fatal(err)
					}
					s.largest, s.weighed, s.weights = s.scores[s.likeliest()], false, s.weights[:0]
				}
				selected.applyTypical()
				sorted.ready()
				entropy, logMass := sorted.entropy()
				for i := range sorted.scores {
					sorted.nearness = append(sorted.nearness,
						-math.Abs(logMass-sorted.logWeight(i)-entropy))
				}
				sorted.sortTypical(typical * sorted.mass)
				if !slices.Equal(selected.scores, sorted.scores) || selected.mass != sorted.mass ||
					!selected.all && !slices.Equal(selected.ids[:len(selected.scores)],
						sorted.ids[:len(sorted.scores)]) {
					t.Fatalf("%s, %d logits, typical %v: %d ids of the mass %v, want %d of %v", name, size,
						typical, len(selected.scores), selected.mass, len(sorted.scores), sorted.mass)
				}
			}
		}
	}
}
