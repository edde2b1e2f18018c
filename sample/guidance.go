package sample

// Guidance: away from what the model would say after another context.

import (
	"math"

	"picogpt/kernels"
)

// Guidance is classifier-free guidance (Sanchez and others, arXiv 2306.17806; Hugging Face's
// UnbatchedClassifierFreeGuidanceLogitsProcessor): with the log-probabilities c after the text and
// u after Negative and the new tokens, an id has u + Scale·(c - u). Whoever evaluates both contexts
// gives the Sampler the logits of the other one, in its field Against.
type Guidance struct {
	Scale    float64 // 1 means off
	Negative []int   // empty means the prompt's last token
}

// On reports whether there is anything to evaluate.
func (g *Guidance) On() bool { return g != nil && g.Scale != 1 }

// guide applies guidance to the scores.
func (s *Sampler) guide() {
	if s.Against == nil {
		return
	}
	scale, logSum := s.params.Guidance.Scale, s.Leaves.LogSumExp(s.Against)
	largest := math.Inf(-1)
	for _, x := range s.scores {
		largest = max(largest, x)
	}
	s.weights = resized(s.weights, len(s.scores))
	s.Leaves.Exp64s(s.weights, s.scores, largest, 1)
	ours := largest + kernels.Log64(s.Leaves.Sum64(s.weights, 0))
	for id, x := range s.scores {
		if !math.IsInf(x, -1) {
			u := float64(s.Against[id]) - logSum
			s.scores[id] = u + float64(scale*(x-ours-u))
		}
	}
}
