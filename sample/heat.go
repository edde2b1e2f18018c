package sample

// The temperature, fixed or by the entropy, and top-n-sigma, which needs none.

import (
	"math"

	"picogpt/kernels"
)

// heat sets the temperature of the weights.
func (s *Sampler) heat() {
	s.by, s.weighed = s.params.Temperature, false
	if s.params.TempRange == 0 {
		return
	}
	if s.by = s.dynamic(); s.by == 0 {
		s.by = 1
		s.keepLikeliest(1)
	}
}

// divide divides the scores by a temperature that came before, for a step that adds to them.
func (s *Sampler) divide() {
	if s.by == 1 {
		return
	}
	size := 0.0
	for _, x := range s.scores {
		if !math.IsInf(x, -1) {
			size = max(size, math.Abs(x))
		}
	}
	const most = 1e300 // where no quotient is infinite, such temperatures leave the likeliest only
	by := max(s.by, size/most)
	for i := range s.scores {
		s.scores[i] /= by
	}
	s.largest, s.by, s.weighed = s.largest/by, 1, false
}

// dynamic returns the temperature that the entropy gives (llama.cpp's dynatemp).
func (s *Sampler) dynamic() float64 {
	o := &s.params
	s.by = 1
	s.ready()
	s.weighed = false
	if len(s.scores) < 2 {
		return o.Temperature
	}
	entropy, _ := s.entropy()
	low, high := max(0, o.Temperature-o.TempRange), min(o.Temperature+o.TempRange, math.MaxFloat64)
	share := max(0, min(1, entropy/kernels.Log64(float64(len(s.scores)))))
	return low + float64((high-low)*power(share, o.TempExponent))
}

// power returns x to the power of y, for x above 0, or 0 and y of 0 or more: the same bits
// everywhere, unlike math.Pow.
func power(x, y float64) float64 {
	switch {
	case y == 0 || x == 1:
		return 1
	case x == 0:
		return 0
	}
	return kernels.Exp64(float64(y * kernels.Log64(x)))
}

// keepTopNSigma removes the ids whose score is further below the largest than TopNSigma times the
// standard deviation of the scores.
func (s *Sampler) keepTopNSigma() {
	s.keepOpen()
	n := float64(len(s.scores))
	mean, squares := sumInOrder(s.scores)/n, 0.0
	s.terms = resized(s.terms, min(stretch, len(s.scores)))
	for i := 0; i < len(s.scores); i += stretch {
		scores := s.scores[i:min(i+stretch, len(s.scores))]
		terms := s.terms[:len(scores)]
		for j, x := range scores {
			terms[j] = (x - mean) * (x - mean)
		}
		squares = s.Leaves.Sum64(terms, squares)
	}
	deviation := math.Sqrt(squares / n)
	s.keep(s.atLeast(s.scores, s.largest-float64(s.params.TopNSigma*deviation)))
}

// sumInOrder returns x[0] + x[1] + …, added one after the other. Logits are float32s, and most of
// them are multiples of 2^-30. While all of a run are, and the sums stay below 2^23, no addition
// rounds: any order gives the same bits, and four sums at a time take half as long.
func sumInOrder(x []float64) (sum float64) {
	const run, shift, most = 32, 3 << 21, 1 << 23 // adding shift rounds to multiples of 2^-30
	for ; len(x) >= run; x = x[run:] {
		var a, b, c, d, size float64
		exact := true
		for i := 0; i < run; i += 4 {
			p, q, r, s := x[i], x[i+1], x[i+2], x[i+3]
			exact = exact && p+shift-shift == p && q+shift-shift == q && r+shift-shift == r &&
				s+shift-shift == s
			a, b, c, d = a+p, b+q, c+r, d+s
			size += math.Abs(p) + math.Abs(q) + (math.Abs(r) + math.Abs(s))
		}
		if exact && math.Abs(sum)+size < most {
			sum += (a + b) + (c + d)
			continue
		}
		for _, v := range x[:run] {
			sum += v
		}
	}
	for _, v := range x {
		sum += v
	}
	return sum
}
