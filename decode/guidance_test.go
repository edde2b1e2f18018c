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

// A session that was cut back has no logits, and its guide has tokens to evaluate.
func TestASessionThatHoldsThePromptIsGuided(t *testing.T) {
	m := tiny(t, fixture.Options{})
	o := Options{MaxTokens: 6, EndOfText: []int{},
		Params: sample.Params{Guidance: &sample.Guidance{Scale: 2, Negative: []int{3}}}}
	want := ids(collect(t, m.NewSession(), []int{1, 2}, o))
	s := m.NewSession()
	if err := m.Eval(t.Context(), model.Input{Session: s, Tokens: []int{1, 2, 4}}); err != nil {
		t.Fatal(err)
	}
	s.Truncate(2)
	if got := ids(collect(t, s, nil, o)); len(want) != 6 || !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
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
