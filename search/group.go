package search

// A group of beams, which compete: from the logits after each of them to the next ones.

import (
	"cmp"
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"picogpt/decode"
	"picogpt/kernels"
	"picogpt/model"
	"picogpt/sample"
)

// A beamSearch is the state of a search between two evaluations.
type beamSearch struct {
	BeamOptions
	options decode.Options
	leaves  kernels.Leaves
	groups  []*group
	random  rand.PCG
	ends    []int // ids that end the text
	longest int   // the most new tokens
	length  int   // new tokens of the running beams
}

// A group is the beams that compete: all of them, except in diverse beam search.
type group struct {
	*beamSearch
	size     int // how many beams
	running  []*Beam
	finished []Beam // the best ended beams, at most size, the best first
	done     bool
}

// newBeamSearch returns a search that begins with a stream whose context is evaluated.
func newBeamSearch(b BeamOptions, o decode.Options, root *decode.Stream) *beamSearch {
	m := root.Session().Model()
	s := &beamSearch{
		BeamOptions: b, options: o, leaves: m.Leaves(), ends: o.EndOfText,
		longest: m.Config().Positions - len(root.Context()) + 1,
	}
	if s.ends == nil {
		s.ends = m.Config().EndTokens()
	}
	if n := o.MaxTokens; n > 0 {
		s.longest = min(s.longest, n)
	}
	s.random.Seed(o.Seed, o.Seed)
	root.SetPool(&sample.Pool{})
	for range b.Groups {
		first := &Beam{stream: root.Sample(0)}
		s.groups = append(s.groups, &group{
			beamSearch: s, size: b.Beams / b.Groups, running: []*Beam{first},
		})
	}
	return s
}

// done reports whether the search has ended.
func (s *beamSearch) done() bool {
	return !slices.ContainsFunc(s.groups, func(g *group) bool { return !g.done })
}

// batch returns the inputs that the model evaluates before the next step: none before the first.
func (s *beamSearch) batch() []model.Input {
	var batch []model.Input
	for _, g := range s.groups {
		for _, b := range g.running {
			if in, ok := b.stream.Guide(0); ok {
				batch = append(batch, in)
			}
			in, ok := b.stream.Input(0)
			if !ok {
				g.see(b, b.stream.Session().Logits())
				continue
			}
			in.Best, in.Visit = 0, func(r model.Row) { g.see(b, r.Logits) }
			batch = append(batch, in)
		}
	}
	return batch
}

// see takes the logits after a beam. It may run for several beams at the same time.
func (g *group) see(b *Beam, logits []float32) {
	b.row.Keep(sample.WholeRow(logits, g.leaves))
	b.logProbs = slices.Grow(b.logProbs[:0], len(logits))[:len(logits)]
	for id, x := range logits {
		b.logProbs[id] = float32(float64(x) - b.row.LogSum)
	}
	if !g.ranksLate() {
		b.err = g.rank(b)
	}
}

// advance performs the step that follows the logits.
func (s *beamSearch) advance() error {
	s.length++
	taken := map[int]int{} // by id: how many beams of earlier groups took it
	for _, g := range s.groups {
		if g.done {
			g.pad(taken)
			continue
		}
		if err := g.advance(taken); err != nil {
			return err
		}
		for _, b := range g.running {
			taken[b.last().ID]++
		}
		if g.done {
			g.release()
		}
	}
	return nil
}

