package serve

// The texts of tokens, singly and in sequence.

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"picogpt/tokenizer"
)

// A vocabulary is the tokenizer, with tables that are used at every token.
type vocabulary struct {
	*tokenizer.Tokenizer          // reads special tokens in a text as their ids
	texts                []string // of each token by itself; "" where an id has none
	longest              int      // bytes of the longest
	drops                bool     // some bytes of a text have no token, and no id
}

func newVocabulary(t *tokenizer.Tokenizer) vocabulary {
	v := vocabulary{Tokenizer: t.WithSpecial(), texts: make([]string, t.Size()), longest: 1}
	missing, unknown := t.Missing()
	v.drops = len(missing) > 0 && unknown < 0
	for id := range v.texts {
		v.texts[id], _ = t.Text(id) // a gap has no text
		v.longest = max(v.longest, len(v.texts[id]))
	}
	return v
}

// has reports whether the vocabulary, which may be smaller than the model's, has an id.
func (v *vocabulary) has(id int) bool { return id < len(v.texts) && v.texts[id] != "" }

// bytes returns the bytes of a token, as numbers.
func (v *vocabulary) bytes(id int) []int {
	bytes := make([]int, len(v.texts[id]))
	for i, x := range []byte(v.texts[id]) {
		bytes[i] = int(x)
	}
	return bytes
}

// textOf returns the text of ids. It skips ids that have no token.
func (v *vocabulary) textOf(ids []int) string {
	var b strings.Builder
	d := v.NewDecoder(nil)
	for _, id := range ids {
		text, _ := d.Push(id) // an unknown id has no effect
		b.WriteString(text)
	}
	b.WriteString(d.Flush())
	return b.String()
}

// name returns the name of a token in log-probabilities. JSON cannot hold a part of a character: it
// is written as OpenAI did, bytes:\xe2\x80.
func (v *vocabulary) name(id int, asID bool) string {
	if asID || !v.has(id) {
		return "token_id:" + strconv.Itoa(id)
	}
	text := v.texts[id]
	if utf8.ValidString(text) {
		return text
	}
	const digits = "0123456789abcdef"
	b := []byte("bytes:")
	for i := range len(text) {
		b = append(b, '\\', 'x', digits[text[i]>>4], digits[text[i]&15])
	}
	return string(b)
}

// A silent vocabulary has tokens that add nothing to a text.
type silent struct {
	*tokenizer.Tokenizer
	ids []int
}

func (s silent) NewDecoder(before []int) tokenizer.Decoder {
	return silentDecoder{s.Tokenizer.NewDecoder(before), s.ids}
}

type silentDecoder struct {
	tokenizer.Decoder
	ids []int
}

func (d silentDecoder) Push(id int) (string, error) {
	for _, quiet := range d.ids {
		if id == quiet {
			return "", nil
		}
	}
	return d.Decoder.Push(id)
}

func (d silentDecoder) Fork() tokenizer.Decoder { return silentDecoder{d.Decoder.Fork(), d.ids} }
