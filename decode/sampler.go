package decode

// From one row of logits to one token.

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"picogpt/kernels"
	"picogpt/model"
)

// Sampler chooses tokens as the package comment defines, from Options' sampling fields, and owns
// its random numbers and its scratch memory: after the first row, choosing allocates nothing. It
// serves one timeline, one call at a time.
type Sampler struct {
	options Options
	llama   bool          // the definitions are llama.cpp's
	masks   []samplerStep // that come first
	before  []samplerStep // on the context, whether anything is drawn or not
	steps   []samplerStep // that decide what may be drawn
	least   int           // ids that every filter keeps
	ends    []int         // ids that end the text

	breakers map[int][][]int // of DRY: what follows their first ids
	limit    int             // ids from here on are never drawn
	gaps     []int           // ids below limit that are never drawn
	open     []uint64        // the ids that a constraint leaves; nil: all
	barred   []int           // ids that may not be drawn now
	against  []float32       // logits of the other context, with guidance, or nil
	leaves   kernels.Leaves
	trace    func(name string, left int) // if not nil, called after each step

	state samplerState
	*scratch
}

// samplerState is what one choice leaves to the next. It is a value: to keep it is to be able to go
// back.
type samplerState struct {
	random rand.PCG
	coins  rand.PCG // XTC's
	mu     float64  // Mirostat's cut, in bits
	new    int      // tokens of the context that count as generated, the newest
}

// scratch is memory that a choice works in and leaves behind.
type scratch struct {
	kept
	maxima []float64 // of each run of scores, before any filter, or none where they have changed
	runs   []float64 // the maximum of each run of something else
	terms  []float64 // [up to stretch] of a sum
	places []int32   // in kept, of what a filter leaves
	items  []item    // what reach searches in the end

	mask     []uint64  // what a constraint leaves
	context  []int     // that the scores follow
	rows     int       // above all ids that have logits
	counts   []int32   // for each id, 0 between uses
	repeats  []int     // what DRY compares
	nearness []float64 // of each score, to what is typical
}

// scratches is memory for the choices of streams that run together: as much as is in use at a time,
// and not as much as there are streams.
type scratches struct {
	mu   sync.Mutex
	free []*scratch
}

func (s *scratches) get() *scratch {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.free)
	if n == 0 {
		return &scratch{}
	}
	last := s.free[n-1]
	s.free = s.free[:n-1]
	return last
}

func (s *scratches) put(one *scratch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = append(s.free, one)
}

// NewSampler returns a sampler at the start of the seed's random numbers. It reads what Options say
// of choosing, Vocabulary and Leaves. An error is an *OptionError.
func NewSampler(o Options) (*Sampler, error) {
	if err := o.check(); err != nil {
		return nil, &OptionError{err}
	}
	s := &Sampler{
		options: o, llama: o.Samplers == samplersLlamaCpp, least: 1, limit: math.MaxInt,
		leaves: o.Leaves, ends: o.EndOfText, breakers: dryBreakers(o.DRY.Breakers),
		scratch: &scratch{}, masks: maskSteps(),
	}
	s.state.new, s.state.mu = o.Generated, 2*o.Mirostat.Tau
	if err := s.plan(&o); err != nil {
		return nil, &OptionError{err}
	}
	s.seed(o.Seed)
	if o.Vocabulary != nil {
		s.limit = o.Vocabulary.Size()
	}
	if v, ok := o.Vocabulary.(interface{ Gaps() []int }); ok {
		s.gaps = v.Gaps()
	}
	return s, nil
}

// seed begins the random numbers of a seed.
func (s *Sampler) seed(seed uint64) {
	s.state.random.Seed(seed, seed)
	s.state.coins.Seed(seed, ^seed)
}

// fork returns a sampler with the same random numbers to come and scratch memory of its own.
func (s *Sampler) fork() *Sampler {
	f := *s
	f.scratch = &scratch{}
	return &f
}

// Next returns the token that follows context, given logits [vocabulary], the model's after its
// last token. It leaves both as they are. The token counts as generated from then on. A logit that
// is not finite is a *model.NonFiniteError.
func (s *Sampler) Next(logits []float32, context []int) (int, error) {
	return s.next(row{logits: logits}, context)
}

// next is Next for a row with all logits, or with the decisive ones.
func (s *Sampler) next(from row, context []int) (int, error) {
	if err := s.score(from, context); err != nil {
		return 0, err
	}
	place := s.likeliest()
	if s.options.Temperature != 0 {
		if err := s.filter(from, place); err != nil {
			return 0, err
		}
		place = s.draw()
		s.follow(s.weights[place])
	}
	s.state.new++
	return s.id(place), nil
}

// after returns the state after a token that was not drawn.
func (s *Sampler) after() samplerState {
	state := s.state
	state.new++
	return state
}

// filter leaves what may be drawn from a row, with its weights, given the place of the likeliest id.
// Where it leaves nothing, the state is as it was.
func (s *Sampler) filter(from row, best int) error {
	before := s.state
	s.largest, s.weighed, s.weights, s.zeros = s.scores[best], false, s.weights[:0], false
	for i := range s.steps {
		s.dropZeros()
		s.steps[i].do(s)
		s.note(s.steps[i].name)
		if math.IsInf(s.largest, -1) {
			s.state = before
			return s.noID(from)
		}
	}
	s.ready()
	return nil
}