// ranksLate reports whether candidates depend on more than the logits after their beam: on earlier
// groups, or on the second context of guidance.
func (g *group) ranksLate() bool { return g.Groups > 1 || g.options.Guidance.On() }

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
	return b.stream.Sampling(b.row, cmp.Or(g.options.Temperature, 1), func(s *sample.Sampler) error {
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

// advance performs the step of one group.
func (g *group) advance(taken map[int]int) error {
	var all []candidate
	for _, b := range g.running {
		if g.Groups > 1 {
			g.lower(b, taken)
		}
		if g.ranksLate() {
			b.err = g.rank(b)
		}
		if b.err != nil {
			return b.err
		}
		all = append(all, b.candidates...)
	}
	if g.options.Temperature != 0 {
		all = g.draw(all)
	} else {
		slices.SortFunc(all, better)
	}
	all = all[:min(len(all), g.wide())]
	next, err := g.follow(all)
	for i, b := range next {
		if b.place = i; i < len(g.running) {
			b.reuse(g.running[i])
		}
	}
	g.release()
	g.running = next
	if err == nil {
		g.settle(all)
	}
	return err
}

// follow makes candidates follow their beams, in the order of their ranks. It returns the beams
// that continue, the best first, and keeps those that end.
func (g *group) follow(all []candidate) (next []*Beam, err error) {
	for rank, c := range all {
		if g.enough(rank, len(next)) {
			break
		}
		if rank >= g.size && slices.Contains(g.ends, c.id) { // neither kept nor continued
			continue
		}
		b, err := c.beam.follow(c, g.options.Top)
		if errors.Is(err, decode.ErrBanned) {
			continue
		}
		if err != nil {
			return next, err
		}
		if !b.stream.Done() || g.open(b) {
			next = append(next, b)
			continue
		}
		if rank < g.size {
			g.finish(b)
		}
		b.stream.Release()
	}
	if g.options.Temperature != 0 { // they are in the order of the draws
		slices.SortStableFunc(next, func(a, b *Beam) int { return cmp.Compare(b.sum, a.sum) })
	}
	for _, b := range next[min(len(next), g.size):] {
		b.stream.Release()
	}
	return next[:min(len(next), g.size)], nil
}

// enough reports whether the candidates from rank on cannot change the result.
func (g *group) enough(rank, running int) bool {
	sampled := g.options.Temperature != 0
	return running == g.size && !sampled && (rank >= g.size || g.Groups > 1)
}

// finish keeps a text that has ended, if it is one of the best.
func (g *group) finish(b *Beam) {
	ended := Beam{Tokens: b.Tokens, Score: g.score(b.sum, len(b.Tokens))}
	at := len(g.finished)
	for at > 0 && g.finished[at-1].Score < ended.Score {
		at--
	}
	g.finished = slices.Insert(g.finished, at, ended)
	g.finished = g.finished[:min(len(g.finished), g.size)]
}

// score returns the score of a text of n new tokens. It does not use math.Pow, whose bits depend on
// the machine.
func (s *beamSearch) score(sum float64, n int) float64 {
	return sum / kernels.Exp64(s.LengthPenalty*kernels.Log64(float64(n)))
}

// settle notes whether the group is done, after a step that considered all candidates.
func (g *group) settle(all []candidate) {
	if g.Groups > 1 {
		g.settleDiverse(all)
		return
	}
	if g.done = len(g.running) == 0; !g.done && len(g.finished) == g.size {
		g.done = g.hopeless(g.running[0].sum)
	}
}

// hopeless reports whether no running text, given the best sum, can improve the ended texts when
// these are as many as there are beams.
func (g *group) hopeless(sum float64) bool {
	n := g.length
	switch {
	case g.EarlyStopping == EarlyStoppingTrue:
		return true
	case g.EarlyStopping == EarlyStoppingNever && g.LengthPenalty > 0:
		n = g.longest
	}
	return g.score(sum, n) <= g.finished[len(g.finished)-1].Score
}

// best returns the best texts of all groups.
func (s *beamSearch) best() []Beam {
	var all []Beam
	for _, g := range s.groups {
		all = append(all, g.finished...)
	}
	slices.SortStableFunc(all, func(a, b Beam) int { return cmp.Compare(b.Score, a.Score) })
	all = all[:min(len(all), s.Return)]
	for i, b := range all {
		for j := range b.Tokens {
			b.Tokens[j].Sample = i
		}
	}
	return all
}

// release gives back the memory of the running beams' sessions.
func (s *beamSearch) release() {
	for _, g := range s.groups {
		g.release()
	}
}

func (g *group) release() {
	for _, b := range g.running {
		b.stream.Release()
	}
	g.running = nil
}

// Diverse beam search: the special rules of groups of beams. They are those of Hugging Face
// transformers 4.56 (BeamSearchScorer), which differ in two points: an ended text counts when the
// group checks whether it may stop, and open texts count when the length is reached.

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
