package search

// Searches find the texts of Hugging Face's own code.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"picogpt/constrain"
	"picogpt/decode"
	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/dev/toys"
	"picogpt/model"
	"picogpt/sample"
)

// A wanted is a text that another program's search found.
type wanted struct {
	IDs   []int   `json:"ids"`
	Score float64 `json:"score"`
}

// A beamCase is a search and its answers.
type beamCase struct {
	Prompt    json.RawMessage `json:"prompt"`
	PromptIDs []int           `json:"prompt_ids"`
	MaxNew    int             `json:"max_new"`
	EOS       []int           `json:"eos"`

	Beams         int      `json:"num_beams"`
	Groups        int      `json:"num_beam_groups"`
	Diversity     float64  `json:"diversity_penalty"`
	LengthPenalty *float64 `json:"length_penalty"`
	EarlyStopping any      `json:"early_stopping"`
	Penalty       float64  `json:"repetition_penalty"`
	NoRepeat      int      `json:"no_repeat_ngram_size"`
	MinNew        int      `json:"min_new_tokens"`
	BadWords      [][]int  `json:"bad_words_ids"`

	Want  []wanted `json:"beams"`
	Evals int      `json:"evals"`
	Text  string   `json:"text"`
}

func (c *beamCase) String() string {
	return fmt.Sprintf("prompt %s, %d beams, %d groups, early stopping %v", c.Prompt, c.Beams,
		c.Groups, c.EarlyStopping)
}

// options returns the case's options.
func (c *beamCase) options() (BeamOptions, decode.Options) {
	b := BeamOptions{Beams: c.Beams, Return: c.Beams, LengthPenalty: 1, Groups: c.Groups,
		Diversity: c.Diversity}
	if c.LengthPenalty != nil {
		b.LengthPenalty = *c.LengthPenalty
	}
	if c.EarlyStopping != nil {
		b.EarlyStopping = EarlyStopping(fmt.Sprint(c.EarlyStopping))
	}
	o := decode.Options{MaxTokens: c.MaxNew, EndOfText: append([]int{}, c.EOS...),
		Params: sample.Params{RepeatPenalty: c.Penalty, NoRepeatNgram: c.NoRepeat,
			MinTokens: c.MinNew}}
	for _, ids := range c.BadWords {
		o.Bias = append(o.Bias, sample.Bias{IDs: ids, Value: math.Inf(-1)})
	}
	return b, o
}

// check compares the texts that were found.
func (c *beamCase) check(t *testing.T, got []Beam) {
	t.Helper()
	if len(got) != len(c.Want) {
		t.Fatalf("%v: %d texts, want %d", c, len(got), len(c.Want))
	}
	for i, want := range c.Want {
		if !slices.Equal(ids(got[i].Tokens), want.IDs) {
			t.Errorf("%v: text %d: %v, want %v", c, i, ids(got[i].Tokens), want.IDs)
		}
		if math.Abs(got[i].Score-want.Score) > 1e-5 {
			t.Errorf("%v: text %d: score %v, want %v", c, i, got[i].Score, want.Score)
		}
	}
}

func TestBeamSearchIsHuggingFacesOnTheDemo(t *testing.T) {
	cases.NotShort(t)
	m := testmodel.Demo(t, model.Options{})
	tok := demoTokenizer(t)
	for _, key := range []string{"beam", "group_beam"} {
		var known []beamCase
		if err := fixture.Decoding(key, &known); err != nil {
			t.Fatal(err)
		}
		for i, c := range known {
			b, o := c.options()
			if !cases.Long && c.Beams == 8 && i%3 != 0 {
				continue
			}
			o.Vocabulary = tok
			s := m.NewSession()
			got, err := Beams(context.Background(), s, c.PromptIDs, b, o)
			if err != nil {
				t.Fatal(err)
			}
			c.check(t, got)
			if got[0].Tokens[len(got[0].Tokens)-1].Finish == decode.FinishLength && got[0].Text() != c.Text {
				t.Errorf("%v: text %q, want %q", &c, got[0].Text(), c.Text)
			}
			if !slices.Equal(s.Tokens(), c.PromptIDs) {
				t.Errorf("%v: the session holds %v, want the prompt", &c, s.Tokens())
			}
		}
	}
}

// afterEach biases one of ten ids after each of them.
func afterEach(id int, x float64) (all []sample.Bias) {
	for first := range 10 {
		all = append(all, sample.Bias{IDs: []int{first, (first + id) % 10}, Value: x})
	}
	return all
}

