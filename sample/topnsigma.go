package sample

// Top-n-sigma: the ids whose scores are within some standard deviations of the largest.

import (
	"math"

	"picogpt/internal/option"
)

func topNSigmaStep() step {
	return step{
		name: "top-n-sigma", also: "top-nsigma", kind: filter, do: (*Sampler).applyTopNSigma,
		on: func(p *Params) bool { return p.TopNSigma != 0 },
		table: func(p *Params) []option.Option {
			return []option.Option{{
				Name: "top-n-sigma", Value: &p.TopNSigma, Want: "0 or a finite number above it",
				Default: "0",
				Settle:  func() { p.TopNSigma = max(0, p.TopNSigma) }, // in requests, -1 is off
				Flag: option.Flag{Name: "top-n-sigma", Holder: "N", Group: option.Filters,
					Others: "top-nsigma nsigma", Help: "choose among tokens whose logit is at most N " +
						"standard deviations below the greatest; 0 is off"},
				Field: option.Field{Name: "top_n_sigma",
					Range: option.Range{From: -1, To: option.MostNumber}},
				Setting: option.Setting{Group: "More filters", Label: "Top-n-sigma",
					Max: 20, Step: 0.1, Slider: 5,
					Help: "Only tokens within so many standard deviations of the largest logit. " +
						"0 is off."},
			}}
		},
	}
}

// applyTopNSigma removes the ids whose score is below the largest by more than TopNSigma times the
// standard deviation of the scores.
func (s *Sampler) applyTopNSigma() {
	s.removeShut()
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
// them are multiples of 2^-30. While all numbers of a run are, and the sums stay below 2^23, no
// addition rounds: every order gives the same bits, and four sums at a time take half as long.
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
