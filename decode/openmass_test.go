package decode

// Token.Open is what the model gives to the ids that the form leaves open.

import (
	"context"
	"math"
	"testing"

	"picogpt/dev/testmodel"
	"picogpt/model"
	"picogpt/sample"
	"picogpt/tokenizer"
)

func TestTheOpenMassIsTheModels(t *testing.T) {
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
