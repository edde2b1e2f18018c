package decode

// The sums behind filters: in ascending order of ids, however they are computed.

import (
	"slices"
	"testing"

	"picogpt/kernels"
)

// TestEntropiesAreSumsInAscendingOrder holds the entropy to its definition, bit for bit.
func TestEntropiesAreSumsInAscendingOrder(t *testing.T) {
	rows, context := gpt2Rows()
	for kind, logits := range rows {
		for _, by := range []float64{1, 0.7, 1.9, 1e-3} {
			s := sampler(t, Options{Temperature: by})
			s.open = make([]uint64, 786)
			for i := range s.open {
				s.open[i] = 0xfeedbeefcafe1337
			}
			if err := s.score(logits, context); err != nil {
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
