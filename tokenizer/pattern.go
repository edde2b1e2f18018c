// Patterns: the matches at which a Split cuts, and which a Replace replaces.

package tokenizer

import (
	"strings"
	"unicode/utf8"

	"picogpt/tokenizer/internal/regex"
)

// A pattern finds its matches in a text, from left to right and without overlap.
type pattern interface {
	matches(p passage, match func(from, to int)) error
}

// literal matches a text, which is not empty, literally.
type literal string

func (l literal) matches(p passage, match func(from, to int)) error {
	text := p.text
	for at := 0; ; {
		next := strings.Index(text[at:], string(l))
		if next < 0 {
			break
		}
		at += next
		match(at, at+len(l))
		at += len(l)
	}
	return nil
}

// everywhere is the empty pattern: it matches before each character and at the end of a text that is
// not empty.
type everywhere struct{}

func (everywhere) matches(p passage, match func(from, to int)) error {
	text := p.text
	for i := 0; i < len(text); {
		match(i, i)
		_, size := utf8.DecodeRuneInString(text[i:])
		if i += size; i == len(text) {
			match(i, i)
		}
	}
	return nil
}

// single matches each character with a property by itself.
type single property

func (s single) matches(p passage, match func(from, to int)) error {
	text := p.text
	table := propertyTable()
	for i := 0; i < len(text); {
		_, is, size := table.next(text[i:])
		if is&property(s) != 0 {
			match(i, i+size)
		}
		i += size
	}
	return nil
}

// gpt2Pieces is GPT-2's pattern; every piece is a match.
type gpt2Pieces struct{}

func (gpt2Pieces) matches(p passage, match func(from, to int)) error {
	text := p.text
	for i := 0; i < len(text); {
		n := pieceLen(text[i:])
		match(i, i+n)
		i += n
	}
	return nil
}

// everyCharacter matches each character by itself: [\s\S].
type everyCharacter struct{}

func (everyCharacter) matches(p passage, match func(from, to int)) error {
	text := p.text
	for i := 0; i < len(text); {
		_, size := utf8.DecodeRuneInString(text[i:])
		match(i, i+size)
		i += size
	}
	return nil
}

// regexPattern matches a regular expression.
type regexPattern struct{ *regex.Regex }

func (r regexPattern) matches(p passage, match func(from, to int)) error {
	return r.Matches(p.text, p.bound.work, match)
}

// newRegex compiles a regular expression. Unsupported syntax is an error that names it.
func newRegex(text string) (pattern, error) {
	switch text {
	case gpt2Pattern, gpt2PatternShort:
		return gpt2Pieces{}, nil
	case `[\s\S]`:
		return everyCharacter{}, nil
	case "":
		return everywhere{}, nil
	}
	r, err := regex.Compile(text)
	return regexPattern{r}, err
}