func TestOneBeamIsWhatGenerateGives(t *testing.T) {
	never := []sample.Bias{{IDs: []int{6, 7, 8}, Value: math.Inf(-1)}}
	for _, m := range []*model.Model{tiny(t, fixture.Options{}), testmodel.Toy(t)} {
		for _, o := range []decode.Options{
			{MaxTokens: 15}, {MaxTokens: 15, EndOfText: []int{8, 9}},
			{Params: sample.Params{Temperature: 1.3, Seed: 4}}, {Params: sample.Params{Temperature: 0.9,
				TopK: 5, TopP: 0.9, Seed: 5}},
			{Params: sample.Params{NoRepeatNgram: 2, MinTokens: 7, Bias: never}},
			{Params: sample.Params{SequenceBias: afterEach(7, 4)}},
			{Params: sample.Params{Guidance: &sample.Guidance{Scale: 1.7, Negative: []int{2, 7}}}},
			{EndOfText: []int{5}, Constraint: &toys.EndAt{End: 5, Left: 9}},
		} {
			if o.MaxTokens == 0 {
				o.MaxTokens = 12
			}
			want := collect(t, decode.Generate(t.Context(), m.NewSession(), []int{3, 1, 4}, o))
			got, err := Beams(context.Background(), m.NewSession(), []int{3, 1, 4}, BeamOptions{}, o)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got[0].Tokens, want) {
				t.Errorf("%+v: %v, want %v", o, got[0].Tokens, want)
			}
		}
	}
}

// TestStopStringsEndBeams also checks the text: a beam's is cut as a stream's is.
func TestStopStringsEndBeams(t *testing.T) {
	m := tiny(t, fixture.Options{})
	o := decode.Options{MaxTokens: 12, Vocabulary: letters(29), EndOfText: []int{}, Top: 2}
	b := BeamOptions{Beams: 4, Return: 4, LengthPenalty: 1}
	free, err := Beams(context.Background(), m.NewSession(), []int{3}, b, o)
	if err != nil {
		t.Fatal(err)
	}
	stop := free[0].Text()[3:5]
	o.Stop = []string{stop}
	stopped, err := Beams(context.Background(), m.NewSession(), []int{3}, b, o)
	if err != nil {
		t.Fatal(err)
	}
	ended := 0
	for _, h := range stopped {
		last := h.Tokens[len(h.Tokens)-1]
		if strings.Contains(h.Text(), stop) {
			t.Errorf("text %q contains the stop string %q", h.Text(), stop)
		}
		if last.Finish == decode.FinishStop {
			ended++
		}
		sum := 0.0
		for _, tok := range h.Tokens {
			sum += tok.LogProb
			if len(tok.Top) != 2 {
				t.Errorf("token %d has %d alternatives, want 2", tok.ID, len(tok.Top))
			}
		}
		if want := sum / float64(len(h.Tokens)); math.Abs(h.Score-want) > 1e-6 {
			t.Errorf("score %v, want %v", h.Score, want)
		}
	}
	if ended == 0 {
		t.Errorf("none of %d texts ended with %q", len(stopped), stop)
	}
}

// TestBeamsAreDrawnWithoutReplacement compares how often candidates come first with their
// probabilities.
func TestBeamsAreDrawnWithoutReplacement(t *testing.T) {
	probs := []float64{0.5, 0.05, 0.3, 0.15}
	var all []candidate
	for id, p := range probs {
		all = append(all, candidate{id: id, sum: math.Log(p) - 7})
	}
	s := &beamSearch{BeamOptions: BeamOptions{Beams: 2, Groups: 1}, ends: []int{0, 1}}
	g := &group{beamSearch: s, size: 2}
	s.random.Seed(1, 1)
	const n = 20000
	var first, second [4]float64
	for range n {
		drawn := g.draw(all)
		taken := map[int]bool{}
		for _, c := range drawn {
			taken[c.id] = true
		}
		if len(drawn) != 4 || len(taken) != 4 { // wide is 6
			t.Fatalf("drew %v, want each of 4 once", drawn)
		}
		first[drawn[0].id]++
		second[drawn[1].id]++
	}
	for id, p := range probs {
		after := 0.0
		for other, q := range probs {
			if other != id {
				after += q * p / (1 - q)
			}
		}
		if math.Abs(first[id]/n-p) > 0.012 || math.Abs(second[id]/n-after) > 0.012 {
			t.Errorf("id %d: first in %v, want %v; second in %v, want %v", id, first[id]/n, p,
				second[id]/n, after)
		}
	}
}

// TestSampledBeamsFollowTheSeed also checks that seeds differ, and that filters apply.
func TestSampledBeamsFollowTheSeed(t *testing.T) {
	m := tiny(t, fixture.Options{})
	b := BeamOptions{Beams: 3, Return: 3, LengthPenalty: 1}
	texts := map[string]int{}
	for seed := range uint64(8) {
		o := decode.Options{MaxTokens: 8, Params: sample.Params{Temperature: 1.5, TopK: 3, Seed: seed / 2}}
		got, err := Beams(context.Background(), m.NewSession(), []int{3}, b, o)
		if err != nil {
			t.Fatal(err)
		}
		texts[fmt.Sprint(got)]++
		s := m.NewSession()
		for _, h := range got {
			before := []int{3}
			for _, tok := range h.Tokens {
				s.Truncate(0)
				if err := m.Eval(context.Background(),
					model.Input{Session: s, Tokens: before}); err != nil {
					t.Fatal(err)
				}
				if !slices.Contains(sample.Likeliest(s.Logits(), 3), tok.ID) {
					t.Errorf("id %d after %v is not among the 3 likeliest", tok.ID, before)
				}
				before = append(before, tok.ID)
			}
		}
	}
	if len(texts) < 3 {
		t.Errorf("4 seeds gave %d results, want variety", len(texts))
	}
	for text, n := range texts {
		if n%2 != 0 {
			t.Errorf("a seed gave two results, one of them %s", text)
		}
	}
}

