package decode

import (
	"errors"
	"slices"
	"testing"

	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/model"
	"picogpt/sample"
)

func TestGuidanceIsHuggingFaces(t *testing.T) {
	var cases []struct {
		Prompt   []int `json:"prompt_ids"`
		IDs      []int
		MaxNew   int     `json:"max_new"`
		Scale    float64 `json:"guidance_scale"`
		Negative []int
	}
	if err := fixture.Decoding("greedy", &cases); err != nil {
		t.Fatal(err)
	}
	m, checked := testmodel.Demo(t, model.Options{}), 0
	for _, c := range cases {
		if c.Scale == 0 {
			continue
		}
		checked++
		o := Options{MaxTokens: c.MaxNew,
			Params: sample.Params{Guidance: &sample.Guidance{Scale: c.Scale, Negative: c.Negative}}}
		if got := ids(collect(t, m.NewSession(), c.Prompt, o)); !slices.Equal(got, c.IDs) {
			t.Errorf("%+v: %v", c, got)
		}
	}
	if checked < 2 {
		t.Errorf("%d answers about guidance, want 2", checked)
	}
}

// TestGuidanceIsTheSameInEveryWay samples with guidance alone, in a batch whose steps are short, as
// a sample, with guesses and where the contexts slide.
func TestGuidanceIsTheSameInEveryWay(t *testing.T) {
	m := tiny(t, fixture.Options{})
	for seed := range uint64(10) {
		o := Options{MaxTokens: 40, EndOfText: []int{}, Overflow: OverflowSlide,
			Params: sample.Params{Temperature: 1, Seed: seed,
				Guidance: &sample.Guidance{Scale: 2, Negative: []int{3, 1, 4, 1, 5}}}}
		prompt := []int{1, 2, 3, 4, 5, 6, 7, 8, 9}
		want := ids(collect(t, m.NewSession(), prompt, o))
		plain := o
		plain.Guidance = nil
		if slices.Equal(ids(collect(t, m.NewSession(), prompt, plain)), want) {
			t.Errorf("seed %d: guidance changes nothing", seed)
		}
		guesses := o
		guesses.Lookup, guesses.alwaysDraft = 4, true
		if got := ids(collect(t, m.NewSession(), prompt, guesses)); !slices.Equal(got, want) {
			t.Errorf("seed %d: with guesses %v, want %v", seed, got, want)
		}
		texts := make([][]int, 3)
		first := o
		first.Seed--
		for token, err := range InABatch(t, m, 2, prompt, 3, first) {
			if err != nil {
				t.Fatal(err)
			}
			texts[token.Sample] = append(texts[token.Sample], token.ID)
		}
		if !slices.Equal(texts[1], want) {
			t.Errorf("seed %d: in a batch %v, want %v", seed, texts[1], want)
		}
		var sample []int
		for token, err := range Samples(t.Context(), m.NewSession(), prompt, 2, first) {
			if err != nil {
				t.Fatal(err)
			}
			if token.Sample == 1 {
				sample = append(sample, token.ID)
			}
		}
		if !slices.Equal(sample, want) {
			t.Errorf("seed %d: as a sample %v, want %v", seed, sample, want)
		}
	}
}

func TestANegativePromptThatDoesNotFitIsRefused(t *testing.T) {
	m := tiny(t, fixture.Options{})
	long := make([]int, m.Config().Positions)
	_, err := NewStream(m.NewSession(), []int{1}, Options{MaxTokens: 5,
		Params: sample.Params{Guidance: &sample.Guidance{Scale: 2, Negative: long}}})
	var context *model.ContextError
	if !errors.As(err, &context) {
		t.Errorf("error %v, want a *model.ContextError", err)
	}
	_, err = NewStream(m.NewSession(), []int{1}, Options{
		Params: sample.Params{Guidance: &sample.Guidance{Scale: 2, Negative: []int{1, 9999}}}})
	if err == nil {
		t.Error("an id beyond the vocabulary is no error")
	}
	tokens := collect(t, m.NewSession(), []int{1}, Options{EndOfText: []int{},
		Params: sample.Params{Guidance: &sample.Guidance{Scale: 2, Negative: long[:len(long)-3]}}})
	if n := len(tokens); n != 4 || tokens[n-1].Finish != FinishLength {
		t.Errorf("%d tokens, want 4 until the other context is full", n)
	}
}
