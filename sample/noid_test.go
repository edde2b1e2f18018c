package sample

import (
	"errors"
	"math"
	"slices"
	"testing"
)

func TestWhereNoIDIsLeftTheErrorSaysWhatTookThem(t *testing.T) {
	logits, never := []float32{3, 2, 1}, math.Inf(-1)
	few := []Bias{{IDs: []int{0}, Value: never}, {IDs: []int{2}, Value: never}}
	for _, c := range []struct {
		params Params
		gaps   []int
		open   []uint64 // nil: all
		barred []int
		want   []string
	}{
		{Params{Bias: append(few, Bias{IDs: []int{1}, Value: never})}, nil, nil, nil,
			[]string{"logit-bias"}},
		{Params{Bias: few, MinTokens: 1}, nil, nil, nil, []string{"logit-bias", "min-tokens"}},
		{Params{NoRepeatNgram: 1}, []int{2}, nil, nil,
			[]string{"vocabulary", "no-repeat-ngram"}},
		{Params{NoRepeatNgram: 1}, nil, []uint64{3}, nil, []string{"constraint", "no-repeat-ngram"}},
		{Params{NoRepeatNgram: 3, MinTokens: 1}, nil, []uint64{3}, []int{0},
			[]string{"constraint", "ban", "min-tokens"}},
		{Params{Bias: few, MinTokens: 1}, nil, []uint64{2}, nil, []string{"constraint", "min-tokens"}},
		{Params{Allowed: []int{2}, MinTokens: 1}, nil, []uint64{3}, nil,
			[]string{"constraint", "allowed tokens"}},
	} {
		for _, temperature := range []float64{0, 1} {
			c.params.Temperature = temperature
			s := sampler(t, c.params, IDs{Gaps: c.gaps, Ends: []int{1}})
			s.Open, s.Barred = c.open, c.barred
			_, err := s.Next(logits, []int{0, 1})
			var none *NoIDError
			if !errors.As(err, &none) || none.Position != 1 || !slices.Equal(none.Took, c.want) {
				t.Errorf("%+v: %v, want an error after position 1 that names %v", c.params, err,
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

// TestALateStepThatLeavesNoIDIsNamed has a step after top-k that removes the only id.
func TestALateStepThatLeavesNoIDIsNamed(t *testing.T) {
	o := Params{Temperature: 1, TopK: 1, NoRepeatNgram: 1,
		Samplers: "top-k,no-repeat-ngram,top-p"}
	const want = "logits after position 1: want at least one id to draw, found none: " +
		"top-k and no-repeat-ngram leave none"
	for _, logits := range []Row{
		{Logits: []float32{3, 2, 1}}, {IDs: []int32{0}, Logits: []float32{3}},
	} {
		if _, err := sampler(t, o).Choose(logits, []int{0, 1}); err == nil || err.Error() != want {
			t.Errorf("%v of %v, want %s", err, logits, want)
		}
	}
}