func TestSearchesRefuseWhatMakesNoSense(t *testing.T) {
	m := tiny(t, fixture.Options{})
	for _, c := range []struct {
		want string
		b    BeamOptions
		o    decode.Options
	}{
		{"beams -1: want 1 to 256", BeamOptions{Beams: -1}, decode.Options{}},
		{"beams 257: want 1 to 256", BeamOptions{Beams: 257}, decode.Options{}},
		{"return 3: want 1 to 2, the number of beams", BeamOptions{Beams: 2, Return: 3}, decode.Options{}},
		{"length penalty NaN: want a finite number", BeamOptions{LengthPenalty: math.NaN()},
			decode.Options{}},
		{"beam groups 2: want a divisor of 3, the number of beams",
			BeamOptions{Beams: 3, Groups: 2}, decode.Options{}},
		{"diversity -1: want 0 or a finite number above it", BeamOptions{Diversity: -1}, decode.Options{}},
		{"diversity 1: want 2 or more beam groups for it", BeamOptions{Beams: 2, Diversity: 1},
			decode.Options{}},
		{`early stopping "no": want "true", "false" or "never"`, BeamOptions{EarlyStopping: "no"},
			decode.Options{}},
		{"temperature -1: want 0 (greedy) or a finite number above it", BeamOptions{},
			decode.Options{Params: sample.Params{Temperature: -1}}},
		{"temperature 1: want 0 with beam groups, which do not sample",
			BeamOptions{Beams: 2, Groups: 2}, decode.Options{Params: sample.Params{Temperature: 1}}},
		{`overflow "slide": want "error" or "truncate" in a search, whose texts end with the context`,
			BeamOptions{}, decode.Options{Overflow: decode.OverflowSlide}},
	} {
		s := m.NewSession()
		_, err := Beams(context.Background(), s, []int{1}, c.b, c.o)
		var mistake *sample.OptionError
		if !errors.As(err, &mistake) || err.Error() != c.want || s.Len() > 0 {
			t.Errorf("error %v, want the OptionError %s, and nothing done", err, c.want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Beams(ctx, m.NewSession(), []int{1}, BeamOptions{},
		decode.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled search: %v", err)
	}
}

// TestFiltersLeaveEachBeamOneIDMoreThanEndsIt: as Hugging Face's min_tokens_to_keep.
func TestFiltersLeaveEachBeamOneIDMoreThanEndsIt(t *testing.T) {
	m := testmodel.Toy(t)
	for _, ends := range [][]int{{}, {0}, {0, 5}} {
		o := decode.Options{MaxTokens: 1, EndOfText: ends, Params: sample.Params{Temperature: 1, TopK: 1}}
		b := BeamOptions{Beams: 4, Return: 4}
		got, err := Beams(t.Context(), m.NewSession(), []int{3}, b, o)
		if err != nil {
			t.Fatal(err)
		}
		if want := max(2, 1+len(ends)); len(got) != want {
			t.Errorf("%d ids end texts: top-k 1 left %d, want %d", len(ends), len(got), want)
		}
	}
}

// A forking constraint allows everything, and counts its forks.
type forking struct{ forks *int }

func (f forking) Mask(open []uint64) error {
	for i := range open {
		open[i] = ^uint64(0)
	}
	return nil
}

func (f forking) Accept(int) error        { return nil }
func (f forking) Rewind(int) error        { return nil }
func (f forking) Fork() constrain.Matcher { *f.forks++; return f }

// TestBeamsForkFewOfManyEnds has a vocabulary of which nearly all ids end the text: only texts that
// may be kept are forked.
func TestBeamsForkFewOfManyEnds(t *testing.T) {
	m := tiny(t, fixture.Options{Vocab: 2000})
	o := decode.Options{MaxTokens: 3, Constraint: forking{new(int)}}
	for id := range 1998 {
		o.EndOfText = append(o.EndOfText, id)
	}
	if _, err := Beams(t.Context(), m.NewSession(), []int{1}, BeamOptions{Beams: 3}, o); err != nil {
		t.Fatal(err)
	}
	if forks := *o.Constraint.(forking).forks; forks > 40 {
		t.Errorf("%d forks in 3 steps of 3 beams", forks)
	}
}
