package eval

// Entropy, at the price of a multiplication or two for each logit: an exponential that is good enough for a sum, and the same everywhere.

import (
	"math"

	"picogpt/kernels"
)

// A decay is a table of 2^(−i/256), from which e^−d follows with an error below 3·10⁻¹² of it.
type decay [256]float64

func newDecay() *decay {
	t := new(decay)
	for i := range t {
		t[i] = kernels.Exp64(-math.Ln2 / 256 * float64(i))
	}
	return t
}

// term returns d·e^−d for d ≥ −0.001: with d = (n + r)·ln2/256, e^−d = 2^(−n/256)·e^−y, y = r·ln2/256 < 0.0028, by the series to y³.
func (t *decay) term(d float64) float64 {
	if d > 700 {
		return 0 // below 10^-300, and the exponent would run out
	}
	u := float64(d * (256 / math.Ln2))
	n := int(u)
	y := float64((u - float64(n)) * (math.Ln2 / 256))
	p := 1 - float64(y*(1-float64(y*(0.5-float64(y*(1./6))))))
	scale := math.Float64frombits(math.Float64bits(t[n&255]) - uint64(n>>8)<<52)
	return float64(float64(d*p) * scale)
}

// entropy returns −Σ p·ln p = Σ d·e^−d, d = lse − logit, in nats: terms that are not negative, in four lanes by i mod 4.
func (t *decay) entropy(logits []float32, lse float64) float64 {
	var a, b, c, d float64
	i := 0
	for ; i+4 <= len(logits); i += 4 {
		x := logits[i : i+4 : i+4]
		a += t.term(lse - float64(x[0]))
		b += t.term(lse - float64(x[1]))
		c += t.term(lse - float64(x[2]))
		d += t.term(lse - float64(x[3]))
	}
	l := [4]float64{a, b, c, d}
	for j, v := range logits[i:] {
		l[j] += t.term(lse - float64(v))
	}
	return (l[0] + l[1]) + (l[2] + l[3])
}
