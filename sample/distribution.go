package sample

// The distribution of the next token, and how many ids each step left.

import (
	"cmp"
	"slices"
)

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
