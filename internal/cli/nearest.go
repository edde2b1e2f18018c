package cli

// Names that a misspelt one is like.

import (
	"strings"

	"github.com/agnivade/levenshtein"
)

// Nearest returns the name that a misspelt, shortened or lengthened word is most like, or "".
func Nearest(word string, names []string) (nearest string) {
	least := len(word)
	for _, name := range names {
		most := (len(name) + 1) / 3 // edits; more make another word
		edits := edits(word, name)
		switch {
		case len(word) > 1 && strings.HasPrefix(name, word):
			edits = 0
		case alike(word, name):
			edits = min(edits, most)
		}
		if edits <= most && edits < least {
			nearest, least = name, edits
		}
	}
	return nearest
}

// alike reports whether two words have the same beginning of at least four letters, which is all of
// name or half of the longer one: scoring is like score.
func alike(word, name string) bool {
	n := 0
	for n < min(len(word), len(name)) && word[n] == name[n] {
		n++
	}
	return n >= 4 && (n == len(name) || 2*n >= max(len(word), len(name)))
}

// edits is how many letters changed, added or lost, or neighbours exchanged, make name of word:
// exact up to 2.
func edits(word, name string) int {
	if len(word) > 2*len(name) {
		return len(word) // and no work that grows with the square of what was typed
	}
	least := levenshtein.ComputeDistance(word, name)
	if least > 4 { // an exchange counts as two there
		return least
	}
	for i, w := range exchanges(word) {
		for j, n := range exchanges(name) {
			least = min(least, min(i, 1)+levenshtein.ComputeDistance(w, n)+min(j, 1))
		}
	}
	return least
}

// exchanges are a word, and those in which two neighbours of it are exchanged.
func exchanges(word string) []string {
	all := []string{word}
	for i := range max(0, len(word)-1) {
		if word[i] != word[i+1] {
			all = append(all, word[:i]+word[i+1:i+2]+word[i:i+1]+word[i+2:])
		}
	}
	return all
}
