package bench

// Choosing a token from a row of logits, by itself: one goroutine, no model.

import (
	"math/rand/v2"

	"picogpt/sample"
)

// choices are the ways to choose that are measured.
var choices = []struct {
	name   string
	params sample.Params
}{
	{"greedy", sample.Params{}},
	{"top-k", sample.Params{Temperature: 0.8, TopK: 40, TopP: 0.95, MinP: 0.05, RepeatPenalty: 1.1,
		RepeatLastN: 64}},
	{"top-p", sample.Params{Temperature: 0.8, TopP: 0.95}},
}

// choosing returns a step for each of choices. The logits are not the model's, whose weights may be
// random: they are as unequal as a trained model's, normal with a deviation of 3.
func (b *meter) choosing() (steps []func() error, err error) {
	r := rand.New(rand.NewPCG(1, 2))
	logits := make([]float32, b.m.Config().VocabSize)
	for i := range logits {
		logits[i] = float32(r.NormFloat64() * 3)
	}
	for _, c := range choices {
		s, err := sample.NewSampler(c.params, sample.IDs{})
		if err != nil {
			return nil, err
		}
		s.Leaves = b.m.Leaves()
		steps = append(steps, func() error {
			_, err := s.Next(logits, b.prompt)
			return err
		})
	}
	return steps, nil
}

// choose measures choosing once.
func (b *meter) choose() error {
	steps, err := b.choosing()
	if err != nil {
		return err
	}
	took, err := b.inTurn(64, steps...)
	if err != nil {
		return err
	}
	for i, c := range choices {
		b.add(c.name, took[i])
	}
	return nil
}
