package kernels

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"picogpt/dev/cases"
)

// exactFMA is a·b + c by exact arithmetic, rounded once.
func exactFMA(a, b, c float32) float32 {
	sum := float64(a)*float64(b) + float64(c)
	if math.IsNaN(sum) || math.IsInf(float64(c), 0) || math.IsInf(float64(a), 0) ||
		math.IsInf(float64(b), 0) {
		return float32(sum)
	}
	x := new(big.Float).SetPrec(1000).SetFloat64(float64(a))
	x.Mul(x, new(big.Float).SetFloat64(float64(b)))
	x.Add(x, new(big.Float).SetFloat64(float64(c)))
	if x.Sign() == 0 {
		return float32(sum) // exact, and IEEE 754 says which zero
	}
	r, _ := x.Float32()
	return r
}

func checkFMA(t *testing.T, a, b, c float32) {
	t.Helper()
	if got, want := fma(a, b, c), exactFMA(a, b, c); !sameBits(got, want) {
		t.Fatalf("fma(%x, %x, %x) = %x, want %x", a, b, c, got, want)
	}
}

func TestFMARoundsOnce(t *testing.T) {
	twice := 0 // how often rounding to float64 first gives another result
	checkFMA := func(t *testing.T, a, b, c float32) {
		t.Helper()
		checkFMA(t, a, b, c)
		if !sameBits(float32(float64(a)*float64(b)+float64(c)), fma(a, b, c)) {
			twice++
		}
	}
	for _, a := range specials {
		for _, b := range specials {
			for _, c := range specials {
				checkFMA(t, a, b, c)
			}
		}
	}
	rng, n := rand.New(rand.NewPCG(1, 2)), cases.Of(20000, 100000)
	float := func(low, high int) float32 { // a random number with an exponent in [low, high)
		return float32(math.Copysign(math.Ldexp(1+float64(rng.Uint32()>>9)/(1<<23),
			low+rng.IntN(high-low)), rng.Float64()-0.5))
	}
	for range n {
		checkFMA(t, float(-3, 3), float(-3, 3), float(-30, 3))
		checkFMA(t, float(-70, -60), float(-70, -60), float(-149, -120)) // subnormal results
		checkFMA(t, float(60, 64), float(60, 64), float(120, 128))       // up to overflow
	}
	// Double rounding: the product is 1 − 2⁻⁴⁶ times half a unit in the last place of c, so that
	// float64 rounds the sum to the very half.
	for i := range n {
		c := float(-2, 2)
		if i%4 == 0 {
			// where half a unit is half the least subnormal
			c = math.Float32frombits(math.Float32bits(c)>>8) + 0x1p-126
		}
		exponent := max(math.Ilogb(float64(c)), -126) - 24
		a, b := float32(math.Ldexp(1+0x1p-23, exponent/2)),
			float32(math.Ldexp(1-0x1p-23, exponent-exponent/2))
		checkFMA(t, a, b, c)
		checkFMA(t, a, -b, c)
	}
	if twice < n/10 {
		t.Errorf("only %d of the sums were hard", twice)
	}
}

func FuzzFMA(f *testing.F) {
	f.Add(uint32(0x3f800001), uint32(0x3f7fffff), uint32(0x33800000))
	f.Fuzz(func(t *testing.T, a, b, c uint32) {
		checkFMA(t, math.Float32frombits(a), math.Float32frombits(b), math.Float32frombits(c))
	})
}

func TestHalfToFloat(t *testing.T) {
	for h := range 1 << 16 {
		got := float64(FromHalf(uint16(h)))
		exponent, fraction := h>>10&31, float64(h&1023)
		want := math.Ldexp(1+fraction/1024, exponent-15)
		switch {
		case exponent == 0:
			want = math.Ldexp(fraction, -24)
		case exponent == 31 && fraction == 0:
			want = math.Inf(1)
		case exponent == 31:
			want = math.NaN()
		}
		if h>>15 == 1 {
			want = -want
		}
		if got != want && want == want || math.Signbit(got) != math.Signbit(want) && want == want ||
			want != want && got == got {
			t.Fatalf("%#04x: %v, want %v", h, got, want)
		}
	}
}
