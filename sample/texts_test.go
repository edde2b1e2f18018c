package sample

// Texts that a tokenizer turns into ids.

import (
	"strings"
	"testing"

	"picogpt/dev/toys"
)

// TestTextsThatTheVocabularyCannotWrite: a vocabulary that drops "<" would bias " a" in place of
// " <a", and break repetitions after each "x" in place of "x<".
func TestTextsThatTheVocabularyCannotWrite(t *testing.T) {
	tok, err := toys.Lacking("<")
	if err != nil {
		t.Fatal(err)
	}
	p := Params{Bias: []Bias{{Text: " <a", Value: 1}}}
	if err := p.Open(t.Context(), tok); err == nil ||
		!strings.Contains(err.Error(), `" <a": byte 1, 0x3c: the vocabulary has no token for it`) {
		t.Errorf("error %v", err)
	}
	p = Params{Bias: []Bias{{Text: " a", Value: 1}}}
	if err := p.Open(t.Context(), tok); err != nil || len(p.Bias) != 1 || p.Bias[0].IDs[0] != 257 {
		t.Errorf("%+v, %v", p.Bias, err)
	}
	for text, want := range map[string]bool{"x<": false, "x>": true} {
		breakers, err := DRYBreakers(tok, text)
		if err != nil || len(breakers) > 0 != want {
			t.Errorf("%q: %d breakers, %v", text, len(breakers), err)
		}
	}
}
