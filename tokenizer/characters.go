// Characters: each character of a text is a token, as in nanoGPT's character-level models.

package tokenizer

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"picogpt/internal/quote"
)

// Characters returns the tokenizer of a table of characters and their ids, stoi in nanoGPT's
// meta.pkl. Encode returns an error that names the first character of a text that has no id. Keys
// of several characters, such as <UNK> or whole words, are added tokens: found in a text as they are
// written, the longest first. Characters returns an error if two keys have the same id.
func Characters(stoi map[string]int) (*Tokenizer, error) {
	if len(stoi) == 0 {
		return nil, fmt.Errorf("stoi: no characters, want at least one")
	}
	list := []string{}
	for _, text := range slices.Sorted(maps.Keys(stoi)) {
		id := stoi[text]
		switch {
		case text == "" || !utf8.ValidString(text):
			return nil, fmt.Errorf("stoi: %s, want one character or more", quote.Short(text, 60))
		case id < 0 || id >= maxIDs:
			return nil, fmt.Errorf("stoi: %s has id %d, want 0 to %d", quote.Short(text, 60), id,
				maxIDs-1)
		}
		for len(list) <= id {
			list = append(list, "")
		}
		if list[id] != "" {
			return nil, fmt.Errorf("stoi: id %d is given twice, to %s and %s", id,
				quote.Short(list[id], 60), quote.Short(text, 60))
		}
		list[id] = text
	}
	ids := make(map[string]uint32, len(stoi))
	var longer []addedToken
	for text, id := range stoi {
		ids[text] = uint32(id)
		if utf8.RuneCountInString(text) > 1 {
			longer = append(longer, addedToken{text: text, id: id})
		}
	}
	table := newTokens(list)
	t := &Tokenizer{tokens: table, kind: kindCharacters, splitters: []splitter{patternSplitter{pattern: everyCharacter{}}},
		model:    &wordLevel{ids: ids, unknown: none},
		decoding: decoding{tokens: table}, start: -1, endOfText: -1}
	t.add(longer)
	return t, nil
}

// newTokens returns the table of tokens by id.
func newTokens(list []string) *tokens {
	t := &tokens{text: strings.Join(list, ""), start: make([]uint32, 1, len(list)+1)}
	for _, token := range list {
		t.start = append(t.start, t.start[len(t.start)-1]+uint32(len(token)))
	}
	return t
}
