package sample

// From one row of logits to one token, or to all that may be drawn.

import (
	"cmp"
	"math"
	"slices"

	"picogpt/kernels"
	"picogpt/model"
)

// A Sampler chooses tokens as the package comment defines. It owns its random numbers and its
// working memory: after the first row, choosing allocates nothing. It serves one timeline, one call
// at a time.
//
// The exported fields may change between choices.
type Sampler struct {
	// Leaves are the kernels that it computes with, the fastest of this processor if zero. All of
	// them give the same tokens.
	Leaves kernels.Leaves

	// State is what the choices so far leave to the next. A caller that saves it can go back to it.
	State State

	// Open has bit id%64 of word id/64 set for each id that a constraint allows. Nil allows all.
	Open []uint64

	// Barred holds the ids that may not be drawn, because a banned string would begin or end with
	// them. Nil means that no string is banned.
	Barred []int

	// Against holds the logits [vocabulary] after the other context of Params.Guidance, or is nil.
	Against []float32

	params  Params
	allowed []uint64 // Params.Allowed as Open has ids, or nil

	llama  bool   // the definitions are llama.cpp's
	ahead  []step // come first, and see all ids
	before []step // apply to the logits, greedy or not
	steps  []step // decide what may be drawn
	drew   []func(s *Sampler, place int)
	least  int // how many ids every filter keeps at least

	nucleus float64 // the weight of top-p, where it is the first filter of a row's best logits; else 0

	ends     []int                       // ids that end the text
	limit    int                         // ids from here on are never drawn
	gaps     []int                       // ids below limit that are never drawn
	breakers map[int][][]int             // of DRY: the rest of each, by its first id
	trace    func(name string, left int) // if not nil, called after each step

	*scratch
}

// IDs describes the ids of a vocabulary. The zero value is for one that has all ids, of which none
// ends a text.
type IDs struct {
	Size int   // ids from Size on are never drawn; 0 means no such bound
	Gaps []int // ids below Size that are never drawn
	Ends []int // ids that end a text
}

// NewSampler returns a sampler at the start of the seed's random numbers. An error is an
// *OptionError.
func NewSampler(p Params, ids IDs) (*Sampler, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	if err := p.unopened(); err != nil {
		return nil, &OptionError{err}
	}
	s := &Sampler{
		params: p, llama: p.Samplers == samplersLlamaCpp, least: 1, limit: math.MaxInt,
		ends: ids.Ends, gaps: ids.Gaps, breakers: dryBreakers(p.DRY.Breakers),
		scratch: &scratch{}, allowed: p.allowedMask(),
	}
	if ids.Size > 0 {
		s.limit = ids.Size
	}
	s.State.Generated = p.Generated
	if err := s.plan(&p); err != nil {
		return nil, &OptionError{err}
	}
	s.Reseed(p.Seed)
	return s, nil
}

// Reseed starts the random numbers of a seed.
func (s *Sampler) Reseed(seed uint64) {
	s.State.random.Seed(seed, seed)
	s.State.coins.Seed(seed, ^seed)
}

// KeepAtLeast makes every filter keep at least n ids, where there are so many. By default n is 1.
func (s *Sampler) KeepAtLeast(n int) { s.least = n }

// Fork returns a sampler with the same options and State, and memory of its own.
func (s *Sampler) Fork() *Sampler {
	f := *s
	f.scratch = &scratch{}
	return &f
}

// CopyFrom makes s choose from now on as other would, in memory of its own.
func (s *Sampler) CopyFrom(other *Sampler) {
	own := s.scratch
	if *s = *other; own == nil {
		own = &scratch{}
	}
	s.scratch = own
}

// Next returns the token that follows context, given logits [vocabulary], which the model gives
// after the last token of context. It changes neither. From then on the token counts as generated.
// A logit that is not finite is a *model.NonFiniteError; if no id is left, the error is a
// *NoIDError.
func (s *Sampler) Next(logits []float32, context []int) (int, error) {
	return s.Choose(Row{Logits: logits}, context)
}

// Choose is Next for a row that has all logits, or the decisive ones.
func (s *Sampler) Choose(from Row, context []int) (int, error) {
	if err := s.score(from, context); err != nil {
		return 0, err
	}
	place := s.likeliest()
	if s.params.Temperature != 0 {
		if err := s.filter(from, place); err != nil {
			return 0, err
		}
		place = s.draw()
		for _, drew := range s.drew {
			drew(s, place)
		}
	}
	s.State.Generated++
	return s.id(place), nil
}

