package decode

// What a sampler would draw from: the distribution of the next token, and how it came about.

import (
	"cmp"
	"errors"
	"slices"
)

// A Distribution is what a token is drawn from.
type Distribution struct {
	Candidates []Candidate // that may be drawn, the likeliest first, of equal ones the lowest id
	Steps      []Step      // what the options ask for, in order
}

// A Candidate is an id that may be drawn, and its probability among them.
type Candidate struct {
	ID   int
	Prob float64
}

// A Step is a part of the choice, by the name that [SamplerNames] or the package comment gives it,
// and how many ids it leaves.
type Step struct {
	Name string
	Left int
}

// Distribution returns what [Sampler.Next] would draw from. It spends no random number.
func (s *Sampler) Distribution(logits []float32, context []int) (Distribution, error) {
	before := s.state
	var d Distribution
	s.trace = func(name string, left int) { d.Steps = append(d.Steps, Step{name, left}) }
	defer func() { s.state, s.trace = before, nil }()
	if err := s.score(row{logits: logits}, context); err != nil {
		return Distribution{}, err
	}
	best := s.likeliest()
	if s.options.Temperature == 0 {
		d.Steps = append(d.Steps, Step{"temperature", 1})
		d.Candidates = []Candidate{{best, 1}}
		return d, nil
	}
	if err := s.filter(row{logits: logits}, best); err != nil {
		return Distribution{}, err
	}
	for i, w := range s.weights {
		d.Candidates = append(d.Candidates, Candidate{s.id(i), w / s.mass})
	}
	slices.SortFunc(d.Candidates, func(a, b Candidate) int {
		return cmp.Or(cmp.Compare(b.Prob, a.Prob), cmp.Compare(a.ID, b.ID))
	})
	return d, nil
}

// Distribution returns what the next token will be drawn from, when the Inputs before it are
// evaluated. Ids that would complete a string of Options.Ban at once are not among it.
func (s *Stream) Distribution() (Distribution, error) {
	if s.done || s.pending() > 0 {
		return Distribution{}, errors.New("stream: there are no logits after its last token yet")
	}
	s.sampler.scratch = &scratch{}
	if err := s.constrain(); err != nil {
		return Distribution{}, err
	}
	if s.guide != nil {
		s.sampler.against = s.guide.session.Logits()
	}
	completing, err := s.completing()
	if err != nil {
		return Distribution{}, err
	}
	s.sampler.barred = append(s.barredHere(), completing...)
	return s.sampler.Distribution(s.here().logits, s.context)
}
