package decode

// A step of beam search: from the logits after each beam to the beams after it.

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"picogpt/kernels"
	"picogpt/model"
	"picogpt/sample"
)

// A beamSearch is a search between two evaluations.
type beamSearch struct {
	BeamOptions
	options Options
	groups  []*beamGroup
	shared  *sample.Pool
	random  rand.PCG
	ends    []int        // ids that end the text
	ending  map[int]bool // the same
	longest int          // new tokens at most
	length  int          // new tokens of the beams that run
}

// A beamGroup is beams that compete: all of them, except in diverse beam search.
type beamGroup struct {
	*beamSearch
	size     int // beams
	running  []*beam
	rows     []beamRow    // of running; the memory is kept from step to step
	finished []Hypothesis // the best size of those that have ended, the best first
	done     bool
}

// A beam is a text that runs.
type beam struct {
	*Stream
	tokens []Token
	sum    float64 // of the log-probabilities as the search sees them
}

// A beamRow is what a step knows of one beam.
type beamRow struct {
	sample.Row           // after the last token, all of it
	logProbs   []float32 // log-softmax of logits, [vocabulary]; what processors see
	successors []successor
	err        error
}

// newBeamSearch returns a search that begins with a stream whose context is evaluated.
func newBeamSearch(b BeamOptions, root *Stream) *beamSearch {
	s := &beamSearch{
		BeamOptions: b, options: root.options, shared: &sample.Pool{}, ends: root.limits.endOfText,
		longest: root.limits.context - len(root.context) + 1, ending: map[int]bool{},
	}
	for _, id := range s.ends {
		s.ending[id] = true
	}
	if n := s.options.MaxTokens; n > 0 {
		s.longest = min(s.longest, n)
	}
	s.random.Seed(s.options.Seed, s.options.Seed)
	for range b.Groups {
		first := &beam{Stream: root.Fork()}
		first.access, first.shared = AccessNever, s.shared
		if b.Beams > 1 {
			first.sampler.KeepAtLeast(max(2, 1+len(s.ends))) // so that beams have somewhere to go
		}
		size := b.Beams / b.Groups
		s.groups = append(s.groups, &beamGroup{
			beamSearch: s, size: size, running: []*beam{first}, rows: make([]beamRow, size),
		})
	}
	return s
}

// done reports whether the search has ended.
func (s *beamSearch) done() bool {
	return !slices.ContainsFunc(s.groups, func(g *beamGroup) bool { return !g.done })
}

// batch returns what the model is to evaluate before the next step: nothing before the first.
func (s *beamSearch) batch() []model.Input {
	var batch []model.Input
	for _, g := range s.groups {
		for i, b := range g.running {
			if in, ok := b.Guide(0); ok {
				batch = append(batch, in)
			}
			in, ok := b.Input(0)
			if !ok {
				g.see(i, b.session.Logits())
				continue
			}
			in.Best, in.Visit = 0, func(r model.Row) { g.see(i, r.Logits) }
			batch = append(batch, in)
		}
	}
	return batch
}

// see takes the logits after a beam. It may run for several beams at a time.
func (g *beamGroup) see(beam int, logits []float32) {
	r := &g.rows[beam]
	r.Keep(sample.WholeRow(logits, g.running[beam].limits.leaves))
	r.logProbs = slices.Grow(r.logProbs[:0], len(logits))[:len(logits)]
	for id, x := range logits {
		r.logProbs[id] = float32(float64(x) - r.LogSum)
	}
	if !g.ranksLate() {
		g.rank(beam)
	}
}

// advance makes the step that follows the logits.
func (s *beamSearch) advance() error {
	s.length++
	taken := map[int]int{} // how many beams of earlier groups took an id
	for _, g := range s.groups {
		if g.done {
			g.pad(taken)
			continue
		}
		if err := g.advance(taken); err != nil {
			return err
		}
		for _, b := range g.running {
			taken[b.tokens[len(b.tokens)-1].ID]++
		}
		if g.done {
			g.release()
		}
	}
	return nil
}

// ranksLate reports whether successors depend on more than the logits after their beam: on the
// groups before, or on the other context of guidance.
func (g *beamGroup) ranksLate() bool { return g.Groups > 1 || g.options.Guidance.On() }

