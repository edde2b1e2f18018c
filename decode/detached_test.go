package decode_test

import (
	"context"
	"strings"
	"testing"

	"picogpt/decode"
	"picogpt/decode/guess"
	"picogpt/dev/fixture"
	"picogpt/model"
	"picogpt/sample"
)

// A detached stream is Generate but for where the logits come from: here each is of a session of
// its own. The context slides on the way.
func TestADetachedStreamChoosesAsGenerateDoes(t *testing.T) {
	m := tiny(t, fixture.Options{})
	o := decode.Options{MaxTokens: 40, Overflow: decode.OverflowSlide, EndOfText: []int{}, Top: 2}
	o.Temperature, o.Seed, o.TopK, o.RepeatPenalty = 1, 7, 9, 1.3
	want := collect(t, m.NewSession(), []int{1, 2, 17}, o)
	st, err := decode.NewDetached(m.Config(), []int{1, 2, 17}, o)
	if err != nil {
		t.Fatal(err)
	}
	var got []decode.Token
	for !st.Done() {
		s := m.NewSession()
		err := m.Eval(context.Background(), model.Input{Session: s, Tokens: st.Context()})
		if err != nil {
			t.Fatal(err)
		}
		tok, err := st.Push(s.Logits())
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, tok)
		s.Release()
	}
	if len(want) != 40 || !same(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestADetachedStreamRefusesWhatNeedsASession(t *testing.T) {
	c := tiny(t, fixture.Options{}).Config()
	for name, o := range map[string]decode.Options{
		"ban": {Ban: []string{"a"}}, "echo": {Echo: decode.EchoPrompt}, "lookup": {Lookup: 3},
		"draft":    {Draft: &guess.Model{}},
		"guidance": {Params: sample.Params{Guidance: &sample.Guidance{Scale: 2}}},
	} {
		if _, err := decode.NewDetached(c, []int{1}, o); err == nil ||
			!strings.Contains(err.Error(), "which need a session") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := decode.NewDetached(c, make([]int, 24), decode.Options{}); err == nil {
		t.Error("24 tokens in a context of 23: no error")
	}
}
