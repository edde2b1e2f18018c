package decode

// The score of a token.

import "picogpt/kernels"

// LogProb returns the natural logarithm of the probability that logits [vocabulary] give to id: the log-softmax of the
// model's own logits in float64, before penalty, temperature and filters, over every row of the vocabulary. It is the
// same bits on every machine.
func LogProb(logits []float32, id int) float64 {
	return float64(logits[id]) - kernels.LogSumExp(logits)
}
