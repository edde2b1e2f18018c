// Splitting a text into pieces: GPT-2's pattern, by hand, in one pass without backtracking.

package tokenizer

import (
	_ "embed"
	"unicode/utf8"
)

// classes is written by internal/genclasses, which documents its layout. Package unicode's tables
// cannot be used: they have Unicode 15.0, tiktoken's have 16.0, and ids must not change with the
// version of Go.
//
//go:embed classes.bin
var classes string

// gpt2Pattern is the pattern that pieceLen implements (openai/gpt-2, src/encoder.py). Merges never
// cross the border of two pieces.
const gpt2Pattern = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`

// gpt2PatternShort is the same pattern in tiktoken's form.
const gpt2PatternShort = `'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`

// A class is one of the sets of characters that the pattern distinguishes.
type class uint8

const (
	symbol class = iota // [^\s\p{L}\p{N}], and any byte that is no part of valid UTF-8
	letter              // \p{L}
	number              // \p{N}
	space               // \s
)

// classify returns the class of the first rune of s, which is not empty, and its length in bytes.
func classify(s string) (class, int) {
	if c := s[0]; c < utf8.RuneSelf {
		switch {
		case 'a' <= c|0x20 && c|0x20 <= 'z':
			return letter, 1
		case '0' <= c && c <= '9':
			return number, 1
		case c == ' ' || '\t' <= c && c <= '\r':
			return space, 1
		}
		return symbol, 1
	}
	r, size := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && size == 1 {
		return symbol, 1
	}
	return classOf(r), size
}

// classOf returns the class of the last entry that is not after r.
func classOf(r rune) class {
	from, to := 0, len(classes)/4 // entry from is not after r; entry to is
	for to-from > 1 {
		middle := int(uint(from+to) / 2)
		if classEntry(middle)>>2 <= uint32(r) {
			from = middle
		} else {
			to = middle
		}
	}
	return class(classEntry(from) & 3)
}

func classEntry(i int) uint32 {
	b := classes[4*i : 4*i+4]
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
}

// pieceLen returns the length of the first piece of s, which is not empty. It tries the pattern's
// alternatives in order. After a run of white space it reads at most one rune of it again, so that
// a whole text takes linear time.
func pieceLen(s string) int {
	if s[0] == '\'' {
		if n := contractionLen(s); n > 0 {
			return n
		}
	}
	lead := 0 // the optional space before a word
	if s[0] == ' ' && len(s) > 1 {
		lead = 1
	}
	if kind, size := classify(s[lead:]); kind != space {
		end := lead + size
		for end < len(s) {
			next, size := classify(s[end:])
			if next != kind {
				break
			}
			end += size
		}
		return end
	}
	// White space: all of it at the end of the text; otherwise all except the last rune, with which
	// a word may begin; but at least one rune.
	end, last := 0, 0
	for end < len(s) {
		kind, size := classify(s[end:])
		if kind != space {
			if last > 0 {
				return last
			}
			return end
		}
		last = end
		end += size
	}
	return end
}

// contractionLen returns the length of the 's, 't, 're, 've, 'm, 'll or 'd at the start of s, or 0.
func contractionLen(s string) int {
	if len(s) > 1 {
		switch s[1] {
		case 's', 't', 'm', 'd':
			return 2
		}
	}
	if len(s) > 2 {
		switch s[1:3] {
		case "re", "ve", "ll":
			return 3
		}
	}
	return 0
}
