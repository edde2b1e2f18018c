package decode

// Overlapping banned strings: each is cut from the text that the earlier ones gave, where a text
// goes back repeatedly.

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/model"
	"picogpt/sample"
	"picogpt/tokenizer"
)

// cut returns a part of a text of up to most bytes. It may begin and end inside a character.
func cut(r *rand.Rand, text string, most int) string {
	at := r.IntN(len(text))
	return text[at:min(len(text), at+1+r.IntN(most))]
}

// hasNone reports a banned string that is in a text.
func hasNone(t *testing.T, about string, o Options, text string) {
	t.Helper()
	for _, ban := range o.Ban {
		if strings.Contains(text, ban) {
			t.Errorf("%s, seed %d, bans %q: %q has %q", about, o.Seed, o.Ban, text, ban)
		}
	}
}

// syllables returns tokens that spell each text in many ways, and characters of several tokens.
func syllables() texted {
	return texted{pieces{"a", "b", "ab", "ba", "aab", "abb", "\xc3", "\xa9", "é", "é\xc3", "\xa9a", "c",
		"bc", "ca", "\xe2\x80", "\x99", "\xe2", "\x80\x99", "aa", "bb", "", "abc", "cab", "acb", "bac",
		"cc", "bca", "cba", "éa"}}
}

// texted is pieces with the text of each token by itself.
type texted struct{ pieces }

func (p texted) Text(id int) (string, error) { return p.pieces[id], nil }

// A writer writes a text with a model.
type writer func(t *testing.T, m *model.Model, prompt []int, o Options) []Token

// writers are the ways to write the same text.
var writers = map[string]writer{
	"alone": func(t *testing.T, m *model.Model, prompt []int, o Options) []Token {
		return collect(t, m.NewSession(), prompt, o)
	},
	"with guesses": func(t *testing.T, m *model.Model, prompt []int, o Options) []Token {
		o.Lookup, o.alwaysDraft = 5, true
		return collect(t, m.NewSession(), prompt, o)
	},
	"in a batch": func(t *testing.T, m *model.Model, prompt []int, o Options) (tokens []Token) {
		for token, err := range InABatch(t, m, 0, prompt, 1, o) {
			if err != nil {
				t.Fatal(err)
			}
			tokens = append(tokens, token)
		}
		return tokens
	},
	"as a sample": func(t *testing.T, m *model.Model, prompt []int, o Options) (tokens []Token) {
		o.Seed--
		for token, err := range Samples(t.Context(), m.NewSession(), prompt, 2, o) {
			if err != nil {
				t.Fatal(err)
			}
			if token.Sample == 1 {
				tokens = append(tokens, token)
			}
		}
		return tokens
	},
}

// TestBansCutFromTheTextBefore generates with one ban, with a second that is cut from the text, and
// so on, in every way. The text has none of them, and equals the text of going back without holding
// back.
func TestBansCutFromTheTextBefore(t *testing.T) {
	cases.NotShort(t)
	m := tiny(t, fixture.Options{})
	r := rand.New(rand.NewPCG(22, 2))
	for i := range sized(14, 4000) {
		o := Options{MaxTokens: 12 + r.IntN(10), Vocabulary: syllables(), EndOfText: []int{},
			Params: sample.Params{Temperature: float64(i%3) / 2, TopK: 5, Seed: uint64(i)}}
		prompt := []int{1 + r.IntN(28)}
		whole := text(collect(t, m.NewSession(), prompt, o))
		for n := 2 + r.IntN(3); n > 0 && whole != ""; n-- {
			o.Ban = append(o.Ban, cut(r, whole, 6))
			want := rewritten(t, m, o.Vocabulary, prompt, o)
			for name, write := range writers {
				tokens := write(t, m, prompt, o)
				whole = text(tokens)
				hasNone(t, name, o, whole)
				if !slices.Equal(ids(tokens), want) {
					t.Fatalf("%s, seed %d, bans %q: %v, want %v", name, o.Seed, o.Ban, ids(tokens), want)
				}
			}
		}
	}
}

