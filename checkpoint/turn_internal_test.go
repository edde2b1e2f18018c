package checkpoint

import (
	"math"
	"testing"
)

// TestTurnsAreSinesAndCosines, all around the circle, to the last places.
func TestTurnsAreSinesAndCosines(t *testing.T) {
	for _, n := range []int{1, 2, 3, 7, 8, 64, 768, 6400} {
		for k := range 2*n + 3 {
			sin, cos := turn(k, n)
			s, c := math.Sincos(2 * math.Pi * float64(k%n) / float64(n))
			if math.Abs(sin-s) > 1e-14 || math.Abs(cos-c) > 1e-14 {
				t.Fatalf("turn(%d, %d) = %v, %v, want %v, %v", k, n, sin, cos, s, c)
			}
		}
	}
}
