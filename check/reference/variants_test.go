package reference

import (
	"math"
	"testing"
)

// Every binary16 is itself, and between each two neighbours the nearer one is taken, in the middle
// the one whose last bit is 0.
func TestHalfIsTheNearestBinary16(t *testing.T) {
	value := func(i int) float64 { // of the bits i, by the definition
		if e := i >> 10; e > 0 {
			return math.Ldexp(float64(1<<10+i&(1<<10-1)), e-25)
		}
		return math.Ldexp(float64(i), -24)
	}
	const infinity = 31 << 10
	for i := range infinity {
		low, high := value(i), value(i+1)
		if got := fromHalf(uint16(i)); got != low || fromHalf(uint16(i)|1<<15) != -low {
			t.Fatalf("%#x is %v, want %v", i, got, low)
		}
		middle, even := (low+high)/2, value(i+i&1)
		below, above := math.Nextafter(middle, 0), math.Nextafter(middle, high)
		if i+1 == infinity {
			high = math.NaN()
			even = high
		}
		for _, c := range [][2]float64{{low, low}, {below, low}, {middle, even}, {above, high}} {
			for _, sign := range []float64{1, -1} {
				got, want := half(sign*c[0]), sign*c[1]
				if got != want && (got == got || want == want) {
					t.Fatalf("%v rounds to %v, want %v", sign*c[0], got, want)
				}
			}
		}
	}
	for _, x := range []float64{math.Inf(1), math.Inf(-1), math.NaN(), 1e300} {
		if y := half(x); y == y {
			t.Errorf("%v rounds to %v", x, y)
		}
	}
}
