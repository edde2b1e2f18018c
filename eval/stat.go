package eval

// The measurements of one token, from the logits before it.

import (
	"slices"

	"picogpt/kernels"
	"picogpt/sample"
)

// A Stat says how well one token was predicted. Logarithms are natural.
type Stat struct {
	ID      int
	LogProb float64
	Rank    int     // the number of ids with a greater logit; ids of equal logits have the same rank
	Greedy  bool    // it is the greedy choice: its rank is 0, and it is the lowest such id
	Entropy float64 // of the prediction, in nats

	Top []Alternative // the most probable ids, best first; as many as were requested
}

// An Alternative is an id that could have come instead.
type Alternative = sample.Alternative

// measure says what to compute besides the log-probability.
type measure struct {
	decay *decay // to compute rank and entropy too; nil not to
	top   int
}

// A summary holds what is the same for all ids at one position.
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
		ids := sample.Likeliest(logits, m.top)
		s.best = make([]Alternative, len(ids))
		for i, id := range ids {
			s.best[i] = Alternative{ID: id, LogProb: float64(logits[id]) - s.lse}
		}
	}
	return s
}

// stat returns the measurements of one id; logits are those that s summarizes.
func (s *summary) stat(logits []float32, id int) Stat {
	t := Stat{ID: id, LogProb: float64(logits[id]) - s.lse, Entropy: s.entropy, Top: s.best}
	if s.decay != nil {
		t.Rank, t.Greedy = rank(logits, id)
	}
	return t
}

// rank returns the number of logits that are greater than that of id, and whether no lower id has
// an equal one.
func rank(logits []float32, id int) (n int, greedy bool) {
	x := logits[id]
	for _, v := range logits {
		if v > x {
			n++
		}
	}
	return n, n == 0 && !slices.Contains(logits[:id], x)
}
