// A vocabulary from files: tokens, their ids and the merges, checked and turned into a Tokenizer.

package tokenizer

import (
	"fmt"
	"slices"
	"strings"

	"picogpt/internal/quote"
	"picogpt/internal/strictjson"
)

// Bounds on the contents of a file. The largest vocabularies in use have 262,144 ids and 33 MB of
// text.
const (
	maxIDs      = 1 << 20
	maxMerges   = 1 << 20
	maxAdded    = 1 << 17
	maxAddedLen = 1 << 10 // bytes: a text is compared that far at each of its bytes
	maxFileSize = 32 << 20
)

// A vocabulary is the contents of a file, before it is a Tokenizer. Tokens are written in GPT-2's
// byte alphabet.
type vocabulary struct {
	name   string // of the table of ids, for errors: vocab.json
	ids    idTable
	tokens []string    // by id; "" if no token has it
	merges [][3]uint32 // in rank order: left, right, what they make
	prefix string      // of tokens that continue a word; a merge leaves it out
	scores []float64   // [tokens] for a list of pieces
	joined []byte      // scratch
	made   uint32      // the id that the last merge makes

	added     []addedToken
	addedText map[string]bool
}

// An idTable has the ids of tokens.
type idTable map[string]uint32

// id returns the id of a token, or none.
func (t idTable) id(token string) uint32 {
	if id, ok := t[token]; ok {
		return id
	}
	return none
}

// readVocab reads an object of token → id. Errors name the byte.
func readVocab(name string, r *strictjson.Reader) (*vocabulary, error) {
	few := min(r.Left()/20, maxIDs) // GPT-2's takes 20.7 bytes a token
	v := &vocabulary{name: name, ids: make(map[string]uint32, few), tokens: make([]string, 0, few)}
	err := r.Table(func(token string) error {
		n, err := r.Natural(maxIDs - 1)
		if err != nil {
			return err
		}
		id := int(n)
		if token == "" {
			return r.Errorf("the token of id %d is empty", id)
		}
		different := len(v.ids)
		if v.ids[token] = uint32(id); len(v.ids) == different { // twice as fast as a lookup before
			return r.Errorf("token %s comes twice, as %d and %d",
				quote.Short(token, 60), slices.Index(v.tokens, token), id)
		}
		if err := v.set(id, token); err != nil {
			return r.Errorf("%v", err)
		}
		return nil
	})
	if err == nil && len(v.ids) == 0 {
		err = r.Errorf("no tokens")
	}
	return v, err
}

// set sets the token of an id.
func (v *vocabulary) set(id int, token string) error {
	for len(v.tokens) <= id {
		v.tokens = append(v.tokens, "")
	}
	if v.tokens[id] != "" {
		return fmt.Errorf("id %d is given twice, to %s and %s", id, quote.Short(v.tokens[id], 60),
			quote.Short(token, 60))
	}
	v.tokens[id] = token
	return nil
}

// addPair appends the merge of two tokens with a space between.
func (v *vocabulary) addPair(pair string) error {
	left, right, ok := strings.Cut(pair, " ")
	if !ok || strings.Contains(right, " ") {
		return fmt.Errorf("%s, want two tokens with a space between", quote.Short(pair, 60))
	}
	return v.addMerge(left, right)
}

// addMerge appends the merge of two tokens. Its rank is its index.
func (v *vocabulary) addMerge(left, right string) error {
	if len(v.merges) == maxMerges {
		return fmt.Errorf("more than %d merges", maxMerges)
	}
	v.joined = append(append(v.joined[:0], left...), strings.TrimPrefix(right, v.prefix)...)
	l, ok := v.ids[left]
	if !ok {
		return fmt.Errorf("%s is not in %s", quote.Short(left, 60), v.name)
	}
	r, ok := v.ids[right]
	if !ok {
		return fmt.Errorf("%s is not in %s", quote.Short(right, 60), v.name)
	}
	both, ok := v.made+1, true // ids usually have the order of the merges
	if both >= uint32(len(v.tokens)) || v.tokens[both] != string(v.joined) {
		both, ok = v.ids[string(v.joined)]
	}
	if !ok {
		return fmt.Errorf("%s, which %s and %s make, is not in %s",
			quote.Short(string(v.joined), 60), quote.Short(left, 60), quote.Short(right, 60),
			v.name)
	}
	v.merges = append(v.merges, [3]uint32{l, r, both})
	v.made = both
	return nil
}