// filter removes ids of a row by the filters, and computes the weights of the rest, given the place
// of the likeliest id. Where it leaves none, the state is as it was.
func (s *Sampler) filter(from Row, best int) error {
	before := s.State
	s.largest, s.weighed, s.weights, s.zeros = s.scores[best], false, s.weights[:0], false
	if s.nucleus = 0; from.IDs != nil && s.firstIsTopP() {
		s.nucleus, _ = s.nucleusOf(&from)
	}
	for i := range s.steps {
		s.dropZeros()
		s.steps[i].do(s)
		s.note(s.steps[i].name)
		if math.IsInf(s.largest, -1) {
			s.State = before
			return s.noID(from)
		}
	}
	s.ready()
	return nil
}

// note calls trace after a step, if it is set.
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

// score fills scores with the logits of the ids that may be drawn, after all steps before the
// filters.
func (s *Sampler) score(from Row, context []int) error {
	if !s.load(from, context) {
		return &model.NonFiniteError{Position: len(context) - 1,
			ID: kernels.FirstNonFinite(from.Logits)}
	}
	for i := range s.ahead {
		s.ahead[i].do(s)
		s.note(s.ahead[i].name)
	}
	for i := range maskSteps {
		maskSteps[i].do(s)
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
func (s *Sampler) load(from Row, context []int) bool {
	s.scores = resized(s.scores, len(from.Logits))
	finite := s.Leaves.Widen(s.scores, from.Logits)
	n := min(s.limit, len(s.scores))
	if s.all = from.IDs == nil; !s.all {
		s.ids = append(s.ids[:0], from.IDs...)
		n, _ = slices.BinarySearchFunc(s.ids, s.limit, func(id int32, limit int) int {
			return cmp.Compare(int(id), limit)
		})
	}
	s.scores = s.scores[:n]
	s.context, s.whole, s.holes, s.zeros, s.by = context, len(s.scores), false, false, 1
	if s.rows = len(from.Logits); from.IDs != nil {
		s.rows = int(from.IDs[s.rows-1]) + 1
	}
	return finite
}

// Scores returns the logits after all steps before the filters, [vocabulary] or up to IDs.Size:
// -Inf for ids that may not be drawn. They are valid until the sampler's next call.
func (s *Sampler) Scores(logits []float32, context []int) ([]float64, error) {
	err := s.score(Row{Logits: logits}, context)
	return s.scores, err
}

// EachKept calls f for each id that the filters leave, in ascending order, with its score divided
// by the temperature. It uses none of the random numbers of the draws.
func (s *Sampler) EachKept(logits []float32, context []int, f func(id int, score float64)) error {
	from := Row{Logits: logits}
	if err := s.score(from, context); err != nil {
		return err
	}
	if err := s.filter(from, s.likeliest()); err != nil {
		return err
	}
	for i, score := range s.scores {
		if s.weights[i] != 0 {
			f(s.id(i), score/s.by)
		}
	}
	return nil
}

// A Distribution is what the next token is drawn from.
type Distribution struct {
	Chances []Chance // of the ids that may be drawn: likeliest first, equal ones by id
	Steps   []Step   // that the options ask for, in order
}

// A Chance is an id that may be drawn, and its probability of being drawn.
type Chance struct {
	ID   int
	Prob float64
}

// A Step is one step of the choice, under its name in [SamplerNames] or in the package comment, and
// the number of ids that are left after it.
type Step struct {
	Name string
	Left int
}

// Distribution returns what [Sampler.Next] would draw from. It uses no random number.
func (s *Sampler) Distribution(logits []float32, context []int) (Distribution, error) {
	before := s.State
	var d Distribution
	s.trace = func(name string, left int) { d.Steps = append(d.Steps, Step{name, left}) }
	defer func() { s.State, s.trace = before, nil }()
	if err := s.score(Row{Logits: logits}, context); err != nil {
		return Distribution{}, err
	}
	best := s.likeliest()
	if s.params.Temperature == 0 {
		d.Steps = append(d.Steps, Step{"temperature", 1})
		d.Chances = []Chance{{best, 1}}
		return d, nil
	}
	if err := s.filter(Row{Logits: logits}, best); err != nil {
		return Distribution{}, err
	}
	for i, w := range s.weights {
		d.Chances = append(d.Chances, Chance{s.id(i), w / s.mass})
	}
	slices.SortFunc(d.Chances, func(a, b Chance) int {
		return cmp.Or(cmp.Compare(b.Prob, a.Prob), cmp.Compare(a.ID, b.ID))
	})
	return d, nil
}