// advance makes the step of one group.
func (g *beamGroup) advance(taken map[int]int) error {
	var all []successor
	for i := range g.running {
		if g.Groups > 1 {
			g.lower(i, taken)
		}
		if g.ranksLate() {
			g.rank(i)
		}
		r := &g.rows[i]
		if r.err != nil {
			return r.err
		}
		all = append(all, r.successors...)
	}
	if g.options.Temperature != 0 {
		all = g.draw(all)
	} else {
		slices.SortFunc(all, better)
	}
	all = all[:min(len(all), g.wide())]
	next, err := g.follow(all)
	g.release()
	g.running = next
	if err == nil {
		g.settle(all)
	}
	return err
}

// follow lets successors follow their beams, in the order of their ranks. It returns the beams that
// run on, the best first, and keeps those that end.
func (g *beamGroup) follow(all []successor) (next []*beam, err error) {
	for rank, c := range all {
		if g.enough(rank, len(next)) {
			break
		}
		if rank >= g.size && g.ending[c.id] { // neither kept nor run on
			continue
		}
		b, err := g.follows(c)
		if err != nil {
			return next, err
		}
		if b.bans != nil && b.bans.began >= 0 {
			b.Release()
			continue
		}
		if !b.done || g.open(b) {
			next = append(next, b)
			continue
		}
		if rank < g.size {
			g.finish(b)
		}
		b.Release()
	}
	if g.options.Temperature != 0 { // they came in the order of the draws
		slices.SortStableFunc(next, func(a, b *beam) int { return cmp.Compare(b.sum, a.sum) })
	}
	for _, b := range next[min(len(next), g.size):] {
		b.Release()
	}
	return next[:min(len(next), g.size)], nil
}

// enough reports whether the successors from rank on cannot change a thing.
func (g *beamGroup) enough(rank, running int) bool {
	sampled := g.options.Temperature != 0
	return running == g.size && !sampled && (rank >= g.size || g.Groups > 1)
}

// follows returns a beam with one id more.
func (g *beamGroup) follows(c successor) (*beam, error) {
	b, r := g.running[c.beam], &g.rows[c.beam]
	f := &beam{Stream: b.Fork(), sum: c.sum}
	f.next = choice{made: true,
		Candidate: r.Candidate(c.id, b.options.Top, b.sampler.State.After())}
	t, err := f.take()
	if err != nil {
		f.Release()
		return nil, err
	}
	f.tokens = append(slices.Clone(b.tokens), t)
	return f, nil
}

// finish keeps a text that has ended, if it is one of the best.
func (g *beamGroup) finish(b *beam) {
	h := Hypothesis{b.tokens, g.score(b.sum, len(b.tokens))}
	at := len(g.finished)
	for at > 0 && g.finished[at-1].Score < h.Score {
		at--
	}
	g.finished = slices.Insert(g.finished, at, h)
	g.finished = g.finished[:min(len(g.finished), g.size)]
}

// score is the score of a text of n new tokens. The power is not math.Pow's, whose bits depend on
// the machine.
func (s *beamSearch) score(sum float64, n int) float64 {
	return sum / kernels.Exp64(s.LengthPenalty*kernels.Log64(float64(n)))
}

// settle notes whether the group is done, after a step that looked at all.
func (g *beamGroup) settle(all []successor) {
	if g.Groups > 1 {
		g.settleGroup(all)
		return
	}
	if g.done = len(g.running) == 0; !g.done && len(g.finished) == g.size {
		g.done = g.hopeless(g.running[0].sum)
	}
}

// hopeless reports whether a text that runs, with that sum, is not to be waited for, when as many
// texts have ended as there are beams.
func (g *beamGroup) hopeless(sum float64) bool {
	n := g.length
	switch {
	case g.EarlyStopping == EarlyStoppingTrue:
		return true
	case g.EarlyStopping == EarlyStoppingNever && g.LengthPenalty > 0:
		n = g.longest
	}
	return g.score(sum, n) <= g.finished[len(g.finished)-1].Score
}

// best returns the best texts of all.
func (s *beamSearch) best() []Hypothesis {
	var all []Hypothesis
	for _, g := range s.groups {
		all = append(all, g.finished...)
	}
	slices.SortStableFunc(all, func(a, b Hypothesis) int { return cmp.Compare(b.Score, a.Score) })
	all = all[:min(len(all), s.Return)]
	for i, h := range all {
		for j := range h.Tokens {
			h.Tokens[j].Sample = i
		}
	}
	return all
}

// release gives back the memory of what still runs.
func (s *beamSearch) release() {
	for _, g := range s.groups {
		g.release()
	}
}

func (g *beamGroup) release() {
	for _, b := range g.running {
		b.Release()
	}
	g.running = nil
}
