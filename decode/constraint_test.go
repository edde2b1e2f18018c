package decode

// Texts under a constraint fit it, however they are chosen; and what the model gives to the form.

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"picogpt/constrain"
	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/model"
	"picogpt/sample"
	"picogpt/tokenizer"
)

// gpt2 is the demo checkpoint's vocabulary, arranged once.
var gpt2 = sync.OnceValue(func() *constrain.Vocabulary {
	tokens, err := tokenizer.GPT2().Bytes()
	if err != nil {
		panic(err)
	}
	v, err := constrain.NewVocabulary(tokens, constrain.VocabularyOptions{Ends: []int{50256}})
	if err != nil {
		panic(err)
	}
	return v
})

var (
	_ quick   = (*constrain.Text)(nil)
	_ forcing = (*constrain.Text)(nil)
)

func started(t *testing.T, c *constrain.Constraint, err error) constrain.Matcher {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.Start()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func regex(t *testing.T, re string) constrain.Matcher {
	t.Helper()
	c, err := constrain.Regex(gpt2(), re)
	return started(t, c, err)
}

// joined returns the text of tokens and how it ended.
func joined(tokens []Token) (text, finish string) {
	for _, t := range tokens {
		text += t.Text
		finish = t.Finish
	}
	return text, finish
}

func allTokens(t *testing.T, seq func(func(Token, error) bool)) (tokens []Token) {
	t.Helper()
	for token, err := range seq {
		if err != nil {
			t.Fatal(err)
		}
		tokens = append(tokens, token)
	}
	return tokens
}

func TestTextsFitTheirConstraint(t *testing.T) {
	m := testmodel.Demo(t, model.Options{})
	tok := tokenizer.GPT2()
	prompt, err := tok.Encode("Once upon a time")
	if err != nil {
		t.Fatal(err)
	}
	const re = `,? (there|a) [a-z ]{3,20}, [A-Z][a-z]{2,5}\.`
	judge := regexp.MustCompile(`^(?:` + re + `)$`)
	o := Options{Vocabulary: tok, Constraint: regex(t, re), MaxTokens: 60}
	ctx := context.Background()
	texts := map[string][]Token{
		"greedy": allTokens(t, Generate(ctx, m.NewSession(), prompt, o)),
	}
	wild := o
	wild.Temperature, wild.Seed = 2, 3
	samples := map[int][]Token{}
	for token, err := range Samples(ctx, m.NewSession(), prompt, 3, wild) {
		if err != nil {
			t.Fatal(err)
		}
		samples[token.Sample] = append(samples[token.Sample], token)
	}
	texts["sample 0"], texts["sample 2"] = samples[0], samples[2]
	guessed := wild
	guessed.Lookup, guessed.alwaysDraft = 4, true
	texts["sample 0 with lookup"] = allTokens(t, Generate(ctx, m.NewSession(), prompt, guessed))
	for name, tokens := range texts {
		if text, finish := joined(tokens); !judge.MatchString(text) || finish != FinishEndOfText {
			t.Errorf("%s: %q, %s: does not match", name, text, finish)
		}
	}
	one, _ := joined(texts["sample 0"])
	if two, _ := joined(texts["sample 0 with lookup"]); one != two {
		t.Errorf("%q, with guesses %q", one, two)
	}
	if mask := make([]uint64, gpt2().Words()); o.Constraint.Mask(mask) != nil ||
		mask[0]>>11&1 == 0 { // the comma's id
		t.Errorf("the matcher of the options has moved on")
	}
}

func TestJSONUnderASchema(t *testing.T) {
	m := testmodel.Demo(t, model.Options{})
	const schema = `{"type":"object","properties":{"name":{"type":"string","maxLength":12},
		"age":{"type":"integer","minimum":0,"maximum":99}},"required":["name","age"],
		"additionalProperties":false}`
	c, err := constrain.JSONSchema(gpt2(), []byte(schema), constrain.SchemaOptions{})
	o := Options{Vocabulary: tokenizer.GPT2(), Constraint: started(t, c, err), MaxTokens: 60}
	for seed := range 5 {
		o.Temperature, o.Seed = float64(seed%3), uint64(seed)
		text, finish := joined(allTokens(t, Generate(context.Background(), m.NewSession(), []int{0}, o)))
		var v struct {
			Name *string
			Age  *int
		}
		if err := json.Unmarshal([]byte(text), &v); err != nil || v.Name == nil || v.Age == nil ||
			*v.Age > 99 || finish != FinishEndOfText {
			t.Errorf("%q, %s: %v", text, finish, err)
		}
	}
}

func TestATextThatEndsTooEarlyIsIncomplete(t *testing.T) {
	m := testmodel.Demo(t, model.Options{})
	for re, want := range map[string]bool{"a{40}": true, "a{3}.*": false} {
		o := Options{Vocabulary: tokenizer.GPT2(), Constraint: regex(t, re), MaxTokens: 3,
			MayCut: true}
		tokens := allTokens(t, Generate(context.Background(), m.NewSession(), []int{0}, o))
		if last := tokens[len(tokens)-1]; last.Incomplete != want || tokens[0].Incomplete {
			t.Errorf("%s: %q, incomplete %v, want %v", re, last.Text, last.Incomplete, want)
		}
	}
}

// The vocabulary of the constraint knows one end, and the options others.
func TestTheOptionsSayWhichIdsEndAForm(t *testing.T) {
	m := testmodel.Demo(t, model.Options{})
	const dot, comma, newline = 13, 11, 198
	for _, c := range []struct {
		re         string
		ends       []int
		finish     string
		last       []int
		incomplete bool
	}{
		{"[a-z]{2,4}", nil, FinishEndOfText, []int{50256}, false},
		{"[a-z]{2,4}", []int{newline}, FinishEndOfText, []int{newline}, false},
		{"[a-z .]{2,4}", []int{dot, comma}, FinishEndOfText, []int{dot, comma}, false},
		{"[a-z]{2,4}", []int{}, FinishStop, nil, false},
		{"Lily|Lily and Tom", []int{}, FinishStop, nil, false}, // more may follow
		{"Lily[a-d]*", []int{}, FinishLength, nil, false},
		{"[a-z]{900}x", []int{}, FinishLength, nil, true},
		{"[a-z]{900}x", []int{newline}, FinishLength, nil, true},
	} {
		judge := regexp.MustCompile(`^(` + c.re + `)$`)
		for seed := range uint64(sized(2, 6)) {
			o := Options{Vocabulary: tokenizer.GPT2(), Constraint: regex(t, c.re), MaxTokens: 20,
				EndOfText: c.ends, Params: sample.Params{Temperature: float64(seed), Seed: seed}}
			tokens := allTokens(t, Generate(context.Background(), m.NewSession(), []int{0}, o))
			text, finish := joined(tokens)
			last := tokens[len(tokens)-1]
			if finish != c.finish || c.last != nil && !slices.Contains(c.last, last.ID) ||
				last.Incomplete != c.incomplete || !c.incomplete && !judge.MatchString(text) {
				t.Errorf("%s, ends %v: %q, %s with id %d, incomplete %v; want %s, one of %v, %v",
					c.re, c.ends, text, finish, last.ID, last.Incomplete, c.finish, c.last,
					c.incomplete)
			}
		}
	}
}

// A stuck constraint opens nothing, or returns an error.
type stuck struct{ err error }

func (s stuck) Mask(open []uint64) error { clear(open); return s.err }
func (s stuck) Accept(int) error         { return s.err }
func (s stuck) Rewind(int) error         { return nil }
func (s stuck) Fork() constrain.Matcher  { return s }

func TestAConstraintThatIsStuckIsAnError(t *testing.T) {
	m := testmodel.Demo(t, model.Options{})
	for _, c := range []struct {
		constraint stuck
		want       string
	}{
		{stuck{}, "logits after position 0: want at least one id to draw, found none: constraint " +
			"leaves none"},
		{stuck{errors.New("too much")}, "constraint: too much"},
	} {
		o := Options{Vocabulary: tokenizer.GPT2(), Constraint: c.constraint}
		var failed error
		for _, err := range Generate(context.Background(), m.NewSession(), []int{0}, o) {
			failed = err
		}
		if failed == nil || !strings.Contains(failed.Error(), c.want) {
			t.Errorf("%v, want %q", failed, c.want)
		}
	}
}

func TestTheBytesOfATokenizer(t *testing.T) {
	all, err := tokenizer.GPT2().Bytes()
	if err != nil || len(all) != 50257 || all[50256] != nil || string(all[995]) != " world" {
		t.Errorf("%d ids, the last %q, %v", len(all), all[50256], err)
	}
	if i := slices.IndexFunc(all[:50256], func(b []byte) bool { return len(b) == 0 }); i >= 0 {
		t.Errorf("id %d has no bytes", i)
	}
}

// Token.Open is what the model gives to the ids that the form leaves open.

func TestTheOpenMassIsTheModels(t *testing.T) {
	cases.NotShort(t)
	m := testmodel.Demo(t, model.Options{})
	tok := tokenizer.GPT2()
	prompt, err := tok.Encode("The cat")
	if err != nil {
		t.Fatal(err)
	}
	for _, re := range []string{` [a-z]{2,9} [a-z]+\.`, `[^q]{3,30}`, " was"} {
		o := Options{Vocabulary: tok, Constraint: regex(t, re), OpenMass: true, MaxTokens: 8,
			Params: sample.Params{Temperature: 1.5, Seed: 3, RepeatPenalty: 1.2}}
		tokens := allTokens(t, Generate(context.Background(), m.NewSession(), prompt, o))
		o.OpenMass, o.Lookup, o.alwaysDraft = false, 0, false
		for i, plain := range allTokens(t, Generate(context.Background(), m.NewSession(), prompt, o)) {
			if plain.ID != tokens[i].ID || plain.Open != 0 {
				t.Errorf("%s: token %d is %d with mass %v, want %d without", re, i, plain.ID, plain.Open,
					tokens[i].ID)
			}
		}
		form, s := regex(t, re), m.NewSession()
		mask := make([]uint64, gpt2().Words())
		after := prompt
		for i, token := range tokens {
			if err := m.Eval(context.Background(), model.Input{Session: s, Tokens: after}); err != nil {
				t.Fatal(err)
			}
			if err := form.Mask(mask); err != nil {
				t.Fatal(err)
			}
			open, all := 0.0, 0.0
			for id, x := range s.Logits() {
				p := math.Exp(float64(x))
				all += p
				if mask[id>>6]>>(id&63)&1 == 1 {
					open += p
				}
			}
			if want := open / all; math.Abs(token.Open-want) > 1e-9*want+1e-12 || want == 0 {
				t.Errorf("%s: token %d (%q): open %v, want %v", re, i, token.Text, token.Open, want)
			}
			if err := form.Accept(token.ID); err != nil {
				t.Fatal(err)
			}
			after = []int{token.ID}
		}
	}
}

// Where no id is left, every way to generate a text returns the error.

// TestALateStepThatLeavesNoIDIsAnErrorEverywhere has a step after top-k that removes the only id.
func TestALateStepThatLeavesNoIDIsAnErrorEverywhere(t *testing.T) {
	m := tiny(t, fixture.Options{})
	for _, rest := range []string{"", ",top-p", ",typical", ",min-p,temperature", ",top-h,xtc,eta"} {
		o := Options{MaxTokens: 9, EndOfText: []int{}, Params: sample.Params{Temperature: 1,
			TopK: 1, TopP: 0.9, Typical: 0.9, MinP: 0.1, TopH: 0.5, XTCProbability: 1, Eta: 0.1,
			Samplers: "top-k,no-repeat-ngram" + rest, NoRepeatNgram: 1}}
		guessed := o
		guessed.Lookup, guessed.alwaysDraft = 5, true
		for name, texts := range map[string]iter.Seq2[Token, error]{
			"alone":    Generate(t.Context(), m.NewSession(), []int{1}, o),
			"guessed":  Generate(t.Context(), m.NewSession(), []int{1}, guessed),
			"a sample": Samples(t.Context(), m.NewSession(), []int{1}, 2, o),
			"a batch":  InABatch(t, m, 0, []int{1}, 1, o),
		} {
			var last error
			for _, err := range texts {
				last = err
			}
			var none *sample.NoIDError
			if !errors.As(last, &none) {
				t.Errorf("%s, %s: %v, want that no id is left", name, o.Samplers, last)
			}
		}
	}
}
