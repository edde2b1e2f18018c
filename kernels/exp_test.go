package kernels

// How near the functions of exp.go and logsumexp.go are to the truth.

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"picogpt/dev/cases"
)

// ulps is the distance of got from want in units in the last place of a float32, never below that
// of the least normal number.
func ulps(got float32, want float64) float64 {
	unit := math.Ldexp(1, max(math.Ilogb(want), -126)-23)
	return math.Abs(float64(got)-want) / unit
}

// sweep calls f with float32s of both signs from every part of the range up to most.
func sweep(most float32, f func(x float32)) {
	for bits := uint32(0); bits <= math.Float32bits(most); bits += 4093 {
		f(math.Float32frombits(bits))
		f(-math.Float32frombits(bits))
	}
}

func TestExpIsAccurate(t *testing.T) {
	var worst float64
	sweep(90, func(x float32) {
		want := math.Exp(float64(x))
		switch got := exp(x); {
		case x > expMax && !math.IsInf(float64(got), 1), x < expMin && got != 0:
			t.Fatalf("exp(%v) = %v beyond its range", x, got)
		case x <= expMax && x >= expMin:
			worst = max(worst, ulps(got, want))
		}
	})
	t.Logf("exp: %.3f units in the last place", worst)
	if worst > 1.1 {
		t.Errorf("exp is off by %.3f units in the last place, want at most 1.1", worst)
	}
}

// TestExpEndsWhereItSays: at the first number that gives 0, and the first that gives +Inf, wherever in
// a vector they are.
func TestExpEndsWhereItSays(t *testing.T) {
	least, most := float32(-87.33654), float32(88.72283)
	below, beyond := math.Nextafter32(least, -100), math.Nextafter32(most, 100)
	for _, v := range available {
		for n := range 33 {
			x := slices.Repeat([]float32{1}, n)
			x = append(x, least, below, most, beyond)
			v.expShift(x, 0)
			if x = x[n:]; !(0 < x[0] && x[0] < 0x1p-125 && x[1] == 0 && x[2] > 0x1p127 && finite(x[2]) &&
				!finite(x[3])) {
				t.Errorf("%s, from place %d on: %v", v.name, n, x)
			}
		}
	}
}

func TestTanhAndErfAreAccurate(t *testing.T) {
	for _, f := range []struct {
		name  string
		got   func(float32) float32
		want  func(float64) float64
		bound float64
	}{{"tanh", tanh, math.Tanh, 1.25}, {"erf", erf, math.Erf, 2.25}} {
		var worst float64
		var at float32
		sweep(math.MaxFloat32, func(x float32) {
			if d := ulps(f.got(x), f.want(float64(x))); d > worst {
				worst, at = d, x
			}
		})
		t.Logf("%s: %.3f units in the last place, at %v", f.name, worst, at)
		if worst > f.bound {
			t.Errorf("%s(%v) is off by %.3f units in the last place, want at most %v", f.name, at,
				worst, f.bound)
		}
	}
}

func TestActivationsAreAccurate(t *testing.T) {
	cases.NotShort(t)
	sigmoid := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	want := [activations]func(x float64) float64{
		GELUTanh:  func(x float64) float64 { return x * sigmoid(2*math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)) },
		GELUErf:   func(x float64) float64 { return x * math.Erfc(-x/math.Sqrt2) / 2 },
		QuickGELU: func(x float64) float64 { return x * sigmoid(1.702*x) },
		SiLU:      func(x float64) float64 { return x * sigmoid(x) },
		ReLU:      func(x float64) float64 { return max(x, 0) },
		Tanh:      math.Tanh,
		Mish:      func(x float64) float64 { return x * math.Tanh(math.Log1p(math.Exp(x))) },
	}
	for a := range activations {
		if a == ReLU2 { // exact but for one rounding
			continue
		}
		var worst float64
		var at float32
		sweep(1e4, func(x float32) {
			// Near 0 the result is about x/2; far below it is small beside x, where an error of
			// rounding of t counts |t| times.
			d := math.Abs(float64(a.apply(x))-want[a](float64(x))) / (math.Abs(float64(x))*0x1p-24 +
				0x1p-126)
			if d > worst {
				worst, at = d, x
			}
		})
		t.Logf("activation %d: %.3f · 2⁻²⁴ · |x|, at %v", a, worst, at)
		if worst > 2 {
			t.Errorf("activation %d at %v: off by %.2f · 2⁻²⁴ · |x|, want at most 2", a, at, worst)
		}
	}
	for a := range activations {
		for _, x := range []float32{float32(math.Inf(1)), 100, 1e30} {
			if y := a.apply(x); y != x && !(a == Tanh && y == 1) && !(a == ReLU2 && y == x*x) {
				t.Errorf("activation %d of %v is %v", a, x, y)
			}
		}
		if y := a.apply(float32(math.NaN())); y == y {
			t.Errorf("activation %d of NaN is %v", a, y)
		}
	}
}

