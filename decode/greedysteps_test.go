package decode

// Whole texts with options that depend on the context, against Hugging Face's.

import (
	"math"
	"slices"
	"testing"

	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/model"
	"picogpt/sample"
)

// TestGreedyWithContextStepsIsHuggingFaces writes whole texts.
func TestGreedyWithContextStepsIsHuggingFaces(t *testing.T) {
	var cases []struct {
		Prompt   []int `json:"prompt_ids"`
		IDs, EOS []int
		MaxNew   int       `json:"max_new"`
		Ngram    int       `json:"no_repeat_ngram_size"`
		Repeat   float64   `json:"repetition_penalty"`
		Min      int       `json:"min_new_tokens"`
		Bad      [][]int   `json:"bad_words_ids"`
		Decay    []float64 `json:"exponential_decay_length_penalty"`
		Guidance float64   `json:"guidance_scale"`
	}
	if err := fixture.Decoding("greedy", &cases); err != nil {
		t.Fatal(err)
	}
	m := testmodel.Demo(t, model.Options{})
	for _, c := range cases {
		if c.Guidance != 0 {
			continue
		}
		o := Options{MaxTokens: c.MaxNew, EndOfText: append([]int{}, c.EOS...),
			Params: sample.Params{NoRepeatNgram: c.Ngram, RepeatPenalty: c.Repeat,
				MinTokens: c.Min}}
		for _, ids := range c.Bad {
			o.Bias = append(o.Bias, sample.Bias{IDs: ids, Value: math.Inf(-1)})
		}
		if c.Decay != nil {
			o.LengthDecay = sample.LengthDecay{Start: int(c.Decay[0]), Factor: c.Decay[1]}
		}
		tokens := collect(t, m.NewSession(), c.Prompt, o)
		if got := ids(tokens); !slices.Equal(got, c.IDs) {
			t.Errorf("%+v: %v, want %v", c, got, c.IDs)
		}
	}
}
