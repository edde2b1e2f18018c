package kernels

// Exponential and logarithm in float64, and the sum of a softmax. On some machines package math has
// assembly for these, whose last bit may differ; these are the same on all machines.

import "math"

func logSumExp(x []float32) float64 {
	max := float32(math.Inf(-1))
	for _, v := range x {
		if v > max || v != v {
			max = v
		}
		if max != max {
			return math.NaN()
		}
	}
	if math.IsInf(float64(max), 0) {
		return float64(max)
	}
	var l [8]float64
	for i, v := range x {
		l[i%8] = float64(l[i%8] + Exp64(float64(float64(v)-float64(max))))
	}
	return float64(float64(max) + Log64(reduce(&l)))
}

const (
	exp64Max = 709.782712893384   // exp is +Inf for greater x
	exp64Min = -708.3964185322641 // exp is 0 for smaller x: results are never subnormal
	ln2Hi64  = 0.6931471803691238 // ln 2 in 33 bits
	ln2Lo64  = 1.9082149292705877e-10
	round64  = 6755399441055744.0 // 1.5·2⁵²
)

// The Taylor series of exp to r¹³, |r| ≤ ln2/2: the next term is below 2⁻⁵⁷.
const (
	e13 = 1.0 / 6227020800
	e12 = 1.0 / 479001600
	e11 = 1.0 / 39916800
	e10 = 1.0 / 3628800
	e9  = 1.0 / 362880
	e8  = 1.0 / 40320
	e7  = 1.0 / 5040
	e6  = 1.0 / 720
	e5  = 1.0 / 120
	e4  = 1.0 / 24
	e3  = 1.0 / 6
	e2  = 1.0 / 2
)

// logSumExpBy is logSumExp by leaves for the greatest number, −Inf if there is none and NaN if one
// is NaN, and for Σ Exp64(float64(x[i]) − max) in eight lanes, of which no difference is NaN or
// above 0.
func logSumExpBy(
	greatest func(x []float32) float32, sumExp func(x []float32, max float64) float64,
) func(x []float32) float64 {
	return func(x []float32) float64 {
		max := float64(greatest(x))
		if max-max != 0 { // NaN or infinite
			return max
		}
		return float64(max + Log64(sumExp(x, max)))
	}
}

// Exp64 returns eˣ within two units in the last place, the same bits on every machine. Results that
// would be subnormal are 0.
func Exp64(x float64) float64 {
	t := math.FMA(x, math.Log2E, round64)
	n := float64(t - round64)
	r := math.FMA(n, -ln2Lo64, math.FMA(n, -ln2Hi64, x))
	q := math.FMA(e13, r, e12)
	q = math.FMA(q, r, e11)
	q = math.FMA(q, r, e10)
	q = math.FMA(q, r, e9)
	q = math.FMA(q, r, e8)
	q = math.FMA(q, r, e7)
	q = math.FMA(q, r, e6)
	q = math.FMA(q, r, e5)
	q = math.FMA(q, r, e4)
	q = math.FMA(q, r, e3)
	q = math.FMA(q, r, e2)
	p := float64(math.FMA(q, float64(r*r), r) + 1)
	y := math.Float64frombits(math.Float64bits(p) + math.Float64bits(t)<<52) // p·2ⁿ
	if x > exp64Max {
		y = math.Inf(1)
	}
	if x < exp64Min {
		y = 0
	}
	if x != x {
		y = x
	}
	return y
}

// Log64 returns the natural logarithm within two units in the last place, the same bits on every
// machine. It follows math.Log's special cases.
func Log64(x float64) float64 {
	switch {
	case x != x || x < 0:
		return math.NaN()
	case x == 0:
		return math.Inf(-1)
	case x > math.MaxFloat64:
		return x
	}
	m, n := math.Frexp(x) // exact: x = m·2ⁿ, ½ ≤ m < 1
	if m < math.Sqrt2/2 {
		m, n = 2*m, n-1
	}
	// ln m = 2·atanh(s), s = (m−1)/(m+1), |s| ≤ 0.1716: the series in s² to s²³.
	f := float64(m - 1) // exact
	s := float64(f / float64(m+1))
	z := float64(s * s)
	q := 1.0 / 23
	for k := 21; k >= 3; k -= 2 {
		q = math.FMA(q, z, float64(1/float64(k)))
	}
	// 2s = f − s·f, so ln m = f − s·(f − 2·z·q): the factor s reduces the error of the division.
	low := math.FMA(-s, math.FMA(float64(-2*z), q, f), float64(float64(n)*ln2Lo64))
	return float64(float64(float64(n)*ln2Hi64) + float64(f+low))
}
