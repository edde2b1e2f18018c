package eval

// What is measured of one token, from the logits before it.

import (
	"slices"

	"picogpt/decode"
	"picogpt/kernels"
)

// A Stat is how one token was predicted. Logarithms are natural.
type Stat struct {
	ID      int
	LogProb float64
	Rank    int     // how many ids have a greater logit; ids of equal logits share a rank
	Greedy  bool    // it is the greedy choice: of rank 0, and the lowest such id
	Entropy float64 // of the prediction, in nats

	Top []Alternative // the most probable ids, best first, as many as were asked for
}

// An Alternative is an id that could have been.
type Alternative = decode.Alternative

// measure says what to find beside the log-probability.
type measure struct {
	decay *decay // rank and entropy too, unless nil
	top   int
}

// A summary is what all tokens at one position have in common.
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
		ids := decode.Likeliest(logits, m.top)
		s.best = make([]Alternative, len(ids))
		for i, id := range ids {
			s.best[i] = Alternative{ID: id, LogProb: float64(logits[id]) - s.lse}
		}
	}
	return s
}

// stat is the measure of one id; logits are those that were summarized.
func (s *summary) stat(logits []float32, id int) Stat {
	t := Stat{ID: id, LogProb: float64(logits[id]) - s.lse, Entropy: s.entropy, Top: s.best}
	if s.decay != nil {
		t.Rank, t.Greedy = rank(logits, id)
	}
	return t
}

// rank counts the logits greater than that of id, and says whether none before it is as great.
func rank(logits []float32, id int) (n int, greedy bool) {
	x := logits[id]
	for _, v := range logits {
		if v > x {
			n++
		}
	}
	return n, n == 0 && !slices.Contains(logits[:id], x)
}
