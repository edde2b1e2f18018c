// Added tokens: those that are found in a text as written, before it is split. Most are special.

package tokenizer

import (
	"cmp"
	"slices"
	"sort"
)

// An addedToken is text that has an id of its own.
type addedToken struct {
	text    string
	id      int
	special bool // ordinary text unless asked for
}

// addedTokens are the added tokens of a vocabulary, to be found in a text.
type addedTokens struct {
	byFirst [256][]addedToken // by first byte, sorted
	special []int             // ids, ascending
	longest int               // bytes of the longest
	always  bool              // some added token is not special: it is found in any text
}

// newAddedTokens makes find find tokens.
func newAddedTokens(tokens []addedToken) *addedTokens {
	a := new(addedTokens)
	tokens = slices.Clone(tokens)
	slices.SortFunc(tokens, func(a, b addedToken) int { return cmp.Compare(a.text, b.text) })
	for _, token := range tokens {
		a.longest = max(a.longest, len(token.text))
		a.byFirst[token.text[0]] = append(a.byFirst[token.text[0]], token)
		if token.special {
			a.special = append(a.special, token.id)
		} else {
			a.always = true
		}
	}
	slices.Sort(a.special)
	return a
}

// find returns where the first added token of text begins, −1 if none begins in its first limit
// bytes, and the longest one there. Special ones count only if asked for.
func (a *addedTokens) find(text string, limit int, special bool) (int, addedToken) {
	for i := range limit {
		if token := longestAdded(a.byFirst[text[i]], text[i:], special); token.text != "" {
			return i, token
		}
	}
	return -1, addedToken{}
}

// longestAdded returns the longest of the sorted tokens that text begins with, or none. It narrows
// them down byte by byte, so that a file with a hundred thousand tokens cannot make every byte of a
// text meet each of them.
func longestAdded(tokens []addedToken, text string, special bool) (longest addedToken) {
	for depth := 1; len(tokens) > 0; depth++ { // all begin with text[:depth]
		if len(tokens[0].text) == depth {
			if special || !tokens[0].special {
				longest = tokens[0]
			}
			tokens = tokens[1:]
		}
		if depth == len(text) {
			break
		}
		next := text[depth]
		from := sort.Search(len(tokens), func(i int) bool { return tokens[i].text[depth] >= next })
		to := sort.Search(len(tokens), func(i int) bool { return tokens[i].text[depth] > next })
		tokens = tokens[from:to]
	}
	return longest
}
