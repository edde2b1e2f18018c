package kernels

// Exponential, tanh, erf and the activations in float32: one sequence of operations for each
// element, the same in every variant. The polynomials are our own minimax fits; exp_test.go has the
// error bounds.

import "math"

const (
	expMax = 88.72283  // exp is +Inf for greater x
	expMin = -87.33654 // exp is 0 for smaller x: results are never subnormal

	log2e = 1.4426950408889634
	ln2Hi = 0.693145751953125 // ln 2 in 17 bits, so that n·ln2Hi is exact
	ln2Lo = 1.4286068203094172e-06
	round = 12582912.0 // 1.5·2²³: adding it rounds to an integer, which is then in the low bits

	// exp(r) ≈ 1 + r + r²·(exp0 + exp1·r + …), |r| ≤ ln2/2
	exp0 = 0.5000000079222027
	exp1 = 0.16666666858829668
	exp2 = 0.04166626559626765
	exp3 = 0.008333264699626348
	exp4 = 0.0013946381452955253
	exp5 = 0.0001991823321705067
)

// exp returns eˣ with an error below 1.1 units in the last place; 0 below expMin, +Inf above
// expMax.
func exp(x float32) float32 {
	t := fma(x, log2e, round)
	n := float32(t - round)
	r := fma(n, -ln2Lo, fma(n, -ln2Hi, x))
	q := fma(exp5, r, exp4)
	q = fma(q, r, exp3)
	q = fma(q, r, exp2)
	q = fma(q, r, exp1)
	q = fma(q, r, exp0)
	p := float32(fma(q, float32(r*r), r) + 1)
	y := math.Float32frombits(math.Float32bits(p) + math.Float32bits(t)<<23) // p·2ⁿ
	if x > expMax {
		y = float32(math.Inf(1))
	}
	if x < expMin {
		y = 0
	}
	if x != x {
		y = x
	}
	return y
}

const (
	// tanh(x) ≈ x + x³·(tanh0 + tanh1·x² + …), |x| < tanhSmall
	tanhSmall = 0.625
	tanh0     = -0.33333264739676693
	tanh1     = 0.13330950244124412
	tanh2     = -0.05369713480710372
	tanh3     = 0.02049663547597885
	tanh4     = -0.005543112518668546
)

// tanh is the polynomial near 0 and 1 − 2/(exp(2|x|)+1) elsewhere, with the sign of x.
func tanh(x float32) float32 {
	a := abs(x)
	z := float32(x * x)
	q := fma(tanh4, z, tanh3)
	q = fma(q, z, tanh2)
	q = fma(q, z, tanh1)
	q = fma(q, z, tanh0)
	small := fma(float32(q*z), x, x)
	large := copysign(float32(1-float32(2/float32(exp(float32(a+a))+1))), x)
	if a < tanhSmall {
		return small
	}
	return large
}

const (
	// erf(x) ≈ x·(erf0 + erf1·x² + …), |x| < 1
	erf0 = 1.1283791659137459
	erf1 = -0.3761262713596391
	erf2 = 0.1128360017623133
	erf3 = -0.02685444459063731
	erf4 = 0.005189535336587975
	erf5 = -0.0008020841252645647
	erf6 = 7.889119432622343e-05
	// erf(x) ≈ 1 − exp(−(erfc0 + erfc1·x + …)), 1 ≤ x ≤ 4; 1 for greater x
	erfMax = 4
	erfc0  = 0.00030042836545832174
	erfc1  = 1.1272514564343061
	erfc2  = 0.6378830848565932
	erfc3  = 0.10332734916973557
	erfc4  = -0.02194043062434497
	erfc5  = 0.0029724420146445742
	erfc6  = -0.00018882361226516307
)

func erf(x float32) float32 {
	a := abs(x)
	z := float32(x * x)
	q := fma(erf6, z, erf5)
	q = fma(q, z, erf4)
	q = fma(q, z, erf3)
	q = fma(q, z, erf2)
	q = fma(q, z, erf1)
	q = fma(q, z, erf0)
	small := float32(q * x)
	if a > erfMax {
		a = erfMax
	}
	p := fma(erfc6, a, erfc5)
	p = fma(p, a, erfc4)
	p = fma(p, a, erfc3)
	p = fma(p, a, erfc2)
	p = fma(p, a, erfc1)
	p = fma(p, a, erfc0)
	large := copysign(float32(1-exp(-p)), x)
	if abs(x) < 1 {
		return small
	}
	return large
}

