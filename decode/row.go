package decode

// What is known of the logits after a context: all of them, or the best where those decide.

import (
	"slices"

	"picogpt/kernels"
	"picogpt/model"
)

// A row is the logits after a token.
type row struct {
	ids    []int32   // of the logits, ascending; nil: each place is its id
	logits []float32 // [vocabulary], or [len(ids)]
	logSum float64   // the logarithm of the sum of exp(logits), of the whole vocabulary
}

// rowOf returns the row that a Visit is shown, in the same memory.
func rowOf(r model.Row, leaves kernels.Leaves) row {
	if r.Best != nil {
		return row{r.Best.IDs, r.Best.Logits, r.Best.LogSumExp}
	}
	return wholeRow(r.Logits, leaves)
}

// wholeRow returns the row of logits [vocabulary].
func wholeRow(logits []float32, leaves kernels.Leaves) row {
	return row{nil, logits, leaves.LogSumExp(logits)}
}

// choice is the choice of an id that the row has, with the n likeliest beside it, of which the row
// has so many, or all ids.
func (r *row) choice(id, n int, after samplerState) choice {
	at := id
	if r.ids != nil {
		at, _ = slices.BinarySearch(r.ids, int32(id))
	}
	c := choice{made: true, id: id, logProb: r.logProb(at), state: after}
	if n == 0 {
		return c
	}
	c.top = make([]Alternative, 0, min(n, len(r.logits)))
	for _, at := range Likeliest(r.logits, n) {
		likely := Alternative{ID: at, LogProb: r.logProb(at)}
		if r.ids != nil {
			likely.ID = int(r.ids[at])
		}
		c.top = append(c.top, likely)
	}
	return c
}

// logProb returns the logarithm of the probability of what is at a place.
func (r *row) logProb(at int) float64 { return float64(r.logits[at]) - r.logSum }

// keep copies another row, a whole one.
func (r *row) keep(other row) {
	r.logits, r.logSum = append(r.logits[:0], other.logits...), other.logSum
}

// decisive returns how many of the greatest logits decide what Next chooses from a row of a
// vocabulary, whatever the others are: 0 where it takes all of them. Ids that are never drawn count
// among them.
func (s *Sampler) decisive(vocabulary int) int {
	k := 0
	switch {
	case len(s.before) > 0 || s.least > 1:
		return 0
	case s.options.Temperature == 0:
		k = 1
	default:
		steps := s.steps
		if len(steps) > 0 && steps[0].name == "temperature" && s.options.TempRange == 0 {
			steps = steps[1:] // it keeps the order
		}
		if len(steps) == 0 || steps[0].name != "top-k" {
			return 0
		}
		k = s.options.TopK
	}
	k += len(s.gaps) + max(0, vocabulary-s.limit)
	if k >= vocabulary {
		return 0
	}
	return k
}

// best returns how many of the greatest logits the next choice needs, 0 for all of them.
func (s *Stream) best() int {
	if s.constraint != nil || s.bans != nil || s.guide != nil || len(s.draft.ids) > 0 {
		return 0
	}
	k := s.sampler.decisive(s.limits.vocabulary)
	if k == 0 || s.options.Top > k {
		return 0
	}
	return k
}
