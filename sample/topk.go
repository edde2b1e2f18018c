package sample

// Top-k: the ids of the greatest scores, found without sorting the vocabulary.

import (
	"cmp"
	"math"
	"slices"

	"picogpt/internal/option"
)

func topKStep() step {
	return step{
		name: "top-k", kind: filter, do: (*Sampler).applyTopK,
		on: func(p *Params) bool { return p.TopK != 0 },
		table: func(p *Params) []option.Option {
			return []option.Option{{
				Name: "top-k", Value: &p.TopK, Want: "0 (off) or more",
				Default: "0", Usual: "40", In: option.Corpus,
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
	places := s.inOrder()[:k]
	slices.Sort(places)
	s.keep(places)
}

// inOrder returns all places, the largest scores first.
func (s *Sampler) inOrder() []int32 {
	places := s.atLeast(s.scores, math.Inf(-1))
	slices.SortFunc(places, func(a, b int32) int {
		return cmp.Or(cmp.Compare(s.scores[b], s.scores[a]), cmp.Compare(a, b))
	})
	return places
}
