package decode

import (
	"errors"
	"iter"
	"math"
	"slices"
	"testing"

	"picogpt/internal/testing/fixture"
)

func TestWhereNoIDIsLeftTheErrorSaysWhatTookThem(t *testing.T) {
	logits, never := []float32{3, 2, 1}, math.Inf(-1)
	few := []Bias{{IDs: []int{0}, Value: never}, {IDs: []int{2}, Value: never}}
	for _, c := range []struct {
		options Options
		open    []uint64 // nil: all
		barred  []int
		want    []string
	}{
		{Options{Bias: append(few, Bias{IDs: []int{1}, Value: never})}, nil, nil,
			[]string{"logit-bias"}},
		{Options{Bias: few, MinTokens: 1}, nil, nil, []string{"logit-bias", "min-tokens"}},
		{Options{NoRepeatNgram: 1, Vocabulary: gapped{3, []int{2}}}, nil, nil,
			[]string{"vocabulary", "no-repeat-ngram"}},
		{Options{NoRepeatNgram: 1}, []uint64{3}, nil, []string{"constraint", "no-repeat-ngram"}},
		{Options{NoRepeatNgram: 3, MinTokens: 1}, []uint64{3}, []int{0},
			[]string{"constraint", "ban", "min-tokens"}},
		{Options{Bias: few, MinTokens: 1}, []uint64{2}, nil, []string{"constraint", "min-tokens"}},
	} {
		for _, temperature := range []float64{0, 1} {
			c.options.Temperature, c.options.EndOfText = temperature, []int{1}
			s := sampler(t, c.options)
			s.open, s.barred = c.open, c.barred
			_, err := s.Next(logits, []int{0, 1})
			var none *NoIDError
			if !errors.As(err, &none) || none.Position != 1 || !slices.Equal(none.Took, c.want) {
				t.Errorf("%+v: %v, want an error after position 1 that names %v", c.options, err,
					c.want)
			}
		}
	}
	err := &NoIDError{7, []string{"a", "b", "c"}}
	const want = "logits after position 7: want at least one id to draw, found none: " +
		"a, b and c leave none"
	if err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestALateStepThatLeavesNoIDIsAnErrorEverywhere has a step behind top-k that takes the only id.
func TestALateStepThatLeavesNoIDIsAnErrorEverywhere(t *testing.T) {
	m := tiny(t, fixture.Options{})
	b := NewBatcher(m, BatcherOptions{})
	defer b.Close()
	for _, rest := range []string{"", ",top-p", ",typical", ",min-p,temperature", ",top-h,xtc,eta"} {
		o := Options{MaxTokens: 9, Temperature: 1, TopK: 1, TopP: 0.9, Typical: 0.9, MinP: 0.1, TopH: 0.5,
			XTCProbability: 1, Eta: 0.1, Samplers: "top-k,no-repeat-ngram" + rest, NoRepeatNgram: 1,
			EndOfText: []int{}}
		guessed := o
		guessed.Lookup, guessed.alwaysDraft = 5, true
		for name, texts := range map[string]iter.Seq2[Token, error]{
			"alone":    Generate(t.Context(), m.NewSession(), []int{1}, o),
			"guessed":  Generate(t.Context(), m.NewSession(), []int{1}, guessed),
			"a sample": Samples(t.Context(), m.NewSession(), []int{1}, 2, o),
			"a batch":  b.Generate(t.Context(), []int{1}, o),
			"a beam": func(yield func(Token, error) bool) {
				_, err := Beams(t.Context(), m.NewSession(), []int{1}, BeamOptions{}, o)
				yield(Token{}, err)
			},
		} {
			var last error
			for _, err := range texts {
				last = err
			}
			var none *NoIDError
			if !errors.As(last, &none) {
				t.Errorf("%s, %s: %v, want that no id is left", name, o.Samplers, last)
			}
		}
	}
	o := Options{Temperature: 1, TopK: 1, NoRepeatNgram: 1, Samplers: "top-k,no-repeat-ngram,top-p"}
	const want = "logits after position 1: want at least one id to draw, found none: " +
		"top-k and no-repeat-ngram leave none"
	for _, logits := range []row{{logits: []float32{3, 2, 1}}, {ids: []int32{0}, logits: []float32{3}}} {
		if _, err := sampler(t, o).next(logits, []int{0, 1}); err == nil || err.Error() != want {
			t.Errorf("%v of %v, want %s", err, logits, want)
		}
	}
}
