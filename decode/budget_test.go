package decode

// Budgets: the texts of forms end in time, and what tells of it.

import (
	"errors"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"picogpt/constrain"
	"picogpt/decode/guess"
	"picogpt/dev/testmodel"
	"picogpt/model"
	"picogpt/sample"
	"picogpt/tokenizer"
)

// budgetSamplers are of each kind that may leave few ids.
var budgetSamplers = []sample.Params{
	{}, {Temperature: 0.7}, {Temperature: 1.5, TopK: 3}, {Temperature: 1.5, TopP: 0.3, MinP: 0.1},
	{Temperature: 1, Mirostat: sample.Mirostat{Version: 2, Tau: 3, Eta: 0.1}},
	{Temperature: 1, XTCProbability: 0.9, XTCThreshold: 0.05, RepeatPenalty: 1.4},
	{Temperature: 2, Typical: 0.5, DRY: sample.DRY{Multiplier: 0.8, Base: 1.75, AllowedLength: 2}},
}

// TestFormsEndWithinMaxTokens: with any sampler, drafted by lookup and by a model, forked and healed.
func TestFormsEndWithinMaxTokens(t *testing.T) {
	m, tok := testmodel.Demo(t, model.Options{}), tokenizer.GPT2()
	const schema = `{"type":"object","properties":{"name":{"type":"string"},"tags":{"type":"array",
		"items":{"type":"string","minLength":3},"minItems":1},"n":{"type":"number"}},"required":["name","tags"]}`
	c, err := constrain.JSONSchema(gpt2(), []byte(schema), constrain.SchemaOptions{})
	form := started(t, c, err)
	ids, err := tok.Encode("The little gi")
	if err != nil {
		t.Fatal(err)
	}
	narrowed := 0
	for i, params := range budgetSamplers {
		most := 16 + 7*i
		o := Options{Vocabulary: tok, Constraint: form, MaxTokens: most, Params: params}
		o.Seed = uint64(most)
		want := collect(t, m.NewSession(), ids, o)
		for _, token := range want {
			if token.Narrowed {
				narrowed++
			}
		}
		if last := want[len(want)-1]; last.Finish == FinishLength || last.Incomplete {
			t.Errorf("%d tokens: %q ends by %s", most, text(want), last.Finish)
		}
		lookup, draft := o, o
		lookup.Lookup, draft.Draft = 4, &guess.Model{Model: m}
		for _, guessing := range []Options{lookup, draft} {
			guessing.alwaysDraft = true
			if got := collect(t, m.NewSession(), ids, guessing); !same(got, want) {
				t.Errorf("%d tokens: with guesses %q, without %q", most, text(got), text(want))
			}
		}
		st, err := NewStream(m.NewSession(), ids, o)
		if err != nil {
			t.Fatal(err)
		}
		var got []Token
		for !st.Done() {
			st = st.Fork()
			if in, ok := st.Input(0); ok {
				if err := m.Eval(t.Context(), in); err != nil {
					t.Fatal(err)
				}
			}
			token, ok, err := st.Next()
			if err != nil {
				t.Fatal(err)
			}
			if ok {
				got = append(got, token)
			}
		}
		if !same(got, want) {
			t.Errorf("%d tokens: forked %q, else %q", most, text(got), text(want))
		}
		healed := o
		healed.Healing = NewHealing(gpt2Bytes(t), ids, 0)
		if last := collect(t, m.NewSession(), healed.Healing.Prompt, healed); last[len(last)-1].Incomplete {
			t.Errorf("%d tokens, healed: %q is cut", most, text(last))
		}
	}
	if narrowed == 0 {
		t.Error("no mask was narrowed")
	}
}

func same(got, want []Token) bool {
	return slices.EqualFunc(got, want, func(a, b Token) bool {
		return a.ID == b.ID && a.LogProb == b.LogProb && a.Narrowed == b.Narrowed && a.Kept == b.Kept &&
			a.Finish == b.Finish
	})
}

// TestABudgetThatHoldsNoTextIsAnError names a number that suffices, of MaxTokens and of the context.
func TestABudgetThatHoldsNoTextIsAnError(t *testing.T) {
	m := testmodel.Demo(t, model.Options{})
	o := Options{Vocabulary: tokenizer.GPT2(), Constraint: regex(t, "[0-9]{9}x"), MaxTokens: 2}
	_, err := NewStream(m.NewSession(), []int{0}, o)
	short, ok := errors.AsType[*BudgetError](err)
	if !ok || short.Tokens != 2 || !short.Sent {
		t.Fatalf("%v", err)
	}
	o.MaxTokens = short.Least
	tokens := collect(t, m.NewSession(), []int{0}, o)
	if last := tokens[len(tokens)-1]; len(tokens) != short.Least || last.Finish != FinishStop {
		t.Errorf("%q in %d tokens, %s; want %d and stop", text(tokens), len(tokens), last.Finish,
			short.Least)
	}
	full := make([]int, m.Config().Positions)
	for o.MaxTokens = 0; ; full = full[1:] {
		_, err := NewStream(m.NewSession(), full, o)
		if left := m.Config().Positions - len(full) + 1; left == short.Least {
			if err != nil {
				t.Errorf("with room for %d tokens: %v", left, err)
			}
			break
		}
		if short, ok := errors.AsType[*BudgetError](err); !ok || short.Sent {
			t.Errorf("%d ids: %v", len(full), err)
		}
	}
	o.MayCut, o.MaxTokens = true, 2
	if tokens := collect(t, m.NewSession(), []int{0}, o); tokens[1].Finish != FinishLength ||
		!tokens[1].Incomplete || tokens[0].Narrowed {
		t.Errorf("by the letter: %+v", tokens)
	}
}

