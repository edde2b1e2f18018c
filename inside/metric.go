package inside

// What the tools ask of logits, and which texts they take.

import (
	"errors"
	"fmt"

	"picogpt/model"
)

// ErrNonFinite is in the error of Lens, Attribute or At where a number that they report would be a NaN
// or an infinity, though the model's logits are not.
var ErrNonFinite = errors.New("not finite")

// A Metric is the number that the tools explain: the logit of Target minus that of Against, or
// minus the mean of all logits if Against is nil.
type Metric struct {
	Target  int  `json:"target"`
	Against *int `json:"against,omitempty"`
}

// Of returns the number for a row of logits.
func (q Metric) Of(logits []float32) float64 {
	target := float64(logits[q.Target])
	if q.Against != nil {
		return target - float64(logits[*q.Against])
	}
	sum := 0.0
	for _, v := range logits {
		sum += float64(v)
	}
	return target - sum/float64(len(logits))
}

func (q Metric) check(m *model.Model) error {
	if err := checkID("target", q.Target, m); err != nil || q.Against == nil {
		return err
	}
	if *q.Against == q.Target {
		return fmt.Errorf("target and against: id %d both, want two tokens", q.Target)
	}
	return checkID("against", *q.Against, m)
}

func checkID(what string, id int, m *model.Model) error {
	if most := m.Config().VocabSize - 1; id < 0 || id > most {
		return fmt.Errorf("%s: id %d, want 0 to %d", what, id, most)
	}
	return nil
}

// checkText returns an error that says what a text wants, before anything is computed.
func checkText(m *model.Model, tokens []int) error {
	if len(tokens) == 0 {
		return errors.New("no tokens, want at least one")
	}
	if most := m.Config().Positions; len(tokens) > most {
		return &model.ContextError{Added: len(tokens), Positions: most}
	}
	for i, id := range tokens {
		if err := checkID(fmt.Sprintf("token %d", i), id, m); err != nil {
			return err
		}
	}
	return nil
}
