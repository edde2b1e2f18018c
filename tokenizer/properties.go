// The properties of characters: their class in GPT-2's pattern, and what Hugging Face's library
// takes them for.

package tokenizer

import (
	_ "embed"
	"sync"
	"unicode/utf8"
)

// propertyRanges is written by dev/gentables, which documents its layout. Package unicode's
// tables cannot be used: they have Unicode 15.0, tiktoken's have 16.0, the parts of Hugging Face's
// library 8.0 to 17.0, and ids must not change with the version of Go.
//
//go:embed properties.bin
var propertyRanges string

// property is a set of properties of a character.
type property uint32

const (
	isSpace           property = 1 << iota // \s, and white space everywhere
	isAddedWord                            // \w of Whitespace and of single_word
	isNumeric                              // for Digits
	isBertPunctuation                      // for BertPreTokenizer and Punctuation
	isBertAccent                           // removed by BertNormalizer's strip_accents
	isBertDropped                          // removed by BertNormalizer's clean_text
	isAccent                               // removed by StripAccents
	isLater                                // newer than the library's normalization forms

	classBits = iota // and above: the class in GPT-2's pattern
)

// numberAt returns number i of a table of little-endian numbers.
func numberAt(table string, i int) uint32 {
	b := table[4*i : 4*i+4]
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
}

// properties is a table with a page for every 256 code points; equal pages are stored once.
type properties struct {
	index [(utf8.MaxRune + 1) >> 8]uint16
	pages [][256]property
}

// propertyTable is built on the first call, in 0.3 ms.
var propertyTable = sync.OnceValue(func() *properties {
	t := new(properties)
	uniform := map[property]uint16{}
	next, is := 0, property(0)
	for page := range t.index {
		from, to := page<<8, (page+1)<<8
		begins := func() bool {
			return next < len(propertyRanges)/8 && int(numberAt(propertyRanges, 2*next)) < to
		}
		if number, ok := uniform[is]; ok && !begins() {
			t.index[page] = number
			continue
		}
		changes := false
		var list [256]property
		for c := from; c < to; c++ {
			if begins() && int(numberAt(propertyRanges, 2*next)) == c {
				is = property(numberAt(propertyRanges, 2*next+1))
				next++
				changes = changes || c > from
			}
			list[c-from] = is
		}
		t.index[page] = uint16(len(t.pages))
		if !changes {
			uniform[is] = t.index[page]
		}
		t.pages = append(t.pages, list)
	}
	return t
})

// of returns the properties of a rune. A byte that is no part of valid UTF-8 has none.
func (t *properties) of(r rune) property {
	if uint32(r) > utf8.MaxRune {
		return 0
	}
	return t.pages[t.index[r>>8]][r&0xff]
}

// next returns the first rune of s, which is not empty, its properties and its length. A byte that
// is no part of valid UTF-8 is utf8.RuneError of length 1, without properties.
func (t *properties) next(s string) (r rune, is property, size int) {
	if c := s[0]; c < utf8.RuneSelf {
		return rune(c), t.pages[0][c], 1
	}
	r, size = utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && size == 1 {
		return r, 0, 1
	}
	return r, t.of(r), size
}