// addToken adds an added token. One that is in the vocabulary already has the id that it has there,
// whatever the token's own is, as in Hugging Face's library. All merges must have been added.
func (v *vocabulary) addToken(token addedToken) error {
	switch {
	case token.text == "":
		return fmt.Errorf("added token %d is empty", token.id)
	case len(token.text) > maxAddedLen:
		return fmt.Errorf("added token %d has %d bytes, want at most %d", token.id, len(token.text),
			maxAddedLen)
	case len(v.added) == maxAdded:
		return fmt.Errorf("more than %d added tokens", maxAdded)
	case v.addedText[token.text]:
		return fmt.Errorf("added token %s comes twice", quote.Short(token.text, 60))
	}
	if id, ok := v.ids[token.text]; !ok {
		if err := v.set(token.id, token.text); err != nil {
			return err
		}
	} else {
		token.id = int(id)
	}
	if v.addedText == nil {
		v.addedText = map[string]bool{}
	}
	v.addedText[token.text] = true
	v.added = append(v.added, token)
	return nil
}

// tokenizer returns a Tokenizer of byte-level BPE.
func (v *vocabulary) tokenizer(rules splitting) *Tokenizer {
	level, endOfText := v.byteLevel(rules)
	return level.tokenizer(v.added, endOfText)
}

// byteLevel returns the model. <|endoftext|> is special if the vocabulary has it.
func (v *vocabulary) byteLevel(rules splitting) (level *byteLevel, endOfText int) {
	alphabet := newByteAlphabet()
	s := &byteLevel{
		complete:  true,
		merges:    newMerges(len(v.merges)),
		splitting: rules,
	}
	ordinary := make([]bool, len(v.tokens)) // tokens that bytes and merges give
	for b, r := range alphabet.runes {
		id := v.ids.id(string(r))
		if s.byteID[b] = id; id == none {
			s.complete = false
		} else {
			ordinary[id] = true
		}
	}
	for rank, m := range v.merges {
		s.pairs.set(m[0], m[1], uint32(rank))
		s.merged[rank] = m[2]
		ordinary[m[2]] = true
	}
	endOfText = v.endOfText()
	s.tokens = v.table(v.verbatim(ordinary), alphabet)
	return s, endOfText
}

// table returns the bytes of all tokens.
func (v *vocabulary) table(verbatim map[int]bool, alphabet *byteAlphabet) *tokens {
	length := 0
	for _, token := range v.tokens {
		length += len(token)
	}
	text, start := make([]byte, 0, length), make([]uint32, 1, len(v.tokens)+1)
	for id, token := range v.tokens {
		if verbatim[id] {
			text = append(text, token...)
		} else {
			text = alphabet.appendBytes(text, token)
		}
		start = append(start, uint32(len(text)))
	}
	return &tokens{text: string(text), start: start}
}

// endOfText returns the id of <|endoftext|>, or -1 if there is none. It adds the token to the
// special tokens if it is only in the vocabulary.
func (v *vocabulary) endOfText() int {
	for _, token := range v.added {
		if token.text == EndOfTextToken {
			return token.id
		}
	}
	id, ok := v.ids[EndOfTextToken]
	if !ok {
		return -1
	}
	v.added = append(v.added, specialToken(EndOfTextToken, int(id)))
	return int(id)
}

// verbatim returns the ids of the added tokens, which stand for their own text, but of those that
// bytes or merges give too, which stand for these bytes: ä is found in a text as it is written, and
// decodes as in Hugging Face's library to the byte that the letter ä spells.
func (v *vocabulary) verbatim(ordinary []bool) map[int]bool {
	ids := make(map[int]bool, len(v.added))
	for _, token := range v.added {
		ids[token.id] = !ordinary[token.id]
	}
	return ids
}
