// Normalizers change a text before it is split. Unicode's normalization forms are in forms.go,
// BERT's normalizer in bert.go, sentencepiece's rules in charsmap.go.

package tokenizer

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"picogpt/tokenizer/internal/regex"
)

// A normalizer rewrites a text. With track, the result knows its origin.
type normalizer interface {
	normalize(p passage, track bool) passage
}

// lowercase implements Lowercase: each character by itself, without the rule for the final sigma.
type lowercase struct{}

func (lowercase) normalize(p passage, track bool) passage {
	w := rewrite(p, track)
	for i := 0; i < len(p.text); {
		r, size := utf8.DecodeRuneInString(p.text[i:])
		if size > 1 || r != utf8.RuneError {
			if r < utf8.RuneSelf {
				if 'A' <= r && r <= 'Z' {
					w.replace(i, i+1, lowerASCII[r-'A':r-'A'+1])
				}
			} else if lower := lowerOf(r); lower != "" {
				w.replace(i, i+size, lower)
			}
		}
		i += size
	}
	return w.result()
}

const lowerASCII = "abcdefghijklmnopqrstuvwxyz"

// lowerOf returns the lower case of a rune, or "" if that is the rune itself.
func lowerOf(r rune) string {
	if r == 'İ' {
		return "i̇"
	}
	if lower := regex.Lower(r); lower != r {
		return string(lower)
	}
	return ""
}

// strip implements Strip: it removes white space at the ends.
type strip struct{ left, right bool }

func (s strip) normalize(p passage, track bool) passage {
	from, to := 0, len(p.text)
	if s.left {
		from = to - len(strings.TrimLeftFunc(p.text, unicode.IsSpace))
	}
	if s.right {
		to = max(from, len(strings.TrimRightFunc(p.text, unicode.IsSpace)))
	}
	return p.slice(from, to)
}

// dropping removes the characters with a property, for StripAccents.
type dropping struct{ what property }

func (d dropping) normalize(p passage, track bool) passage {
	w := rewrite(p, track)
	table := propertyTable()
	for i := 0; i < len(p.text); {
		_, is, size := table.next(p.text[i:])
		if is&d.what != 0 {
			w.replace(i, i+size, "")
		}
		i += size
	}
	return w.result()
}

// replacing implements Replace: a text replaces each match of a pattern.
type replacing struct {
	pattern pattern
	with    string
}

func (s replacing) normalize(p passage, track bool) passage {
	w := rewrite(p, track)
	p.bound.fail(s.pattern.matches(p, func(from, to int) { w.replace(from, to, s.with) }))
	return w.result()
}

// prepend implements Prepend: it puts a text before one that is not empty.
type prepend string

func (s prepend) normalize(p passage, track bool) passage {
	if p.text == "" {
		return p
	}
	w := rewrite(p, track)
	w.replace(0, 0, string(s))
	return w.result()
}

// nmt implements Nmt, sentencepiece's rules for machine translation: it removes control characters,
// and turns unusual spaces into one space.
type nmt struct{}

func (nmt) normalize(p passage, track bool) passage {
	w := rewrite(p, track)
	for i := 0; i < len(p.text); {
		r, size := utf8.DecodeRuneInString(p.text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
		case 1 <= r && r <= 8, r == 0xB, 0xE <= r && r <= 0x1F, r == 0x7F, r == 0x8F, r == 0x9F:
			w.replace(i, i+size, "")
		case r == '\t', r == '\n', r == '\f', r == '\r', r == 0x1680, 0x200B <= r && r <= 0x200F,
			r == 0x2028, r == 0x2029, r == 0x2581, r == 0xFEFF, r == 0xFFFD:
			w.replace(i, i+size, " ")
		}
		i += size
	}
	return w.result()
}
