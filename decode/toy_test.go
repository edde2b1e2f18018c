package decode

// Greedy texts of a toy model equal those of another program.

import (
	"slices"
	"testing"

	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/dev/toys"
	"picogpt/sample"
)

func TestGreedyIsHuggingFacesOnAToy(t *testing.T) {
	var cases []struct {
		Prompt    []int     `json:"prompt"`
		MaxNew    int       `json:"max_new"`
		EOS       []int     `json:"eos"`
		NoRepeat  int       `json:"no_repeat_ngram_size"`
		Penalty   float64   `json:"repetition_penalty"`
		MinNew    int       `json:"min_new_tokens"`
		Guidance  float64   `json:"guidance_scale"`
		Negative  []int     `json:"negative"`
		Decay     []float64 `json:"exponential_decay_length_penalty"`
		ForcedEOS []int     `json:"forced_eos_token_id"`
		IDs       []int     `json:"ids"`
	}
	if err := fixture.Decoding("toy_greedy", &cases); err != nil || len(cases) != 9 {
		t.Fatalf("%d cases, want 9: %v", len(cases), err)
	}
	m := testmodel.Toy(t)
	for _, c := range cases {
		o := Options{MaxTokens: c.MaxNew, EndOfText: append([]int{}, c.EOS...),
			Params: sample.Params{NoRepeatNgram: c.NoRepeat, RepeatPenalty: c.Penalty,
				MinTokens: c.MinNew}}
		if c.Decay != nil {
			o.LengthDecay = sample.LengthDecay{Start: int(c.Decay[0]), Factor: c.Decay[1]}
		}
		if c.Guidance != 0 {
			o.Guidance = &sample.Guidance{Scale: c.Guidance, Negative: c.Negative}
		}
		if c.ForcedEOS != nil {
			o.Constraint = &toys.EndAt{End: c.ForcedEOS[0], Left: c.MaxNew}
		}
		if got := ids(collect(t, m.NewSession(), c.Prompt, o)); !slices.Equal(got, c.IDs) {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
