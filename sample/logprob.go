package sample

// The score of a token, and the ids that score best.

import (
	"cmp"
	"slices"

	"picogpt/kernels"
)

// LogProb returns the natural logarithm of the probability that logits [vocabulary] give to id: the
// log-softmax of the model's own logits in float64, before penalty, temperature and filters, over
// every row of the vocabulary. The result has the same bits on every machine. It runs the fastest
// kernels of this processor; those of a model are Model.Leaves.
func LogProb(logits []float32, id int) float64 {
	return float64(logits[id]) - kernels.Leaves{}.LogSumExp(logits)
}

// An Alternative is an id that could have been chosen in place of a token.
type Alternative struct {
	ID      int     `json:"id"`
	Text    string  `json:"text"` // of the token by itself, "" if it is not known
	LogProb float64 `json:"logprob"`
}

// Likeliest returns the k ids [min(k, vocabulary)] of the greatest logits [vocabulary], the
// greatest first; of equal ones the lowest id comes first. k is 0 or more.
func Likeliest[T float32 | float64](logits []T, k int) []int {
	best := make([]int, 0, min(k, len(logits)))
	if cap(best) == 0 {
		return best
	}
	if cap(best) > fewBest {
		return likeliestOfAll(logits)[:cap(best)]
	}
	for id := range cap(best) {
		best = append(best, id)
		insert(best, logits)
	}
	// Few logits of a vocabulary are greater than the least of the best so far.
	last := len(best) - 1
	least := logits[best[last]]
	for id, v := range logits {
		if v > least && id > last {
			best[last] = id
			insert(best, logits)
			least = logits[best[last]]
		}
	}
	return best
}

// fewBest is the largest k for which each is inserted among the best so far. A larger k sorts all.
const fewBest = 256

func likeliestOfAll[T float32 | float64](logits []T) []int {
	ids := make([]int, len(logits))
	for id := range ids {
		ids[id] = id
	}
	slices.SortFunc(ids, func(a, b int) int { return cmp.Or(cmp.Compare(logits[b], logits[a]), a-b) })
	return ids
}

// insert moves the last of ids to its place among the others, which are in order.
func insert[T float32 | float64](ids []int, logits []T) {
	n := len(ids) - 1
	for id := ids[n]; n > 0 && logits[id] > logits[ids[n-1]]; n-- {
		ids[n], ids[n-1] = ids[n-1], id
	}
}