// bigExp is eˣ to 150 bits: the Taylor series at x/2³⁰, squared thirty times.
func bigExp(x float64) *big.Float {
	const bits = 200
	r := new(big.Float).SetPrec(bits).SetFloat64(x)
	r.SetMantExp(r, -30)
	sum, term := big.NewFloat(1).SetPrec(bits), big.NewFloat(1).SetPrec(bits)
	for n := int64(1); n < 12; n++ {
		term.Mul(term, r)
		term.Quo(term, new(big.Float).SetInt64(n))
		sum.Add(sum, term)
	}
	for range 30 {
		sum.Mul(sum, sum)
	}
	return sum
}

// off returns got/want − 1 in units of 2⁻⁵².
func off(got float64, want *big.Float) float64 {
	d := new(big.Float).SetPrec(200).SetFloat64(got)
	d.Sub(d, want)
	d.Quo(d, want)
	f, _ := d.Float64()
	return math.Abs(f) * (1 << 52)
}

func TestExp64IsAccurate(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var worst float64
	for i := range cases.Few(2000, 20000, 20000) {
		x := rng.Float64()*1416 - 708
		if i%2 == 0 {
			x = rng.NormFloat64()
		}
		worst = max(worst, off(Exp64(x), bigExp(x)))
	}
	t.Logf("Exp64: %.3f · 2⁻⁵²", worst)
	if worst > 1 {
		t.Errorf("Exp64 is off by %.3f · 2⁻⁵², want at most 1", worst)
	}
	for x, want := range map[float64]float64{0: 1, 710: math.Inf(1), -709: 0,
		math.Inf(1): math.Inf(1), math.Inf(-1): 0} {
		if got := Exp64(x); got != want {
			t.Errorf("Exp64(%v) = %v, want %v", x, got, want)
		}
	}
	if got := Exp64(math.NaN()); got == got {
		t.Errorf("Exp64(NaN) = %v", got)
	}
}

func TestLog64IsAccurate(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	var worst float64
	for i := range cases.Of(5000, 20000) {
		x := math.Exp(rng.Float64()*1400 - 700)
		switch i % 3 {
		case 0:
			x = 1 + rng.NormFloat64()*math.Exp(-rng.Float64()*30)
		case 1:
			x = 50257 * rng.Float64()
		}
		x = math.Abs(x)
		y := Log64(x)
		// ln x = y + ln(x/eʸ), and x/eʸ is 1 + e with e so small that its square does not count.
		e := new(big.Float).SetPrec(200).SetFloat64(x)
		e.Quo(e, bigExp(y))
		e.Sub(e, big.NewFloat(1))
		d, _ := e.Float64()
		if d != 0 {
			worst = max(worst, math.Abs(d)/math.Ldexp(1, max(math.Ilogb(y), -1022)-52))
		}
	}
	t.Logf("Log64: %.3f units in the last place", worst)
	if worst > 1 {
		t.Errorf("Log64 is off by %.3f units in the last place, want at most 1", worst)
	}
	for x, want := range map[float64]float64{0: math.Inf(-1), 1: 0, math.Inf(1): math.Inf(1)} {
		if got := Log64(x); got != want {
			t.Errorf("Log64(%v) = %v, want %v", x, got, want)
		}
	}
	for _, x := range []float64{math.NaN(), -1, math.Inf(-1)} {
		if got := Log64(x); got == got {
			t.Errorf("Log64(%v) = %v, want NaN", x, got)
		}
	}
	if got, want := Log64(0x1p-1074), -1074*math.Ln2; math.Abs(got-want) > 1e-12 {
		t.Errorf("Log64 of the least number is %v, want %v", got, want)
	}
}

func TestLogSumExp(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, n := range []int{1, 2, 7, 8, 9, 100, 50257} {
		x := make([]float32, n)
		high := float32(math.Inf(-1))
		for i := range x {
			x[i] = float32(rng.NormFloat64()*10 + 300)
			high = max(high, x[i])
		}
		var sum float64
		for _, v := range x {
			sum += math.Exp(float64(v) - float64(high))
		}
		want := float64(high) + math.Log(sum)
		if got := (Leaves{}).LogSumExp(x); math.Abs(got-want) > 1e-12*math.Abs(want) {
			t.Errorf("LogSumExp of %d: %v, want %v", n, got, want)
		}
	}
	inf := float32(math.Inf(1))
	for _, c := range []struct {
		x    []float32
		want float64
	}{{nil, math.Inf(-1)}, {[]float32{-inf, -inf}, math.Inf(-1)}, {[]float32{1, inf}, math.Inf(1)},
		{[]float32{5, -inf}, 5}, {[]float32{1, float32(math.NaN()), inf}, math.NaN()}} {
		for _, v := range available {
			if got := v.logSumExp(c.x); got != c.want && !(got != got && c.want != c.want) {
				t.Errorf("%s: LogSumExp(%v) = %v, want %v", v.name, c.x, got, c.want)
			}
		}
	}
}
