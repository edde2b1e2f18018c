package decode

// What may follow the beams of a search: ids, and which of them a step looks at.

import (
	"cmp"
	"math"
	"slices"

	"picogpt/kernels"
	"picogpt/sample"
)

// A successor is an id that may follow a beam.
type successor struct {
	beam int // its place among those that run
	id   int
	sum  float64 // of the beam and the id
}

// better orders successors: the greater sum first, then the better beam, then the lower id.
func better(a, b successor) int {
	return cmp.Or(cmp.Compare(b.sum, a.sum), cmp.Compare(a.beam, b.beam), cmp.Compare(a.id, b.id))
}

// wide returns how many successors of all beams a step looks at.
func (g *beamGroup) wide() int {
	if g.Beams == 1 {
		return 1
	}
	return max(2, 1+len(g.ends)) * g.size
}

// rank finds the successors of one beam that the step may look at: the best, or all that are kept
// where it is to draw some.
func (g *beamGroup) rank(beam int) {
	b, r := g.running[beam], &g.rows[beam]
	b.shared.Lend(b.sampler)
	defer b.shared.Return(b.sampler)
	r.successors = r.successors[:0]
	if r.err = b.constrain(); r.err != nil {
		return
	}
	if b.guide != nil {
		b.sampler.Against = b.guide.session.Logits()
	}
	add := func(id int, score float64) {
		r.successors = append(r.successors, successor{beam, id, b.sum + score})
	}
	if g.options.Temperature != 0 {
		r.err = b.sampler.EachKept(r.logProbs, b.context, add)
		return
	}
	var scores []float64
	if scores, r.err = b.sampler.Scores(r.logProbs, b.context); r.err != nil {
		return
	}
	for _, id := range sample.Likeliest(scores, g.wide()) {
		if !math.IsInf(scores[id], -1) {
			add(id, scores[id])
		}
	}
}

// draw takes some of the successors, without replacement, in proportion to the exponential of their
// sums.
func (g *beamGroup) draw(all []successor) []successor {
	most := slices.MaxFunc(all, func(a, b successor) int { return cmp.Compare(a.sum, b.sum) }).sum
	weights := make([]float64, len(all))
	for i, c := range all {
		weights[i] = kernels.Exp64(c.sum - most)
	}
	var drawn []successor
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
