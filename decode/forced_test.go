package decode

// Drafts of forced text change no token, and save steps.

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"picogpt/constrain"
	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/model"
	"picogpt/sample"
	"picogpt/tokenizer"
)

// An unforced is a Matcher that does not know what must follow: without drafts of forced text.
type unforced struct{ text *constrain.Text }

func (u unforced) Mask(open []uint64) error { return u.text.Mask(open) }
func (u unforced) Accept(id int) error      { return u.text.Accept(id) }
func (u unforced) Bounded() bool            { return u.text.Bounded() }
func (u unforced) Least() (int, bool)       { return u.text.Least() }
func (u unforced) Within(n int)             { u.text.Within(n) }
func (u unforced) Shut() []uint64           { return u.text.Shut() }
func (u unforced) Rewind(n int) error       { return u.text.Rewind(n) }
func (u unforced) EndWith(ids []int)        { u.text.EndWith(ids) }
func (u unforced) Complete() bool           { return u.text.Complete() }
func (u unforced) Fork() constrain.Matcher  { return unforced{u.text.Fork().(*constrain.Text)} }

// forcing forms: of about half of the bytes of their texts there is no choice.
var forcedForms = []struct {
	name    string
	compile func(*constrain.Vocabulary) (*constrain.Constraint, error)
}{
	{"regex", func(v *constrain.Vocabulary) (*constrain.Constraint, error) {
		return constrain.Regex(v, ` Her name was [A-Z][a-z]{2,6}\. She was [a-z]{3,8}\. One day, [A-Z][a-z]{2,6} `+
			`went to the [a-z]{3,8}\. She was very [a-z]{3,8}\.`)
	}},
	{"lines", func(v *constrain.Vocabulary) (*constrain.Constraint, error) {
		return constrain.Regex(v, `(Name: [A-Z][a-zé]{2,6}\nAge: [1-9] years\nLikes: the [a-z]{3,6}\n\n){1,3}`)
	}},
	{"schema", func(v *constrain.Vocabulary) (*constrain.Constraint, error) {
		return constrain.JSONSchema(v, []byte(`{"type":"object","required":["name","age","mood","friends"],
			"additionalProperties":false,"properties":{"name":{"type":"string","maxLength":10},
			"age":{"type":"integer","minimum":1,"maximum":99},"mood":{"enum":["happy","sad","angry"]},
			"friends":{"type":"array","minItems":2,"maxItems":4,"items":{"type":"object",
			"required":["name","likes"],"additionalProperties":false,
			"properties":{"name":{"type":"string","maxLength":8},"likes":{"type":"string","maxLength":10}}}}}}`),
			constrain.SchemaOptions{})
	}},
	{"dense schema", func(v *constrain.Vocabulary) (*constrain.Constraint, error) {
		return constrain.JSONSchema(v, []byte(`{"type":"array","minItems":2,"maxItems":3,"items":{"type":"object",
			"required":["kind","weight"],"additionalProperties":false,"properties":{"kind":{"const":"résumé"},
			"weight":{"enum":[1.5,17,"none"]}}}}`), constrain.SchemaOptions{Space: -1})
	}},
	{"choice", func(v *constrain.Vocabulary) (*constrain.Constraint, error) {
		return constrain.Choice(v, " Once there was a little girl named Lily who loved to play.",
			" Once there was a little boy named Tom who loved to run fast.", " Once")
	}},
	{"grammar", func(v *constrain.Vocabulary) (*constrain.Constraint, error) {
		return constrain.Grammar(v, "root ::= line{2,4}\nline ::= \"- \" item \" is \" (\"big\" | \"small\" | \"blue\") \"\\n\"\n"+
			"item ::= \"the \" [a-z]{3,7} | \"a little \" [a-z]{3,7}")
	}},
	{"free", func(v *constrain.Vocabulary) (*constrain.Constraint, error) {
		return constrain.Regex(v, `[a-z ,.]{10,60}`)
	}},
}

// formed writes texts under a form, and returns what is yielded, in its order, the session's tokens,
// and how often Evals checked the context.
func formed(
	t *testing.T, m *model.Model, prompt []int, samples, until int, o Options,
) (tokens []string, held []int, looks int) {
	t.Helper()
	c := &countedContext{Context: context.Background()}
	s := m.NewSession()
	texts := Generate(c, s, prompt, o)
	if samples > 1 {
		texts = Samples(c, s, prompt, samples, o)
	}
	for tok, err := range texts {
		tok.Guessed = tok.Guessed && o.Lookup == 0 // of lookup
		if tokens = append(tokens, fmt.Sprint(tok, err)); len(tokens) == until {
			break
		}
	}
	return tokens, slices.Clone(s.Tokens()), c.looks
}

