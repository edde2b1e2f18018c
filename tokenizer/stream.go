// Decoding one id at a time, in whole runes.

package tokenizer

import (
	"iter"
	"unicode/utf8"
)

// A Decoder turns ids into text as they come. It holds back the bytes of a rune that is not complete yet, at most
// three, so that what it returns never ends inside one. Bytes that cannot become valid UTF-8 are not held back: all that
// Push and Flush return, joined, is what [Tokenizer.Decode] gives. A Decoder serves one goroutine at a time.
type Decoder struct {
	t    *Tokenizer
	held [utf8.UTFMax]byte
	n    int // of held
}

// NewDecoder returns a Decoder at the beginning of a text.
func (t *Tokenizer) NewDecoder() *Decoder {
	return &Decoder{t: t}
}

// Push takes the next id and returns the text that is complete with it, which may be empty. An unknown id is an error
// and changes nothing.
func (d *Decoder) Push(id int) (string, error) {
	token, err := d.t.token(id)
	if err != nil {
		return "", err
	}
	if d.n > 0 {
		token = string(d.held[:d.n]) + token
	}
	whole := wholeRunes(token)
	d.n = copy(d.held[:], token[whole:])
	return token[:whole], nil
}

// Flush returns the bytes held back, which are no whole rune, and forgets them: for the end of a text.
func (d *Decoder) Flush() string {
	rest := string(d.held[:d.n])
	d.n = 0
	return rest
}

// wholeRunes returns the length of s without the bytes at its end that could begin a rune but do not finish it.
func wholeRunes(s string) int {
	for i := max(0, len(s)-utf8.UTFMax+1); i < len(s); i++ {
		if utf8.RuneStart(s[i]) && !utf8.FullRuneInString(s[i:]) {
			return i
		}
	}
	return len(s)
}

// Stream turns a sequence of ids into a sequence of non-empty texts, each of whole runes; see [Decoder]. What is held
// back at the end comes last as it is. An error of ids, or an unknown id, is passed on after the text before it and
// ends the sequence.
func (t *Tokenizer) Stream(ids iter.Seq2[int, error]) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		d := t.NewDecoder()
		for id, err := range ids {
			var text string
			if err == nil {
				text, err = d.Push(id)
			}
			if err != nil {
				if rest := d.Flush(); rest == "" || yield(rest, nil) {
					yield("", err)
				}
				return
			}
			if text != "" && !yield(text, nil) {
				return
			}
		}
		if rest := d.Flush(); rest != "" {
			yield(rest, nil)
		}
	}
}