// TestBansOutrankTheBudget: where they leave nothing that ends in time, the text is cut, and its last
// token names them.
func TestBansOutrankTheBudget(t *testing.T) {
	m := testmodel.Demo(t, model.Options{})
	o := Options{Vocabulary: tokenizer.GPT2(), Constraint: regex(t, "[a-w]+x"), MaxTokens: 9}
	for id, text := range gpt2Bytes(t) {
		if regexp.MustCompile("x$").Match(text) {
			o.Bias = append(o.Bias, sample.Bias{IDs: []int{id}, Value: math.Inf(-1)})
		}
	}
	tokens := collect(t, m.NewSession(), []int{0}, o)
	if last := tokens[len(tokens)-1]; last.Finish != FinishLength || last.Outranked == "" {
		t.Errorf("%q: %+v", text(tokens), last)
	}
}

// TestKeptIsTheShareOfTheForm: at a temperature, of what the form leaves.
func TestKeptIsTheShareOfTheForm(t *testing.T) {
	r := sample.WholeRow([]float32{1, 2, 3, 4}, testmodel.Demo(t, model.Options{}).Leaves())
	e := func(x float64) float64 { return math.Exp(x / 2) }
	if got, want := r.Share([]uint64{0b0011}, []uint64{0b0100}, 2), (e(1)+e(2))/(e(1)+e(2)+e(3)); math.Abs(
		got-want) > 1e-12 {
		t.Errorf("%v, want %v", got, want)
	}
	if a, b := r.Share([]uint64{3}, []uint64{4}, 0), r.Share([]uint64{4}, []uint64{3}, 0); a != 0 || b != 1 {
		t.Errorf("at temperature 0: %v and %v, want 0 and 1", a, b)
	}
}

// TestADefaultOfMaxTokensIsNoBudget: a text has fewer tokens where the context has no room for so
// many, nothing of the prompt is dropped for it, and a form has what it needs.
func TestADefaultOfMaxTokensIsNoBudget(t *testing.T) {
	for _, c := range []struct {
		overflow      Overflow
		prompt, most  int
		want, dropped int // of 9 positions
	}{
		{OverflowError, 4, 3, 3, 0},
		{OverflowError, 4, 6, 6, 0},
		{OverflowError, 4, 99, 6, 0},
		{OverflowError, 9, 99, 1, 0},
		{OverflowError, 4, 0, 0, 0},
		{OverflowTruncate, 4, 99, 6, 0},
		{OverflowTruncate, 8, 9, 2, 0},
		{OverflowTruncate, 20, 3, 3, 16}, // as without MaxTokens
		{OverflowTruncate, 20, 99, 6, 16},
		{OverflowSlide, 4, 99, 99, 0},
	} {
		o := Options{MaxTokens: c.most, Unasked: true, Overflow: c.overflow}
		st, err := newStream(limits{context: 9, vocabulary: 9}, nil, make([]int, c.prompt), o)
		if err != nil || st.options.MaxTokens != c.want || st.dropped != c.dropped {
			t.Errorf("%+v: %v, %+v", c, err, st)
		}
		if o.Unasked = false; c.overflow == OverflowError && c.want < c.most {
			if _, err := newStream(limits{context: 9, vocabulary: 9}, nil, make([]int, c.prompt),
				o); err == nil {
				t.Errorf("%+v: what is asked for has room", c)
			}
		}
	}
	if _, err := newStream(limits{context: 9, vocabulary: 9}, nil, make([]int, 10),
		Options{MaxTokens: 5, Unasked: true}); err == nil {
		t.Error("a prompt that is too long is accepted")
	}

	m, tok := testmodel.Demo(t, model.Options{}), tokenizer.GPT2()
	c, err := constrain.Regex(gpt2(), "(Lily and ){9}Tim")
	form := started(t, c, err)
	o := Options{Vocabulary: tok, Constraint: form, MaxTokens: 3}
	if _, err := NewStream(m.NewSession(), []int{1}, o); err == nil {
		t.Error("a budget of 3 tokens holds the form")
	}
	o.Unasked = true
	if got := text(collect(t, m.NewSession(), []int{1}, o)); !strings.HasSuffix(got, "Tim") {
		t.Errorf("%q, want all of the form", got)
	}
	o.MayCut = true
	if got := collect(t, m.NewSession(), []int{1}, o); len(got) != 3 {
		t.Errorf("%d tokens, want 3", len(got))
	}

	o = Options{MaxTokens: 2000, Unasked: true}
	o.Guidance = &sample.Guidance{Scale: 2, Negative: make([]int, m.Config().Positions-2)}
	if got := collect(t, m.NewSession(), []int{1}, o); len(got) != 3 {
		t.Errorf("%d tokens beside a long context, want 3", len(got))
	}
	o.Guidance.Negative = make([]int, m.Config().Positions+1)
	if _, err := NewStream(m.NewSession(), []int{1}, o); err == nil {
		t.Error("a negative that is too long is accepted")
	}
}
