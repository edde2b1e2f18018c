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
// meta.pkl. A character of a text that has no id is an error that names it. So is, of the table, an
// id that comes twice, and a key that is not one character.
func Characters(stoi map[string]int) (*Tokenizer, error) {
	if len(stoi) == 0 {
		return nil, fmt.Errorf("stoi: no characters, want at least one")
	}
	list := []string{}
	for _, text := range slices.Sorted(maps.Keys(stoi)) {
		id := stoi[text]
		switch {
		case utf8.RuneCountInString(text) != 1 || !utf8.ValidString(text):
			return nil, fmt.Errorf("stoi: %s, want one character", quote.Short(text, 60))
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
	s := &characters{tokens: newTokens(list), ids: maps.Clone(stoi)}
	return &Tokenizer{tokens: s.tokens, scheme: s, added: newAddedTokens(nil), endOfText: -1}, nil
}

// newTokens makes the table of tokens by id.
func newTokens(list []string) *tokens {
	t := &tokens{text: strings.Join(list, ""), start: make([]uint32, 1, len(list)+1)}
	for _, token := range list {
		t.start = append(t.start, t.start[len(t.start)-1]+uint32(len(token)))
	}
	return t
}

// characters is the scheme.
type characters struct {
	*tokens
	ids map[string]int
}

func (s *characters) encode(e *encoded, text string, at int) error {
	for i := 0; i < len(text); {
		_, size := utf8.DecodeRuneInString(text[i:])
		id, ok := s.ids[text[i:i+size]]
		if !ok {
			return fmt.Errorf("byte %d of the text, %s: the vocabulary has no token for it", at+i,
				quote.Short(text[i:i+size], 60))
		}
		e.add(id, Span{at + i, at + i + size})
		i += size
	}
	return nil
}

func (s *characters) chunks(int) chunkEncoder { return &characterEncoder{characters: s} }

// A characterEncoder encodes a text in parts.
type characterEncoder struct {
	*characters
	pending string // the beginning of a character
	at      int    // where it begins
}

func (c *characterEncoder) write(part string, at int, to *newest) error {
	text := c.pending + part
	at -= len(c.pending)
	whole := WholeRunes(text)
	c.pending, c.at = text[whole:], at+whole
	e := encoded{}
	if err := c.encode(&e, text[:whole], at); err != nil {
		return err
	}
	to.add(e.ids)
	return nil
}

// end finds nothing pending in a valid text.
func (c *characterEncoder) end(*newest) { c.pending = "" }

func (c *characterEncoder) atLeast() int { return 0 }

// A token's text is the same anywhere, so there is no state.
func (s *characters) decoder(bool) Decoder        { return s }
func (s *characters) Push(id int) (string, error) { return s.token(id) }
func (s *characters) Flush() string               { return "" }
func (s *characters) Fork() Decoder               { return s }
