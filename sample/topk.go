package sample

// Filters by the scores: top-k, min-p, top-n-sigma.

import (
	"cmp"
	"math"
	"slices"

	"picogpt/internal/option"
	"picogpt/kernels"
)

// topKStep is top-k: the ids of the greatest scores, found without sorting the vocabulary.
var topKStep = step{
	name: "top-k", kind: filter, do: (*Sampler).applyTopK,
	on: func(p *Params) bool { return p.TopK != 0 },
	table: func(p *Params) []option.Option {
		return []option.Option{{
			Name: "top-k", Value: &p.TopK, Want: "0 (off) or more",
			Default: "0", Usual: "40", In: option.Corpus, Saved: []string{"top_k"},
			Settle: func() { p.TopK = max(0, p.TopK) }, // in requests, -1 is off
			Flag: option.Flag{Name: "top-k", Holder: "K", Group: option.WhichOnes, Others: "k",
				Help: "choose among the K likeliest tokens; 0 is no limit"},
			Field: option.Field{Name: "top_k", Range: option.Range{From: -1, To: option.Most}},
			Setting: option.Setting{Group: "Filters", Label: "Top-k",
				Max: 1000, Step: 1, Slider: 100,
				Help: "Only so many of the likeliest tokens. 0 is off."},
		}}
	},
}

// applyTopK removes the ids below the k-th largest score, and those that are never drawn. Division
// by the temperature does not change the order, so it can wait until few ids are left.
func (s *Sampler) applyTopK() {
	least := -math.MaxFloat64
	switch k := max(s.params.TopK, s.least); {
	case k < len(s.scores):
		// At least k scores are at or above the k-th largest maximum.
		if len(s.scores) == s.whole && k < len(s.maxima) {
			s.narrow(s.atLeast(s.scores, s.kthLargest(s.maxima, k)))
		}
		least = max(least, s.kthLargest(s.scores, k))
	case !s.holes:
		return
	}
	s.weighed = false
	s.keep(s.atLeast(s.scores, least))
	s.holes = false
	if s.llama {
		s.keepLikeliest(s.params.TopK)
	}
}

// keepTop keeps the k ids of the largest scores, and those that equal the least of them.
func (s *Sampler) keepTop(k int) {
	if k < len(s.scores) {
		least := s.kthLargest(s.scores, k)
		s.weighed = false
		s.keep(s.atLeast(s.scores, least))
	}
}

// kthLargest returns the k-th largest of x, for 0 < k <= len(x).
func (s *Sampler) kthLargest(x []float64, k int) float64 {
	s.weights = resized(s.weights, max(len(x), len(s.scores)))[:len(x)]
	for i := range s.weights {
		s.weights[i] = 1
	}
	score, _, _ := s.reach(x, s.weights, float64(k), math.Inf(-1), math.Inf(1))
	s.weights = s.weights[:0]
	return score
}

// keepLikeliest keeps the k ids of the largest scores, of equal ones the lowest ids.
func (s *Sampler) keepLikeliest(k int) {
	if len(s.scores) <= k {
		return
	}
	places := s.inOrder(s.scores)[:k]
	slices.Sort(places)
	s.keep(places)
}

// inOrder returns all places, the largest of x first.
func (s *Sampler) inOrder(x []float64) []int32 {
	places := s.atLeast(x, math.Inf(-1))
	slices.SortFunc(places, func(a, b int32) int {
		return cmp.Or(cmp.Compare(x[b], x[a]), cmp.Compare(a, b))
	})
	return places
}

// minPStep is min-p: the ids that are likely enough compared with the likeliest.
var minPStep = step{
	name: "min-p", kind: filter, do: (*Sampler).applyMinP,
	on: func(p *Params) bool { return p.MinP != 0 },
	table: func(p *Params) []option.Option {
		return []option.Option{{
			Name: "min-p", Value: &p.MinP, Range: option.Range{To: 1},
			Want: "a number from 0 (off) to 1", Default: "0", In: option.Corpus,
			Saved: []string{"min_p"},
			Flag: option.Flag{Name: "min-p", Holder: "P", Group: option.WhichOnes,
				Help: "choose among tokens at least P times as likely as the likeliest; " +
					"0 is no limit"},
			Field: option.Field{Name: "min_p"},
			Setting: option.Setting{Group: "Filters", Label: "Min-p", Max: 1, Step: 0.01,
				Help: "Only tokens that have this part of the likeliest one's probability. " +
					"0 is off."},
		}}
	},
}

// applyMinP removes the ids less likely than MinP times the likeliest, whose weight is 1.
func (s *Sampler) applyMinP() {
	s.ready()
	if s.llama {
		// llama.cpp compares logits, which rounds differently.
		s.keep(s.atLeast(s.scores, s.largest+float64(s.by*kernels.Log64(s.params.MinP))))
		return
	}
	if s.least == 1 {
		s.removeBelow(s.weights, s.params.MinP)
		return
	}
	s.keepOrLikeliest(s.atLeast(s.weights, s.params.MinP))
}

// topNSigmaStep is top-n-sigma: the ids within some standard deviations of the largest score.
var topNSigmaStep = step{
	name: "top-n-sigma", also: []string{"top-nsigma"}, kind: filter, do: (*Sampler).applyTopNSigma,
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
