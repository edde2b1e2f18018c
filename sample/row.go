package sample

// The logits after a context, the score of a token, and the ids that score best.

import (
	"cmp"
	"math/bits"
	"slices"

	"picogpt/kernels"
	"picogpt/model"
)

// A Row is the logits after a token.
type Row struct {
	IDs    []int32   // of the logits, ascending; nil: the id at a place is the place
	Logits []float32 // [vocabulary], or [len(IDs)]
	LogSum float64   // the logarithm of the sum of exp(logit) over the whole vocabulary
}

// RowOf returns the row that model.Input.Visit receives, in the same memory.
func RowOf(r model.Row, leaves kernels.Leaves) Row {
	if r.Best != nil {
		return Row{r.Best.IDs, r.Best.Logits, r.Best.LogSumExp}
	}
	return WholeRow(r.Logits, leaves)
}

// WholeRow returns the row of logits [vocabulary].
func WholeRow(logits []float32, leaves kernels.Leaves) Row {
	return Row{nil, logits, leaves.LogSumExp(logits)}
}

// A Candidate is an id that may follow a context, and what the choice of it leads to.
type Candidate struct {
	ID      int
	LogProb float64       // of the model's own logits, as the function LogProb returns it
	Top     []Alternative // the likeliest ids in its place, the likeliest first
	After   State         // of the sampler
}

// Candidate returns an id of the row as a candidate, with the n likeliest ids as alternatives. The
// row must have at least n logits, or all.
func (r *Row) Candidate(id, n int, after State) Candidate {
	at := id
	if r.IDs != nil {
		at, _ = slices.BinarySearch(r.IDs, int32(id))
	}
	c := Candidate{ID: id, LogProb: r.LogProb(at), After: after}
	if n == 0 {
		return c
	}
	c.Top = make([]Alternative, 0, min(n, len(r.Logits)))
	for _, at := range Likeliest(r.Logits, n) {
		likely := Alternative{ID: at, LogProb: r.LogProb(at)}
		if r.IDs != nil {
			likely.ID = int(r.IDs[at])
		}
		c.Top = append(c.Top, likely)
	}
	return c
}

// LogProb returns the logarithm of the probability of the id at a place.
func (r *Row) LogProb(at int) float64 { return float64(r.Logits[at]) - r.LogSum }

// Mass returns the probability that a row with all logits gives to the ids of a mask together, from
// 0 to 1. Bit id%64 of word id/64 of the mask is an id's; a mask may be shorter than the row.
func (r *Row) Mass(open []uint64) (mass float64) {
	ids := 0
	for _, w := range open {
		ids += bits.OnesCount64(w)
	}
	few := 2*ids <= len(r.Logits) // else the others are fewer
	for id, x := range r.Logits {
		if has(open, id) == few {
			mass += kernels.Exp64(float64(x) - r.LogSum)
		}
	}
	if !few {
		mass = 1 - mass
	}
	return min(max(mass, 0), 1)
}

// has reports whether an id is in a mask.
func has(mask []uint64, id int) bool {
	return id>>6 < len(mask) && mask[id>>6]>>(id&63)&1 == 1
}

// Share returns the probability that a row with all logits gives to the ids of a mask together, of
// that of these and more ids, at a temperature; at 0 it is 1 if the likeliest is in the mask.
func (r *Row) Share(mask, more []uint64, temperature float64) float64 {
	best := -1
	for id, x := range r.Logits {
		if (has(mask, id) || has(more, id)) && (best < 0 || x > r.Logits[best]) {
			best = id
		}
	}
	switch {
	case best < 0 || temperature == 0 && !has(mask, best):
		return 0
	case temperature == 0:
		return 1
	}
	var in, all float64
	for id, x := range r.Logits {
		if is := has(mask, id); is || has(more, id) {
			p := kernels.Exp64((float64(x) - float64(r.Logits[best])) / temperature)
			if all += p; is {
				in += p
			}
		}
	}
	return in / all
}

// Keep makes r a copy of another row, which has all logits.
func (r *Row) Keep(other Row) {
	r.Logits, r.LogSum = append(r.Logits[:0], other.Logits...), other.LogSum
}

// Decisive returns how many of the greatest logits of a row of a vocabulary decide what Next
// chooses, whatever the others are. Ids that are never drawn count among them. 0 means that all
// logits decide.
func (s *Sampler) Decisive(vocabulary int) int {
	k := 0
	switch {
	case len(s.before) > 0 || s.least > 1 || s.allowed != nil:
		return 0
	case s.params.Temperature == 0:
		k = 1
	default:
		steps := s.steps
		if len(steps) > 0 && steps[0].name == "temperature" && s.params.TempRange == 0 {
			steps = steps[1:] // dividing keeps the order
		}
		if len(steps) == 0 || steps[0].name != "top-k" {
			return 0
		}
		k = s.params.TopK
	}
	k += len(s.gaps) + max(0, vocabulary-s.limit)
	if k >= vocabulary {
		return 0
	}
	return k
}

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
