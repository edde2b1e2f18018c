package decode

// The score of a token, and the ids that score best.

import "picogpt/kernels"

// LogProb returns the natural logarithm of the probability that logits [vocabulary] give to id: the
// log-softmax of the model's own logits in float64, before penalty, temperature and filters, over
// every row of the vocabulary. It is the same bits on every machine. It runs the fastest kernels of
// this processor; a model's are Model.Leaves.
func LogProb(logits []float32, id int) float64 {
	return float64(logits[id]) - kernels.Leaves{}.LogSumExp(logits)
}

// An Alternative is an id that could have been chosen.
type Alternative struct {
	ID      int     `json:"id"`
	Text    string  `json:"text"` // of the token by itself, "" where that is not known
	LogProb float64 `json:"logprob"`
}

// Likeliest returns the k ids [min(k, vocabulary)] of the greatest logits [vocabulary], the
// greatest first; of equal ones the lowest id comes first. k is 0 or more.
func Likeliest(logits []float32, k int) []int { return likeliest(logits, k) }

func likeliest[T float32 | float64](logits []T, k int) []int {
	best := make([]int, 0, min(k, len(logits)))
	if cap(best) == 0 {
		return best
	}
	// Insertion: few of a vocabulary's logits are greater than the least of the best so far.
	for id, v := range logits {
		n := len(best)
		switch {
		case n < cap(best):
			best = append(best, id)
		case v <= logits[best[n-1]]:
			continue
		default:
			n--
		}
		for ; n > 0 && v > logits[best[n-1]]; n-- {
			best[n] = best[n-1]
		}
		best[n] = id
	}
	return best
}