func abs(x float32) float32 { return math.Float32frombits(math.Float32bits(x) &^ (1 << 31)) }

func copysign(x, sign float32) float32 {
	return math.Float32frombits(math.Float32bits(x)&^(1<<31) | math.Float32bits(sign)&(1<<31))
}

// An Activation is the function between the two layers of a transformer's MLP.
type Activation uint8

// The activations that GPT-2 checkpoints use. σ(x) = 1/(1+exp(−x)).
const (
	// x·σ(2u), u = √(2/π)·(x + 0.044715·x³): equal to x·(1+tanh(u))/2 (Hendrycks and Gimpel 2016)
	GELUTanh  Activation = iota
	GELUErf              // x·(1+erf(x/√2))/2
	QuickGELU            // x·σ(1.702x)
	SiLU                 // x·σ(x)
	ReLU                 // x where x > 0, else 0
	Tanh                 // tanh(x)
	ReLU2                // x² where x > 0, else 0 (So et al. 2021)
	Mish                 // x·tanh(ln(1+eˣ)) (Misra 2019)
	activations
)

const (
	geluC   = 0.7978845608028654 // √(2/π)
	geluA   = 0.044715
	quickC  = 1.702
	sqrtHal = 0.7071067811865476 // √½
)

// apply is the definition of each activation, for one element.
func (a Activation) apply(x float32) float32 {
	switch a {
	case GELUTanh:
		u := float32(float32(geluC*x) * fma(float32(x*x), geluA, 1))
		return timesSigmoid(x, float32(u+u))
	case GELUErf:
		h := float32(0.5 * x)
		return fma(h, erf(float32(x*sqrtHal)), h)
	case QuickGELU:
		return timesSigmoid(x, float32(quickC*x))
	case SiLU:
		return timesSigmoid(x, x)
	case ReLU, ReLU2:
		if x < 0 {
			return 0
		} else if a == ReLU2 {
			x = float32(x * x)
		}
		return x // NaN stays NaN
	case Mish:
		return mish(x)
	default:
		return tanh(x)
	}
}

// Slope returns the derivative of an activation at x, in float64: that of the function, not of its
// steps in float32. Where there is none, at 0, it is 0, as PyTorch has it.
func (a Activation) Slope(x32 float32) float64 {
	x := float64(x32)
	sigmoid := func(t float64) float64 { return 1 / (1 + Exp64(-t)) }
	// of x·σ(t), where slope is that of t
	gate := func(t, slope float64) float64 {
		s := sigmoid(t)
		return s + float64(float64(x*s)*float64((1-s)*slope))
	}
	switch a {
	case GELUTanh:
		square := float64(geluA * float64(x*x))
		return gate(float64(2*geluC*x)*(1+square), 2*geluC*(1+float64(3*square)))
	case GELUErf:
		density := 0.3989422804014327 * Exp64(float64(-0.5*x)*x)
		return float64(0.5*(1+float64(erf(float32(x32*sqrtHal))))) + float64(x*density)
	case QuickGELU:
		return gate(quickC*x, quickC)
	case SiLU:
		return gate(x, 1)
	case Mish:
		e := Exp64(min(x, 40))
		n := float64(e * (e + 2))
		t := n / (n + 2)
		return t + float64(float64(x*sigmoid(x))*(1-float64(t*t)))
	case Tanh:
		t := 2*sigmoid(2*x) - 1
		return 1 - float64(t*t)
	case ReLU, ReLU2:
		if x <= 0 {
			return 0
		} else if a == ReLU2 {
			return 2 * x
		}
	}
	return 1
}

// mish returns x·n/(n+2), n = eˣ·(eˣ+2), which is x·tanh(ln(1+eˣ)) without a logarithm. It is off by
// less than 2·2⁻²⁴·|x|.
func mish(x float32) float32 {
	e := exp(x)
	n := fma(e, e, float32(e+e))
	return float32(x / float32(1+float32(2/n)))
}

// timesSigmoid returns x·σ(t), as one division.
func timesSigmoid(x, t float32) float32 { return float32(x / float32(1+exp(-t))) }
