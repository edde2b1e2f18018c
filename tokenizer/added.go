// Added tokens: tokens that are found in a text as they are written, before the text is split. Most
// are special. There are two passes: tokens that are not normalized are found in the original text;
// the others are normalized, and found in the normalized text between them.

package tokenizer

import (
	"cmp"
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
)

// An addedToken is a text with an id of its own.
type addedToken struct {
	text       string
	id         int
	special    bool
	asked      bool // found only with WithSpecial
	normalized bool // found in the normalized text
	singleWord bool // found only with no word character on either side
	leftStrip  bool // takes the white space before it
	rightStrip bool // takes the white space after it
}

// specialToken returns a special token that is ordinary text unless it is asked for.
func specialToken(text string, id int) addedToken {
	return addedToken{text: text, id: id, special: true, asked: true}
}

// addedTokens are the added tokens of one pass.
type addedTokens struct {
	byFirst [256][]addedToken // by first byte, sorted
	longest int               // bytes of the longest
	always  bool              // some added token is found without WithSpecial too
	odd     bool              // some added token takes white space or depends on its neighbours
	any     bool
}

// newAddedTokens returns the given tokens, arranged for find.
func newAddedTokens(tokens []addedToken) *addedTokens {
	a := &addedTokens{any: len(tokens) > 0}
	tokens = slices.Clone(tokens)
	slices.SortStableFunc(tokens, func(a, b addedToken) int { return cmp.Compare(a.text, b.text) })
	for _, token := range tokens {
		a.longest = max(a.longest, len(token.text))
		a.byFirst[token.text[0]] = append(a.byFirst[token.text[0]], token)
		a.always = a.always || !token.asked
		a.odd = a.odd || token.singleWord || token.leftStrip || token.rightStrip
	}
	return a
}

// add sets the added tokens of the pipeline.
func (t *Tokenizer) add(list []addedToken) {
	var raw, normal []addedToken
	for _, token := range list {
		if token.special {
			t.special = append(t.special, token.id)
		}
		switch {
		case !token.normalized:
			raw = append(raw, token)
		case token.text != "": // normalizers may remove all of a token's text
			normal = append(normal, token)
		}
	}
	slices.Sort(t.special)
	t.raw, t.normal = newAddedTokens(raw), newAddedTokens(normal)
}

// all returns the tokens.
func (a *addedTokens) all() (list []addedToken) {
	for _, tokens := range a.byFirst {
		list = append(list, tokens...)
	}
	return list
}

// split divides a passage: it calls token for each added token, with the part of the passage that
// belongs to it, and between for each part between two of them. Tokens with asked set are found
// only if the argument asked is.
func (a *addedTokens) split(
	p passage, asked bool, between func(passage) error, token func(addedToken, passage) error,
) error {
	if !a.always && !(asked && a.any) {
		return between(p)
	}
	done, spaceEnd := 0, 0 // spaceEnd: the end of the white space that the last token took
	for at := 0; at < len(p.text); {
		i, found := a.find(p.text[at:], len(p.text)-at, asked)
		if i < 0 {
			break
		}
		from := at + i
		to := from + len(found.text)
		at = to
		if found.singleWord && (endsInWord(p.text[:from]) || beginsWithWord(p.text[to:])) {
			continue
		}
		if found.leftStrip {
			from = max(done, min(from, done)+
				len(strings.TrimRightFunc(p.text[min(from, done):from], unicode.IsSpace)))
		}
		if found.rightStrip {
			if to >= spaceEnd {
				spaceEnd = len(p.text) - len(strings.TrimLeftFunc(p.text[to:], unicode.IsSpace))
			}
			to = spaceEnd
		}
		if done < from {
			if err := between(p.slice(done, from)); err != nil {
				return err
			}
		}
		if from < to { // else it is white space, and the token before has taken all of it
			if err := token(found, p.slice(from, to)); err != nil {
				return err
			}
		}
		done = to
	}
	if done < len(p.text) {
		return between(p.slice(done, len(p.text)))
	}
	return nil
}

func beginsWithWord(s string) bool {
	if s == "" {
		return false
	}
	_, is, _ := propertyTable().next(s)
	return is&isAddedWord != 0
}

func endsInWord(s string) bool {
	_, size := utf8.DecodeLastRuneInString(s)
	return beginsWithWord(s[len(s)-size:])
}

// find returns the start and the token of the first added token in text, or −1 if none begins in
// the first limit bytes. If several begin there, it returns the longest. Tokens with asked set are
// found only if the argument asked is.
func (a *addedTokens) find(text string, limit int, asked bool) (int, addedToken) {
	for i := range limit {
		if token := longestAdded(a.byFirst[text[i]], text[i:], asked); token.text != "" {
			return i, token
		}
	}
	return -1, addedToken{}
}

// longestAdded returns the longest of the sorted tokens that text begins with, or an empty one. It
// narrows the list down byte by byte, so that a file with a hundred thousand tokens does not make
// each byte of a text be compared with all of them.
func longestAdded(tokens []addedToken, text string, asked bool) (longest addedToken) {
	for depth := 1; len(tokens) > 0; depth++ { // all begin with text[:depth]
		for len(tokens) > 0 && len(tokens[0].text) == depth {
			if asked || !tokens[0].asked {
				longest = tokens[0]
			}
			tokens = tokens[1:]
		}
		if depth == len(text) || len(tokens) == 0 {
			break
		}
		next := text[depth]
		from := sort.Search(len(tokens), func(i int) bool { return tokens[i].text[depth] >= next })
		to := sort.Search(len(tokens), func(i int) bool { return tokens[i].text[depth] > next })
		tokens = tokens[from:to]
	}
	return longest
}
