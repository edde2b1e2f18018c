package eval

// Stats: the measurements of one token, from the logits before it.

import (
	"math"
	"slices"

	"picogpt/kernels"
	"picogpt/sample"
)

// A Stat says how well one token was predicted. Logarithms are natural.
type Stat struct {
	ID      int
	LogProb float64
	Rank    int     // how many ids have a greater logit; ids of equal logits have the same rank
	Greedy  bool    // it is the greedy choice: its rank is 0, and it is the lowest such id
	Entropy float64 // of the prediction, in nats

	Top []Alternative // the most probable ids, best first; as many as were requested
}

// An Alternative is an id that could have come instead.
type Alternative = sample.Alternative

// measure says what to compute besides the log-probability.
type measure struct {
	decay *decay // to compute rank and entropy too; nil not to
	top   int
}

// A summary holds what is the same for all ids at one position.
type summary struct {
	measure
	lse, entropy float64
	best         []Alternative
}

func (m measure) summarize(leaves kernels.Leaves, logits []float32) summary {
	s := summary{measure: m, lse: leaves.LogSumExp(logits)}
	if m.decay != nil {
		s.entropy = m.decay.entropy(logits, s.lse)
	}
	if m.top > 0 {
		ids := sample.Likeliest(logits, m.top)
		s.best = make([]Alternative, len(ids))
		for i, id := range ids {
			s.best[i] = Alternative{ID: id, LogProb: float64(logits[id]) - s.lse}
		}
	}
	return s
}

// stat returns the measurements of one id; logits are those that s summarizes.
func (s *summary) stat(logits []float32, id int) Stat {
	t := Stat{ID: id, LogProb: float64(logits[id]) - s.lse, Entropy: s.entropy, Top: s.best}
	if s.decay != nil {
		t.Rank, t.Greedy = rank(logits, id)
	}
	return t
}

// rank returns the number of logits that are greater than that of id, and whether no lower id has
// an equal one.
func rank(logits []float32, id int) (n int, greedy bool) {
	x := logits[id]
	for _, v := range logits {
		if v > x {
			n++
		}
	}
	return n, n == 0 && !slices.Contains(logits[:id], x)
}

// A decay is a table of 2^(−i/256). With it e^−d is computed, for one or two multiplications, with
// a relative error below 2·10⁻¹³, which is enough for an entropy, and with the same bits
// everywhere.
type decay [256]float64

func newDecay() *decay {
	t := new(decay)
	for i := range t {
		t[i] = kernels.Exp64(-math.Ln2 / 256 * float64(i))
	}
	return t
}

const (
	// 1.5·2⁵²: adding it rounds to an integer, which is then in the low bits
	entropyRound = 6755399441055744.0
	entropyMost  = 700 // d·e^−d is below 10⁻³⁰⁰ for greater d
)

// term returns d·e^−d for d from 0 to entropyMost. With n = d·256/ln2, rounded, and y = d −
// n·ln2/256, e^−d is 2^(−n/256)·e^−y: a power of two from the table, and the series to y³, |y| <
// 0.0014. The caller rounds the product: with one more conversion here the compiler would not
// inline the function.
func (t *decay) term(d float64) float64 {
	shifted := float64(d*(256/math.Ln2)) + entropyRound
	n := math.Float64bits(shifted)
	y := d - float64((shifted-entropyRound)*(math.Ln2/256))
	series := 1 - float64(y*(1-float64(y*(0.5-float64(y*(1./6))))))
	return float64(d*series) * math.Float64frombits(math.Float64bits(t[n&255])-n>>8<<52)
}

// within returns d, but at most entropyMost. d is never negative: the log-sum-exp is rounded from a
// sum of the greatest logit and a term that is not negative.
func within(d float64) float64 {
	if d > entropyMost {
		return entropyMost
	}
	return d
}

// entropy returns −Σ p·ln p = Σ d·e^−d, d = lse − logit, in nats. No term is negative; they are
// added in four lanes by i mod 4.
func (t *decay) entropy(logits []float32, lse float64) float64 {
	var a, b, c, d float64
	for len(logits) >= 4 {
		x := logits[:4:4]
		a += float64(t.term(within(lse - float64(x[0]))))
		b += float64(t.term(within(lse - float64(x[1]))))
		c += float64(t.term(within(lse - float64(x[2]))))
		d += float64(t.term(within(lse - float64(x[3]))))
		logits = logits[4:]
	}
	lanes := [4]float64{a, b, c, d}
	for i, v := range logits {
		lanes[i] += float64(t.term(within(lse - float64(v))))
	}
	return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3])
}
