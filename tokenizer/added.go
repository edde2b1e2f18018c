// Added tokens: those that are found in a text as written, before it is split. Most are special.

package tokenizer

import (
	"slices"
	"strings"
)

// An addedToken is text that has an id of its own.
type addedToken struct {
	text    string
	id      int
	special bool // ordinary text unless asked for
}

// setAdded makes findAdded find tokens.
func (t *Tokenizer) setAdded(tokens []addedToken) {
	tokens = slices.Clone(tokens)
	slices.SortFunc(tokens, func(a, b addedToken) int { return len(b.text) - len(a.text) })
	for _, token := range tokens {
		t.added[token.text[0]] = append(t.added[token.text[0]], token)
		t.alwaysAdded = t.alwaysAdded || !token.special
	}
}

// findAdded returns where the first added token of text begins, −1 if it holds none, and the longest one there.
// Special ones count only if asked for.
func (t *Tokenizer) findAdded(text string, special bool) (int, addedToken) {
	for i := range len(text) {
		for _, token := range t.added[text[i]] {
			if (special || !token.special) && strings.HasPrefix(text[i:], token.text) {
				return i, token
			}
		}
	}
	return -1, addedToken{}
}