// TestForcedDraftsChangeNoToken compares texts, with their log-probabilities and in their order,
// with those of forms that do not say what they force: over forms, seeds, samplers, banned and stop
// strings, contexts that slide, callers that break off, prompt lookup, and numbers of threads.
func TestForcedDraftsChangeNoToken(t *testing.T) {
	cases.NotShort(t)
	tok := tokenizer.GPT2()
	config, file := fixture.Checkpoint(fixture.Options{Vocab: 50257, Positions: 64})
	models := map[string]*model.Model{
		"demo":       testmodel.Demo(t, model.Options{}),
		"one thread": testmodel.Demo(t, model.Options{Threads: 1, Format: "q8"}),
		"random":     testmodel.New(t, config, file, model.Options{Threads: 3}),
	}
	saved := 0
	for turn, form := range forcedForms {
		c, err := form.compile(gpt2())
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range cases.Keys(models, 2, turn) {
			m := models[name]
			for seed := range uint64(sized(1, 40)) {
				random := rand.New(rand.NewPCG(seed, uint64(len(form.name)+len(name))))
				o := Options{MaxTokens: 1 + random.IntN(90), Overflow: OverflowSlide, Vocabulary: tok,
					Top: random.IntN(2), OpenMass: random.IntN(2) == 0, Params: sample.Params{Seed: seed}}
				if random.IntN(3) > 0 {
					o.Temperature, o.TopK, o.TopP = 0.5+random.Float64(), random.IntN(60), random.Float64()
				}
				if random.IntN(3) == 0 {
					o.RepeatPenalty, o.FrequencyPenalty = 1.2, 0.1
				}
				if random.IntN(4) == 0 {
					o.Ban, o.EndOfText = []string{"e\"", "ar", "be", "the"}[:1+random.IntN(4)], []int{}
				}
				if random.IntN(4) == 0 {
					o.Stop = []string{"years\n", `e":`}
				}
				if random.IntN(4) == 0 {
					o.Lookup, o.alwaysDraft = 4, random.IntN(2) == 0
				}
				if random.IntN(4) == 0 {
					o.Healing = NewHealing(tokenBytes(t), []int{7454, 2402, 257, 640}, 1)
				}
				samples, until := max(1, random.IntN(5)-1), 1<<30
				if random.IntN(3) == 0 {
					until = 1 + random.IntN(40)
				}
				text, err := c.Start()
				if err != nil {
					t.Fatal(err)
				}
				with, without := o, o
				with.Constraint, without.Constraint = text, unforced{text}
				without.Lookup = 0
				prompt := []int{7454, 2402, 257, 640}
				if o.Healing != nil {
					prompt = o.Healing.Prompt
				}
				got, gotHeld, looks := formed(t, m, prompt, samples, until, with)
				want, held, before := formed(t, m, prompt, samples, until, without)
				if !slices.Equal(got, want) || !slices.Equal(gotHeld, held) {
					t.Fatalf("%s, %s, seed %d: %v with %v, without drafts %v with %v", form.name, name, seed,
						got, gotHeld, want, held)
				}
				saved += before - looks
				if until == 1<<30 && !failed(want) {
					with.Lookup = 0
					batched := slices.Collect(func(yield func(string) bool) {
						for tok, err := range InABatch(t, m, 1+random.IntN(4), prompt, samples, with) {
							yield(fmt.Sprint(tok, err))
						}
					})
					slices.SortStableFunc(batched, bySample)
					slices.SortStableFunc(want, bySample)
					if !slices.Equal(batched, want) {
						t.Fatalf("%s, %s, seed %d: in a batch %v, without drafts %v", form.name, name, seed,
							batched, want)
					}
				}
			}
		}
	}
	if saved <= 0 {
		t.Errorf("%d checks of the context were saved, want more", saved)
	}
}

// bySample sorts printed tokens by their samples, which come first in them.
func bySample(a, b string) int { return strings.Compare(a[:2], b[:2]) }

// failed reports whether a printed text ends with an error.
func failed(tokens []string) bool {
	return len(tokens) > 0 && !strings.HasSuffix(tokens[len(tokens)-1], " <nil>")
}

// tokenBytes returns the bytes of GPT-2's tokens.
func tokenBytes(t *testing.T) [][]byte {
	t.Helper()
	tokens, err := tokenizer.GPT2().Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}
