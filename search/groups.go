package search

// Diverse beam search: the special rules of groups of beams. They are those of Hugging Face
// transformers 4.56 (BeamSearchScorer), which differ in two points: an ended text counts when the
// group checks whether it may stop, and open texts count when the length is reached.

import "picogpt/decode"

// lower lowers the log-probabilities after one beam of the ids that earlier groups took in this
// step.
func (g *group) lower(b *Beam, taken map[int]int) {
	for id, n := range taken {
		b.logProbs[id] = float32(float64(b.logProbs[id]) - float64(g.Diversity*float64(n)))
	}
}

// pad adds to taken the padding of a group that is done: an id that ends the text.
func (g *group) pad(taken map[int]int) {
	if len(g.ends) > 0 {
		taken[g.ends[0]] += g.size
	}
}

// open reports whether a beam that has ended counts as open by the rules: one at the greatest
// length.
func (g *group) open(b *Beam) bool {
	return g.Groups > 1 && b.last().Finish == decode.FinishLength
}

// settleDiverse notes whether the group is done.
func (g *group) settleDiverse(all []candidate) {
	full := len(g.finished) == g.size
	switch {
	case full && g.hopeless(all[0].sum), len(g.running) == 0:
		g.done = true
	case g.running[0].stream.Done(): // and so are all others
		for _, b := range g.running {
			g.finish(b)
		}
		g.done = true
	}
}
