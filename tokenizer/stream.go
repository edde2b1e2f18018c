// Decoding one id at a time.

package tokenizer

import (
	"iter"
	"slices"
	"unicode/utf8"
)

// A Decoder turns the ids of one text into its bytes, as they come. In some vocabularies the bytes
// of a token depend on the tokens around it, so a Decoder has state; it serves one goroutine at a
// time. All that Push and Flush return, joined, is the text.
type Decoder interface {
	// Push takes the next id and returns the bytes that are certain with it, which may be none, and
	// may begin or end inside a rune: see [WholeRunes]. An unknown id is an error and changes
	// nothing.
	Push(id int) (string, error)

	// Flush returns the bytes that were not certain yet, and forgets them: for the end of a text.
	Flush() string

	// Fork returns a Decoder in the same state, for another way on from here.
	Fork() Decoder
}

// NewDecoder returns a Decoder for what follows the ids `before`, which may be none, in a text.
func (t *Tokenizer) NewDecoder(before []int) Decoder {
	for _, id := range slices.Backward(before) {
		if _, special := slices.BinarySearch(t.special, id); !special {
			d := t.decoding.decoder(true)
			d.Push(id) // how the next one is written may depend on it
			return d
		}
	}
	return t.decoding.decoder(false)
}

// Stream turns a sequence of ids into a sequence of non-empty texts, none of which ends inside a
// rune: of one that is not complete yet, at most three bytes are held back. Bytes that cannot
// become valid UTF-8 are not held back, and what is at the end comes last as it is. An error of
// ids, or an unknown id, is passed on after the text before it and ends the sequence.
func (t *Tokenizer) Stream(ids iter.Seq2[int, error]) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		d := t.NewDecoder(nil)
		held := ""
		for id, err := range ids {
			text := ""
			if err == nil {
				text, err = d.Push(id)
			}
			if err != nil {
				if rest := held + d.Flush(); rest == "" || yield(rest, nil) {
					yield("", err)
				}
				return
			}
			if held != "" {
				text = held + text
			}
			whole := WholeRunes(text)
			held = text[whole:]
			if whole > 0 && !yield(text[:whole], nil) {
				return
			}
		}
		if rest := held + d.Flush(); rest != "" {
			yield(rest, nil)
		}
	}
}

// WholeRunes returns the length of s without the bytes at its end, at most three, that begin a rune
// and lack its rest. Bytes that cannot become valid UTF-8 count as whole.
func WholeRunes[T string | []byte](s T) int {
	for i := max(0, len(s)-utf8.UTFMax+1); i < len(s); i++ {
		if utf8.RuneStart(s[i]) && !utf8.FullRuneInString(string(s[i:])) {
			return i
		}
	}
	return len(s)
}
