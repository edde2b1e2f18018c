package search

// The ids that may follow the beams of a group, and which of them a step considers.

import (
	"cmp"
	"math"
	"slices"

	"picogpt/kernels"
	"picogpt/sample"
)

// wide returns how many candidates of all beams a step considers.
func (g *group) wide() int {
	if g.Beams == 1 {
		return 1
	}
	return max(2, 1+len(g.ends)) * g.size
}

// rank finds the candidates after one beam that the step may consider: the best, or, if it draws
// some, all that the filters keep.
func (g *group) rank(b *Beam) error {
	b.candidates = b.candidates[:0]
	add := func(id int, score float64) {
		b.candidates = append(b.candidates, candidate{b, id, b.sum + score})
	}
	return b.stream.Sampling(func(s *sample.Sampler) error {
		if g.options.Temperature != 0 {
			if g.Beams > 1 {
				s.KeepAtLeast(g.wide() / g.size) // so that each beam can continue
			}
			err := s.EachKept(b.logProbs, b.stream.Context(), add)
			b.after = s.State.After()
			return err
		}
		b.after = s.State.After()
		scores, err := s.Scores(b.logProbs, b.stream.Context())
		if err != nil {
			return err
		}
		for _, id := range sample.Likeliest(scores, g.wide()) {
			if !math.IsInf(scores[id], -1) {
				add(id, scores[id])
			}
		}
		return nil
	})
}

// draw draws some of the candidates, without replacement, in proportion to the exponential of their
// sums.
func (g *group) draw(all []candidate) []candidate {
	most := slices.MaxFunc(all, func(a, b candidate) int { return cmp.Compare(a.sum, b.sum) }).sum
	weights := make([]float64, len(all))
	for i, c := range all {
		weights[i] = kernels.Exp64(c.sum - most)
	}
	var drawn []candidate
	for range g.wide() {
		mass, last := 0.0, -1
		for i, w := range weights {
			if mass += w; w > 0 {
				last = i
			}
		}
		if last < 0 {
			break
		}
		at := float64(g.random.Uint64()>>11) * 0x1p-53 * mass // [0, mass)
		below := 0.0
		i := slices.IndexFunc(weights, func(w float64) bool {
			below += w
			return at < below
		})
		if i < 0 { // not reached: at is below the mass
			i = last
		}
		drawn = append(drawn, all[i])
		weights[i] = 0
	}
	return drawn
}
