package decode

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