// note tells who wants to know what a step left.
func (s *Sampler) note(name string) {
	if s.trace != nil {
		s.trace(name, s.left())
	}
}

// left counts the ids that may still be drawn.
func (s *Sampler) left() (n int) {
	s.dropZeros()
	for _, x := range s.scores {
		if !math.IsInf(x, -1) {
			n++
		}
	}
	return n
}

// score fills scores with the logits of the ids that may be drawn, after everything that comes
// before the filters.
func (s *Sampler) score(from row, context []int) error {
	if !s.load(from, context) {
		return &model.NonFiniteError{Position: len(context) - 1, ID: firstNonFinite(from.logits)}
	}
	for i := range s.masks {
		s.masks[i].do(s)
	}
	for i := range s.before {
		s.before[i].do(s)
		s.note(s.before[i].name)
	}
	open := func(x float64) bool { return !math.IsInf(x, -1) }
	if len(s.scores) == 0 || s.holes && !slices.ContainsFunc(s.scores, open) {
		return s.noID(from)
	}
	return nil
}

// load fills scores with the logits of the vocabulary's ids, and reports whether all are finite.
func (s *Sampler) load(from row, context []int) bool {
	s.scores = resized(s.scores, len(from.logits))
	finite := s.leaves.Widen(s.scores, from.logits)
	n := min(s.limit, len(s.scores))
	if s.all = from.ids == nil; !s.all {
		s.ids = append(s.ids[:0], from.ids...)
		n, _ = slices.BinarySearchFunc(s.ids, s.limit, func(id int32, limit int) int {
			return cmp.Compare(int(id), limit)
		})
	}
	s.scores = s.scores[:n]
	s.context, s.whole, s.holes, s.zeros, s.by = context, len(s.scores), false, false, 1
	if s.rows = len(from.logits); from.ids != nil {
		s.rows = int(from.ids[s.rows-1]) + 1
	}
	return finite
}

// shutGaps takes out the ids that are none.
func (s *Sampler) shutGaps() {
	for _, id := range s.gaps {
		s.shutID(id)
	}
}

// shutBarred takes out the ids that may not be drawn now.
func (s *Sampler) shutBarred() {
	for _, id := range s.barred {
		s.shutID(id)
	}
	if len(s.options.Ban) > 0 {
		s.note("ban")
	}
}

// firstNonFinite returns the place of the first NaN or infinity.
func firstNonFinite(logits []float32) int {
	return slices.IndexFunc(logits, func(x float32) bool {
		return math.Float32bits(x)&0x7f800000 == 0x7f800000
	})
}

// likeliest returns the place of the largest score, of equal ones that of the lowest id.
func (s *Sampler) likeliest() int {
	const run = kernels.MaximaRun
	s.maxima = resized(s.maxima, (len(s.scores)+run-1)/run)
	s.leaves.Maxima(s.maxima, s.scores)
	best := 0
	for i, x := range s.maxima {
		if x > s.maxima[best] {
			best = i
		}
	}
	return best*run + slices.Index(s.scores[best*run:], s.maxima[best])
}

// maximum returns the largest of x, which has at least one number.
func (s *Sampler) maximum(x []float64) float64 {
	s.runs = resized(s.runs, (len(x)+kernels.MaximaRun-1)/kernels.MaximaRun)
	s.leaves.Maxima(s.runs, x)
	return slices.Max(s.runs)
}

// weigh sets the weights of what is kept, and their mass. The largest score is taken off first: exp
// cannot overflow, nor can a tiny temperature make Inf - Inf.
func (s *Sampler) weigh() {
	s.weighed = true
	s.weights, s.mass = resized(s.weights, len(s.scores)), 0
	for i := 0; i < len(s.scores); i += stretch {
		end := min(i+stretch, len(s.scores))
		s.leaves.Exp64s(s.weights[i:end], s.scores[i:end], s.largest, s.by)
		s.mass = s.leaves.Sum64(s.weights[i:end], s.mass)
	}
}

// stretch is how many weights are worked on together, so that they stay in the first-level cache.
const stretch = 1024

// need weighs what is kept, unless its weights are known.
func (s *Sampler) need() {
	if !s.weighed {
		s.weigh()
	}
}

// draw spends one random number on a place in kept.
func (s *Sampler) draw() int {
	at := uniform(&s.state.random) * s.mass // [0, mass)
	// The sum of the weights of the places before the drawn one is at most at: first the stretch
	// with that place, then the place.
	below, from := 0.0, 0
	for from+stretch < len(s.weights) {
		next := s.leaves.Sum64(s.weights[from:from+stretch], below)
		if at < next {
			break
		}
		below, from = next, from+stretch
	}
	for i, weight := range s.weights[from:] {
		below += weight
		if at < below {
			return from + i
		}
	}
	// Not reached: below ends as the mass, term by term, and at is less than the mass even after
	// rounding.
	return len(s.weights) - 1
}

// uniform returns the next number of [0, 1).
func uniform(random *rand.PCG) float64 { return float64(random.Uint64()>>11) * 0x1p-53 }

// resized returns a slice of length n in b's memory, or in new memory if that has too little room.
func resized[T any](b []T, n int) []T { return slices.Grow(b[:0], n)[:n] }
