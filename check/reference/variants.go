// The variations between GPT-2 checkpoints (the activation, the scale of the attention scores) and
// between caches.
package reference

import "math"

// activation returns the function of that name in a config, or nil. The names and formulas are
// those of Hugging Face transformers' activations.py.
func activation(name string) func(float64) float64 {
	switch name {
	case "gelu_new", "gelu_pytorch_tanh", "gelu_python_tanh", "gelu_accurate":
		return gelu
	case "gelu", "gelu_python":
		return func(x float64) float64 { return 0.5 * x * (1 + math.Erf(x/math.Sqrt2)) }
	case "gelu_fast": // the tanh form with sqrt(2/pi) cut to ten digits
		return func(x float64) float64 {
			return 0.5 * x * (1 +
				math.Tanh(x*0.7978845608*(1+0.044715*x*x)))
		}
	case "quick_gelu":
		return func(x float64) float64 { return x * sigmoid(1.702*x) }
	case "silu", "swish":
		return func(x float64) float64 { return x * sigmoid(x) }
	case "relu":
		return func(x float64) float64 { return math.Max(x, 0) }
	case "relu2":
		return func(x float64) float64 { return math.Max(x, 0) * math.Max(x, 0) }
	case "mish":
		return func(x float64) float64 { return x * math.Tanh(math.Log1p(math.Exp(x))) }
	case "tanh":
		return math.Tanh
	}
	return nil
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// attnScale returns the factor of a layer's scores; layers count from 0. reorder_and_upcast_attn
// does not matter here: it applies the same factors in another order, so that sums in half
// precision do not overflow, and changes nothing in float64.
func attnScale(hp HParams, layer int) float64 {
	scale := 1.0
	if hp.ScaleAttn {
		scale /= math.Sqrt(float64(hp.Embd) / float64(hp.Head))
	}
	if hp.InverseLayer {
		scale /= float64(layer + 1)
	}
	return scale
}

// half rounds x to IEEE 754 binary16, to nearest, ties to even. Numbers beyond its range give NaN.
func half(x float64) float64 {
	_, exponent := math.Frexp(x)                 // |x| is at least 2^(exponent-1)
	step := math.Ldexp(1, max(exponent, -13)-11) // between neighbours; subnormal below 2^-14
	if y := math.RoundToEven(x/step) * step; math.Abs(y) <= 65504 {
		return y
	}
	return math.NaN()
}

// fromHalf returns the value of the bits of a binary16.
func fromHalf(bits uint16) float64 {
	exponent, fraction := int(bits>>10&31), float64(bits&(1<<10-1))
	value := math.Ldexp(fraction, -24) // subnormal
	switch {
	case exponent == 31 && fraction == 0:
		value = math.Inf(1)
	case exponent == 31:
		value = math.NaN()
	case exponent > 0:
		value = math.Ldexp(1<<10+fraction, exponent-25)
	}
	if bits>>15 == 1 {
		return -value
	}
	return value
}
