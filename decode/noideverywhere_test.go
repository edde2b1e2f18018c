package decode

// Where no id is left, every way to generate a text returns the error.

import (
	"errors"
	"iter"
	"testing"

	"picogpt/dev/fixture"
	"picogpt/sample"
)

// TestALateStepThatLeavesNoIDIsAnErrorEverywhere has a step after top-k that removes the only id.
func TestALateStepThatLeavesNoIDIsAnErrorEverywhere(t *testing.T) {
	m := tiny(t, fixture.Options{})
	for _, rest := range []string{"", ",top-p", ",typical", ",min-p,temperature", ",top-h,xtc,eta"} {
		o := Options{MaxTokens: 9, EndOfText: []int{}, Params: sample.Params{Temperature: 1,
			TopK: 1, TopP: 0.9, Typical: 0.9, MinP: 0.1, TopH: 0.5, XTCProbability: 1, Eta: 0.1,
			Samplers: "top-k,no-repeat-ngram" + rest, NoRepeatNgram: 1}}
		guessed := o
		guessed.Lookup, guessed.alwaysDraft = 5, true
		for name, texts := range map[string]iter.Seq2[Token, error]{
			"alone":    Generate(t.Context(), m.NewSession(), []int{1}, o),
			"guessed":  Generate(t.Context(), m.NewSession(), []int{1}, guessed),
			"a sample": Samples(t.Context(), m.NewSession(), []int{1}, 2, o),
			"a batch":  InABatch(t, m, 0, []int{1}, 1, o),
		} {
			var last error
			for _, err := range texts {
				last = err
			}
			var none *sample.NoIDError
			if !errors.As(last, &none) {
				t.Errorf("%s, %s: %v, want that no id is left", name, o.Samplers, last)
			}
		}
	}
}
