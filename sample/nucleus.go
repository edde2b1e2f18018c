package sample

// Top-p by the best logits of a row: whether they decide which ids stay.

import (
	"cmp"
	"slices"

	"picogpt/kernels"
	"picogpt/model"
)

// mostPerhaps is how many of the greatest logits are asked for where nobody knows how many decide:
// as many as devices choose.
const mostPerhaps = 128

// Perhaps returns how many of the greatest logits of a row of a vocabulary decide what Next
// chooses, if Enough says so of them. 0 means that all logits decide. See Decisive, for which there
// is no if.
func (s *Sampler) Perhaps(vocabulary int) int {
	if len(s.before) > 0 || s.least > 1 || s.allowed != nil || len(s.gaps) > 0 ||
		s.limit < vocabulary || vocabulary <= mostPerhaps || s.params.Temperature == 0 ||
		!s.firstIsTopP() {
		return 0
	}
	return mostPerhaps
}

// Enough reports whether the best logits of a row decide what Next chooses: those that Perhaps has
// asked for. It changes nothing, and may be called while others use the sampler's memory.
func (s *Sampler) Enough(best *model.Best) bool {
	_, ok := s.nucleusOf(&Row{best.IDs, best.Logits, best.LogSumExp})
	return ok
}

// firstIsTopP reports whether the first filter is top-p, of weights whose sum over a vocabulary can
// be bounded (see nucleusOf).
func (s *Sampler) firstIsTopP() bool {
	steps := s.steps
	if len(steps) > 0 && steps[0].name == "temperature" {
		if s.params.Temperature > 1 || s.params.TempRange != 0 {
			return false
		}
		steps = steps[1:]
	}
	return len(steps) > 0 && steps[0].name == "top-p"
}

// nucleusOf returns the weight that the ids before the last one of top-p's have less than, where
// the best logits of a row decide which ids these are. The mass of the whole row is known from its
// LogSum at temperature 1. Below 1, what the other ids add to it is at least 0 and at most their
// mass at temperature 1 times what the change of temperature makes of the least of the best: it
// makes less of all others. Where top-p ends at the same id with both bounds, that one is right;
// bounds are wider than the rounding errors of the sums.
func (s *Sampler) nucleusOf(from *Row) (want float64, ok bool) {
	const wider = 1e-9
	var memory [2 * mostPerhaps]float64
	if len(from.Logits) > len(memory) {
		return 0, false // so many are equal
	}
	by := 1.0
	if s.steps[0].name == "temperature" {
		by = s.params.Temperature
	}
	largest := float64(slices.Max(from.Logits))
	weights, sum, near := memory[:0], 0.0, 0.0
	for _, x := range from.Logits {
		below := float64(x) - largest
		weight := kernels.Exp64(below / by)
		weights, sum, near = append(weights, weight), sum+weight, near+kernels.Exp64(below)
	}
	whole := kernels.Exp64(from.LogSum - largest)
	others := max(0, whole-near)
	low, high := sum, sum
	if by == 1 {
		low += others
		high += others
	} else {
		least := float64(slices.Min(from.Logits)) - largest
		high += (others + wider*whole) * kernels.Exp64(least*(1/by-1))
	}
	low, high = s.params.TopP*low*(1-wider), s.params.TopP*high*(1+wider)
	if by == 1 {
		low, high = low-wider*s.params.TopP*whole, high+wider*s.params.TopP*whole
	}
	slices.SortFunc(weights, func(a, b float64) int { return cmp.Compare(b, a) })
	before := 0.0
	for i, weight := range weights {
		switch {
		case before >= high && i > 0:
			return (low + high) / 2, true
		case before >= low && i > 0:
			return 0, false
		}
		before += weight
	}
	return (low + high) / 2, before >= high
}
