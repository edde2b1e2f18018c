package gpu

import (
	"math"
	"math/big"
	"testing"
)

// TestTheProbesAnswersAreRight compares the fused products that the probe wants with those of exact
// arithmetic.
func TestTheProbesAnswersAreRight(t *testing.T) {
	a, b, c := probeCases()
	contracted, subnormal := 0, 0
	for i := range a {
		want := exactFMA(a[i], b[i], c[i])
		if x := a[i] + b[i] + c[i]; math.IsInf(float64(x), 0) || x != x {
			continue
		}
		exact := new(big.Float).SetPrec(2000)
		exact.Mul(big.NewFloat(float64(a[i])), big.NewFloat(float64(b[i])))
		sum, _ := exact.Add(exact, big.NewFloat(float64(c[i]))).Float32()
		if sum != want {
			t.Errorf("case %d: %x, want %x", i, bitsOf(want), bitsOf(sum))
		}
		if want != float32(float32(a[i]*b[i])+c[i]) {
			contracted++
		}
		if p := math.Abs(float64(float32(a[i] * b[i]))); p > 0 && p < 0x1p-126 {
			subnormal++
		}
	}
	if contracted < 300 || subnormal < 100 {
		t.Errorf("%d cases show a contraction, %d a subnormal product", contracted, subnormal)
	}
}
