package decode

// Diverse beam search: what groups of beams do otherwise. The rules are those of Hugging Face
// transformers 4.56 (BeamSearchScorer), which have two differences: an ended text counts when the
// group asks whether it may stop, and open texts count when the length is reached.

// lower lowers the log-probabilities, after one beam, of ids that earlier groups took in this step.
func (g *beamGroup) lower(beam int, taken map[int]int) {
	logProbs := g.rows[beam].logProbs
	for id, n := range taken {
		logProbs[id] = float32(float64(logProbs[id]) - float64(g.Diversity*float64(n)))
	}
}

// pad adds to taken what a group takes that is done: an id that ends the text, as padding.
func (g *beamGroup) pad(taken map[int]int) {
	if len(g.ends) > 0 {
		taken[g.ends[0]] += g.size
	}
}

// open reports whether a beam that has ended runs on for the rules: one at the greatest length.
func (g *beamGroup) open(b *beam) bool {
	return g.Groups > 1 && b.tokens[len(b.tokens)-1].Finish == FinishLength
}

// settleGroup notes whether the group is done.
func (g *beamGroup) settleGroup(all []successor) {
	full := len(g.finished) == g.size
	switch {
	case full && g.hopeless(all[0].sum), len(g.running) == 0:
		g.done = true
	case g.running[0].done: // and so are all others
		for _, b := range g.running {
			g.finish(b)
		}
		g.done = true
	}
}
