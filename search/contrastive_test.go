package search

// Contrastive search chooses the tokens of Hugging Face's own code.

import (
	"context"
	"errors"
	"math"
	"reflect"
	"slices"
	"testing"

	"picogpt/decode"
	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/model"
	"picogpt/sample"
)

// collectContrast returns the tokens of a contrastive search.
func collectContrast(
	t *testing.T, s *model.Session, prompt []int, alpha float64, o decode.Options,
) []decode.Token {
	t.Helper()
	return collect(t, Contrastive(context.Background(), s, prompt, alpha, o))
}

func TestContrastiveSearchIsHuggingFacesOnTheDemo(t *testing.T) {
	cases.NotShort(t)
	var cases []struct {
		PromptIDs []int     `json:"prompt_ids"`
		MaxNew    int       `json:"max_new"`
		TopK      int       `json:"top_k"`
		Alpha     float64   `json:"penalty_alpha"`
		IDs       []int     `json:"ids"`
		Scores    []float64 `json:"scores"`
	}
	if err := fixture.Decoding("contrastive", &cases); err != nil {
		t.Fatal(err)
	}
	m := testmodel.Demo(t, model.Options{})
	for _, c := range cases {
		o := decode.Options{MaxTokens: c.MaxNew, EndOfText: []int{}, Params: sample.Params{TopK: c.TopK}}
		// A part of the prompt may be in the session.
		s := m.NewSession()
		if c.TopK == 6 {
			held := model.Input{Session: s, Tokens: c.PromptIDs[:2]}
			if err := m.Eval(context.Background(), held); err != nil {
				t.Fatal(err)
			}
		}
		got := collectContrast(t, s, c.PromptIDs[s.Len():], c.Alpha, o)
		if !slices.Equal(ids(got), c.IDs) {
			t.Errorf("top-k %d, alpha %v: %v, want %v", c.TopK, c.Alpha, ids(got), c.IDs)
			continue
		}
		for i, want := range c.Scores {
			if math.Abs(got[i].Score-want) > 1e-5 {
				t.Errorf("top-k %d, alpha %v: score %d is %v, want %v", c.TopK, c.Alpha, i,
					got[i].Score, want)
			}
		}
		held := slices.Concat(c.PromptIDs, c.IDs[:len(c.IDs)-1])
		if !slices.Equal(s.Tokens(), held) {
			t.Errorf("the session holds %v, want all but the last token", s.Tokens())
		}
	}
}

func TestContrastiveSearchWithoutPenaltyIsGreedy(t *testing.T) {
	m := tiny(t, fixture.Options{})
	o := decode.Options{Top: 2, Vocabulary: letters(29), Params: sample.Params{RepeatPenalty: 1.3}}
	for _, o.MaxTokens = range []int{0, 5, 20} {
		want := collect(t, decode.Generate(t.Context(), m.NewSession(), []int{3, 1, 4}, o))
		// A token that takes no position is not chosen: its hidden state is unknown.
		want = want[:min(len(want), 20)]
		want[len(want)-1].Finish = decode.FinishLength
		got := collectContrast(t, m.NewSession(), []int{3, 1, 4}, 0, o)
		for i := range got {
			got[i].Score = 0
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	}
}

func TestContrastiveSearchEndsAsGenerateDoes(t *testing.T) {
	m := tiny(t, fixture.Options{})
	prompt := []int{3, 1, 4}
	o := decode.Options{MaxTokens: 15, Vocabulary: letters(29)}
	free := collectContrast(t, m.NewSession(), prompt, 0.5, o)

	s := m.NewSession() // a break leaves all but the last
	for tok, err := range Contrastive(context.Background(), s, prompt, 0.5, o) {
		if err != nil {
			t.Fatal(err)
		}
		if tok.ID == free[4].ID {
			break
		}
	}
	first := slices.Index(ids(free), free[4].ID)
	if want := append(prompt, ids(free)[:first]...); !slices.Equal(s.Tokens(), want) {
		t.Errorf("after a break the session holds %v, want %v", s.Tokens(), want)
	}

	o.EndOfText = []int{free[6].ID}
	got := collectContrast(t, m.NewSession(), prompt, 0.5, o)
	if last := got[len(got)-1]; last.Finish != decode.FinishEndOfText || last.ID != free[6].ID {
		t.Errorf("the last token is %v, want the end of text %d", last, free[6].ID)
	}

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s, n := m.NewSession(), 0
	for _, err := range Contrastive(ctx, s, prompt, 0.5, decode.Options{MaxTokens: 15}) {
		if n++; n == 3 {
			cancel()
		}
		if (n == 4) != errors.Is(err, context.Canceled) || n > 4 {
			t.Errorf("token %d: error %v", n, err)
		}
	}
	if s.Len() != len(prompt)+2 {
		t.Errorf("after 3 tokens the session holds %d, want %d", s.Len(), len(prompt)+2)
	}
}

func TestContrastiveSearchRefusesWhatMakesNoSense(t *testing.T) {
	m := tiny(t, fixture.Options{})
	for _, c := range []struct {
		want  string
		alpha float64
		o     decode.Options
	}{
		{"contrastive alpha 1.5: want a number from 0 to 1", 1.5, decode.Options{}},
		{"contrastive alpha NaN: want a number from 0 to 1", math.NaN(), decode.Options{}},
		{"temperature 1: want 0 in contrastive search, which does not sample", 0.5,
			decode.Options{Params: sample.Params{Temperature: 1}}},
		{"prompt of 3 tokens and 21 new ones: context: 3 tokens and 21 more, want at most 23 " +
			"(n_positions)", 0.5, decode.Options{MaxTokens: 21}},
	} {
		s := m.NewSession()
		for _, err := range Contrastive(context.Background(), s, []int{1, 2, 3}, c.alpha, c.o) {
			if err == nil || err.Error() != c.want || s.Len() > 0 {
				t.Errorf("error %v, want %s", err, c.want)
			}
		}
	}
	o := decode.Options{MaxTokens: 21, Overflow: decode.OverflowTruncate}
	got := collectContrast(t, m.NewSession(), []int{1, 2, 3}, 0.5, o)
	if len(got) != 21 || got[0].Dropped != 1 {
		t.Errorf("%d tokens and %d dropped, want 21 and 1", len(got), got[0].Dropped)
	}
}
