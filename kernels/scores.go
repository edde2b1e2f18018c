package kernels

// Operations on one row of logits, which one goroutine computes without a team.

import "math"

// Leaves are the operations of one variant on a row of logits or scores. They need no [Team]. The
// zero value is the fastest variant of this processor; [Team.Leaves] returns the team's. Every
// variant gives the same bits.
type Leaves struct{ v *variant }

// Leaves returns the operations of the team's variant.
func (t *Team) Leaves() Leaves { return Leaves{t.variant} }

// Leaves returns the operations of the team's variant.
func (w *Worker) Leaves() Leaves { return w.team.Leaves() }

// LeavesOf returns the operations of a variant: the fastest of this processor for "", or one of
// [Variants].
func LeavesOf(name string) (Leaves, error) {
	v, err := findVariant(name)
	return Leaves{v}, err
}

func (l Leaves) variant() *variant {
	if l.v == nil {
		return available[0]
	}
	return l.v
}

// Variant returns the variant's name.
func (l Leaves) Variant() string { return l.variant().name }

// LogSumExp returns ln Σ exp(x[i]) in float64: max + ln Σ exp(x[i] − max), the sum in eight lanes
// by i mod 8 (see the package comment). No element gives −Inf; a NaN gives NaN; +Inf gives +Inf.
func (l Leaves) LogSumExp(x []float32) float64 { return l.variant().logSumExp(x) }

// Exp64s sets y[i] to [Exp64] of (x[i] − max)/by. y is as long as x, and may be x.
func (l Leaves) Exp64s(y, x []float64, max, by float64) {
	l.variant().exp64s(y[:len(x)], x, max, by)
}

// Sum64 returns sum + x[0] + x[1] + …, added one after the other: the same bits as a loop. No
// number may be below 0.
func (l Leaves) Sum64(x []float64, sum float64) float64 { return l.variant().sum64(x, sum) }

// Widen sets y[i] to x[i], and reports whether all of x is finite. y is as long as x.
func (l Leaves) Widen(y []float64, x []float32) bool { return l.variant().widen64(y[:len(x)], x) }

// Finite reports whether all of x is finite.
func (l Leaves) Finite(x []float32) bool { return l.variant().allFinite(x) }

// MaximaRun is the number of numbers for each of Maxima's results.
const MaximaRun = 64

// Maxima sets y[i] to the greatest of x[64·i] to x[64·i+63]; the last run may be shorter. x must
// not contain NaN. y has one element for each run.
func (l Leaves) Maxima(y, x []float64) {
	l.variant().maxima(y[:(len(x)+MaximaRun-1)/MaximaRun], x)
}

// Within writes the indexes of the numbers that are at least least and less than below to the
// beginning of places, in ascending order, and returns how many there are. places is as long as x;
// the rest of it may be overwritten too.
func (l Leaves) Within(places []int32, x []float64, least, below float64) int {
	return l.variant().within(places[:len(x)], x, least, below)
}

// SumAtLeast returns the sum of the weights whose score is at least least, in eight lanes by i mod
// 8 (see the package comment). There is a score for each weight, and no weight may be below 0.
func (l Leaves) SumAtLeast(weights, scores []float64, least float64) float64 {
	return l.variant().sumAtLeast(weights[:len(scores)], scores, least)
}

// Argmax returns the index of the greatest of x, which has at least one number and no NaN; of equal
// ones the first.
func Argmax[T float32 | float64](x []T) int {
	best := 0
	for i, v := range x {
		if v > x[best] {
			best = i
		}
	}
	return best
}

// FirstNonFinite returns the index of the first NaN or infinity, or −1.
func FirstNonFinite(x []float32) int {
	const exponent = 0xff << 23
	for i, v := range x {
		if math.Float32bits(v)&exponent == exponent {
			return i
		}
	}
	return -1
}

func exp64s(y, x []float64, max, by float64) {
	for i, v := range x {
		y[i] = Exp64(float64(float64(v-max) / by))
	}
}

func sum64(x []float64, sum float64) float64 {
	for _, v := range x {
		sum = float64(sum + v)
	}
	return sum
}

func widen64(y []float64, x []float32) bool {
	for i, v := range x {
		y[i] = float64(v)
	}
	return allFinite(x)
}

func allFinite(x []float32) bool { return FirstNonFinite(x) < 0 }

func maxima(y, x []float64) {
	for i := range y {
		run := x[i*MaximaRun : min((i+1)*MaximaRun, len(x))]
		most := run[0]
		for _, v := range run[1:] {
			if v > most {
				most = v
			}
		}
		y[i] = most
	}
}

func within(places []int32, x []float64, least, below float64) int {
	n := 0
	for i, v := range x {
		if v >= least && v < below {
			places[n] = int32(i)
			n++
		}
	}
	return n
}

func sumAtLeast(weights, scores []float64, least float64) float64 {
	var l [8]float64
	for i, score := range scores {
		if score >= least {
			l[i%8] = float64(l[i%8] + weights[i])
		}
	}
	return reduce(&l)
}
