package constrain

// Vocabularies: which are refused, and ids with equal bytes, without bytes, and with many bytes.

import (
	"slices"
	"strings"
	"testing"

	"picogpt/dev/walks"
)

// byteVocabulary has every byte, and more ids after them.
func byteVocabulary(more ...string) [][]byte {
	var tokens [][]byte
	for b := range 256 {
		tokens = append(tokens, []byte{byte(b)})
	}
	for _, m := range more {
		tokens = append(tokens, []byte(m))
	}
	return tokens
}

func TestAVocabularyHasAllBytes(t *testing.T) {
	tokens := byteVocabulary()
	tokens[10] = nil
	for _, c := range []struct {
		tokens [][]byte
		o      VocabularyOptions
		want   string
	}{
		{tokens, VocabularyOptions{}, "no id of the vocabulary is byte 0x0a alone"},
		{nil, VocabularyOptions{}, "empty"},
		{byteVocabulary(), VocabularyOptions{Ends: []int{256}}, "want ids below 256"},
		{byteVocabulary(strings.Repeat("x", 1<<15)), VocabularyOptions{}, "id 256: 32768 bytes"},
	} {
		if _, err := NewVocabulary(c.tokens, c.o); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

func TestBytesThatOnlyAnEndIsAreNotWritten(t *testing.T) {
	tokens := byteVocabulary("!", "a!")
	if _, err := NewVocabulary(tokens, VocabularyOptions{Ends: []int{0xe2}}); err == nil ||
		!strings.Contains(err.Error(), "byte 0xe2 alone ends the text") {
		t.Errorf("%v: want an error that names the byte", err)
	}
	v, err := NewVocabulary(tokens, VocabularyOptions{Ends: []int{'.', '!'}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Regex(v, `a+\.`); err == nil || !strings.Contains(err.Error(), "no text can match") {
		t.Errorf("%v: want an error, for no text can have the point", err)
	}
	c, err := Regex(v, `a(b\.|[.!c])`)
	if err != nil {
		t.Fatal(err)
	}
	if open := openAfter(t, v, c, "a"); !slices.Equal(open, []int{'c', 256}) {
		t.Errorf("%v are open, want c and the other id that is an exclamation mark", open)
	}
	if open := openAfter(t, v, c, "ac"); !slices.Equal(open, []int{'!', '.'}) {
		t.Errorf("%v are open, want the ends", open)
	}
}

func TestIdsOfTheSameBytesAreOpenTogether(t *testing.T) {
	tokens := byteVocabulary("ab", "", "ab", "<end>", "a\"", "a\"", "é", "é", "b\"")
	v, err := NewVocabulary(tokens, VocabularyOptions{Ends: []int{259}})
	if err != nil {
		t.Fatal(err)
	}
	re, err := Regex(v, "ab|<end>")
	if err != nil {
		t.Fatal(err)
	}
	schema, err := JSONSchema(v, []byte(`{"type":"string","pattern":"^aé?$"}`), SchemaOptions{})
	if err != nil {
		t.Fatal(err)
	}
	any, err := JSONSchema(v, []byte(`{"type":"string","maxLength":1}`), SchemaOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		c     *Constraint
		after string
		want  []int
	}{
		{re, "", []int{'<', 'a', 256, 258}},
		{re, "ab", []int{259}},
		{schema, `"`, []int{'a', 260, 261}},
		{schema, `"a`, []int{'"', 0xc3, 262, 263}},
	} {
		if got := openAfter(t, v, c.c, c.after); !slices.Equal(got, c.want) {
			t.Errorf("after %q: %v, want %v", c.after, got, c.want)
		}
	}
	got := openAfter(t, v, any, `"`)
	for _, id := range []int{260, 261, 262, 263, 264, '"'} {
		if !slices.Contains(got, id) {
			t.Errorf("id %d is not open in a string", id)
		}
	}
	if slices.Contains(got, 256) {
		t.Errorf("two characters are open in a string of one")
	}
}

func openAfter(t *testing.T, v *Vocabulary, c *Constraint, text string) []int {
	t.Helper()
	m, err := c.Start()
	if err != nil {
		t.Fatal(err)
	}
	for i := range len(text) {
		if err := m.Accept(int(text[i])); err != nil {
			t.Fatal(err)
		}
	}
	mask := make([]uint64, v.Words())
	if err := m.Mask(mask); err != nil {
		t.Fatal(err)
	}
	return walks.Opened(mask)
}