// TestBansCutWhereTheContextSlides goes back to before the oldest tokens were dropped.
func TestBansCutWhereTheContextSlides(t *testing.T) {
	cases.NotShort(t)
	m := tiny(t, fixture.Options{})
	r := rand.New(rand.NewPCG(22, 8))
	for i := range sized(8, 1000) {
		o := Options{MaxTokens: 60, Vocabulary: syllables(), EndOfText: []int{},
			Overflow: OverflowSlide, Params: sample.Params{Temperature: float64(i%3) / 2, TopK: 5,
				Seed: uint64(i)}}
		prompt := []int{1 + r.IntN(28)}
		whole := text(collect(t, m.NewSession(), prompt, o))
		for n := 3; n > 0 && whole != ""; n-- {
			o.Ban = append(o.Ban, cut(r, whole, 12))
			want := collect(t, m.NewSession(), prompt, o)
			whole = text(want)
			hasNone(t, "alone", o, whole)
			for name, write := range writers {
				if got := write(t, m, prompt, o); !slices.Equal(ids(got), ids(want)) {
					t.Fatalf("%s, seed %d, bans %q: %v, want %v", name, o.Seed, o.Ban, ids(got), ids(want))
				}
			}
		}
	}
}

// TestBansCutFromStories does so with the demo model, together with everything else that ends
// texts, begins them or goes back: stop strings, forms and healed prompts.
func TestBansCutFromStories(t *testing.T) {
	cases.NotShort(t)
	m, tok := testmodel.Demo(t, model.Options{}), tokenizer.GPT2()
	form := regex(t, "[ -~]{20,60}[.!?]")
	r := rand.New(rand.NewPCG(22, 3))
	prompts := []string{"Tom said: \"", "Once upon a time", "The little gi", "ran and ran and ran and", "é"}
	written, stuck := 0, 0
	for i := range sized(4, 400) {
		ids, err := tok.Encode(prompts[r.IntN(len(prompts))])
		if err != nil {
			t.Fatal(err)
		}
		o := Options{MaxTokens: 20, Vocabulary: tok,
			Params: sample.Params{Temperature: float64(i%2) * 1.2, Seed: uint64(i)}}
		switch i % 4 {
		case 1:
			o.Stop = []string{".", " was a", "n a"}
		case 2:
			o.Constraint = form
		case 3:
			o.Healing = NewHealing(gpt2Bytes(t), ids, 0)
			ids = o.Healing.Prompt
		}
		write := func() (string, error) {
			whole := ""
			for token, err := range Generate(t.Context(), m.NewSession(), ids, o) {
				if err != nil {
					return "", err
				}
				whole += token.Text
			}
			return whole, nil
		}
		healed := 0
		if o.Healing != nil {
			healed = len(o.Healing.Bytes)
		}
		whole, err := write()
		for n := 2 + r.IntN(3); n > 0 && len(whole) > healed && err == nil; n-- {
			o.Ban = append(o.Ban, cut(r, whole[healed:], 12))
			whole, err = write()
			hasNone(t, "a story", o, whole[min(healed, len(whole)):])
			written++
		}
		var none *sample.NoIDError
		switch {
		case errors.As(err, &none) && (o.Constraint != nil || healed > 0):
			stuck++ // the form or the prompt's end allows no other token
		case err != nil:
			t.Errorf("bans %q: %v", o.Ban, err)
		}
	}
	if t.Logf("%d texts, %d ended early", written, stuck); stuck*10 > written {
		t.Errorf("%d of %d texts ended early", stuck, written)
	}
}

// TestBansInWhatTheEndMakesCertain has a vocabulary whose last word is certain only at the end.
func TestBansInWhatTheEndMakesCertain(t *testing.T) {
	m := tiny(t, fixture.Options{})
	var v words
	for id := range m.Config().VocabSize {
		v = append(v, string(rune('A'+id)))
	}
	for seed := range uint64(10) {
		o := Options{MaxTokens: 4, Vocabulary: v, EndOfText: []int{},
			Params: sample.Params{Temperature: 1, Seed: seed}}
		before := text(collect(t, m.NewSession(), []int{1}, o))
		o.Ban = []string{before[len(before)-4:]}
		hasNone(t, "words", o, text(collect(t, m.NewSession(), []int{1}, o)))
	}
}
