package sample

// Top-p: the likeliest ids that together have a probability, found without sorting the vocabulary.

import (
	"cmp"
	"math"
	"slices"

	"picogpt/internal/option"
	"picogpt/kernels"
	"picogpt/model"
)

var topPStep = step{
	name: "top-p", kind: filter, do: (*Sampler).applyTopP,
	on: func(p *Params) bool { return p.TopP != 0 && p.TopP != 1 },
	table: func(p *Params) []option.Option {
		return []option.Option{{
			Name: "top-p", Value: &p.TopP, Range: option.Range{To: 1},
			Want: "a number from 0 to 1 (off)", Default: "1", In: option.Corpus,
			Saved:  []string{"top_p"},
			Settle: func() { leastForZero(&p.TopP) },
			Flag: option.Flag{Name: "top-p", Holder: "P", Group: option.WhichOnes,
				Others: "nucleus p", Help: "choose among the likeliest tokens that have the " +
					"probability P together; 1 is no limit"},
			Field: option.Field{Name: "top_p"},
			Setting: option.Setting{Group: "Filters", Label: "Top-p",
				Min: 0.01, Max: 1, Step: 0.01,
				Help: "Only the likeliest tokens that together have this probability. 1 is off."},
		}}
	},
}

// leastForZero replaces 0 by the smallest number above it. As in Hugging Face, a filter that a user
// sets to 0 leaves one token, or those that equal it; in Params, 0 means off.
func leastForZero(x *float64) { *x = cmp.Or(*x, math.SmallestNonzeroFloat64) }

// applyTopP removes the least likely ids whose probabilities sum to at most 1-p: an id stays if the
// probabilities of those before it, in descending order, sum to less than p. The rounded sums in
// that order decide. A sum in another order decides as well, unless it is too close to p.
func (s *Sampler) applyTopP() {
	s.ready()
	if want := s.nucleus; want > 0 {
		s.nucleus = 0
		s.sortTopP(want)
		return
	}
	if s.least > 1 {
		s.sortTopP(s.params.TopP * s.mass)
		return
	}
	want, n := s.params.TopP*s.mass, float64(len(s.scores))
	// Twice the rounding error of two sums of n terms that are near want.
	close := want * n * 0x1p-50
	low, high := s.bracket(s.mass - want)
	s.dropBelow(low, want+2*close)
	least, above, found := s.reach(s.scores, s.weights, want, low, high)
	if !found {
		s.sortTopP(want)
		return
	}
	// Of the ids equal to the least, the lowest stay, as many as are needed.
	equals := s.within(s.scores, least, math.Nextafter(least, math.Inf(1)))
	weight := s.weights[equals[0]]
	stay := math.Ceil((want - above) / weight)
	if above+(stay-1)*weight > want-close || above+stay*weight < want+close {
		s.sortTopP(want)
		return
	}
	for _, place := range equals[int(stay):] {
		s.weights[place], s.zeros = 0, true
	}
	s.removeBelow(s.scores, least)
}

// dropBelow removes the scores below low, if they are many and the others have at least that
// weight: the search that follows is then over few.
func (s *Sampler) dropBelow(low, weight float64) {
	places := s.within(s.scores, low, math.Inf(1))
	if 4*len(places) > len(s.scores) {
		return
	}
	sum := 0.0
	for _, place := range places {
		sum += s.weights[place]
	}
	if sum > weight {
		s.narrow(places)
	}
}

// bracket estimates, from a sample of the scores, two scores between which top-p ends if it is to
// remove so much mass. The tail of a distribution has many ids, so a sample represents it well.
func (s *Sampler) bracket(remove float64) (low, high float64) {
	const every, buckets = 32, 256
	bottom := s.largest + float64(s.by*kernels.Log64(remove/2/float64(len(s.scores))))
	scale := buckets / (s.largest - bottom)
	if !(0 < scale && scale < math.MaxFloat64) {
		return math.Inf(-1), math.Inf(1)
	}
	var sums [buckets + 1]float64 // of weights, from the largest score down; the last: below bottom
	for i := 0; i < len(s.scores); i += every {
		sums[int(min((s.largest-s.scores[i])*scale, buckets))] += every * s.weights[i]
	}
	// The estimate of such a sample can be wrong by a factor of 0.7 to 1.4.
	low, high = bottom, math.Inf(1)
	tail := 0.0
	for i := buckets; i >= 0; i-- {
		tail += sums[i]
		if tail < 0.7*remove {
			low = s.largest - float64(i)/scale
		} else if tail > 1.4*remove {
			return low, s.largest - float64(i)/scale
		}
	}
	return low, high
}

// sortTopP is applyTopP by the sums that decide: it sorts, which takes far longer.
func (s *Sampler) sortTopP(want float64) {
	places := s.inOrder(s.scores)
	before := 0.0
	for i, place := range places {
		if before >= want && i >= s.least {
			places = places[:i]
			break
		}
		before += s.weights[place]
	}
	slices.Sort(places)
	s.keep(places)
}

// Top-p by the best logits of a row: whether they decide which ids stay.

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
