// Vocabularies of other files (a GGUF file, llm.c's gpt2_tokenizer.bin, nanoGPT's meta.pkl), and
// the files that other programs read.

package tokenizer

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"picogpt/internal/folder"
	"picogpt/internal/quote"
)

// A Kind says what a token is for, with GGUF's numbers (tokenizer.ggml.token_type).
type Kind int

// The kinds. Unused is an id without a token, whatever text it has: [PAD50257].
const (
	Normal  Kind = 1
	Unknown Kind = 2 // for text without a token: special
	Control Kind = 3 // special: ordinary text unless asked for
	User    Kind = 4 // found in any text as it is written
	Unused  Kind = 5
	Byte    Kind = 6 // a byte; byte-level vocabularies have bytes among the normal tokens
)

// Parts are a byte-level BPE vocabulary in GGUF's form. [Tokenizer.Parts] returns the vocabulary of
// Load's files and of GPT2 in this form, and [FromParts] reads it.
type Parts struct {
	Tokens []string // by id: normal ones in GPT-2's byte alphabet (Ġthe), the others as they are
	Kinds  []Kind   // by id; nil: all are normal except <|endoftext|>
	Merges []string // "left right", in the order of their ranks
}

// FromParts returns the tokenizer of a vocabulary that is inside another file. It splits texts as
// GPT-2 does. Errors name the entry: a token that occurs twice, an id beyond the limit, a merge of
// something that is no token; it is also an error if the number of kinds is not that of tokens.
func FromParts(p Parts) (*Tokenizer, error) {
	switch {
	case len(p.Tokens) == 0:
		return nil, fmt.Errorf("tokens: none, want at least one")
	case len(p.Tokens) > maxIDs:
		return nil, fmt.Errorf("tokens: %d, want at most %d", len(p.Tokens), maxIDs)
	case p.Kinds != nil && len(p.Kinds) != len(p.Tokens):
		return nil, fmt.Errorf("token types: %d, want one for each of %d tokens", len(p.Kinds),
			len(p.Tokens))
	}
	v := &vocabulary{name: "the tokens", ids: make(map[string]uint32, len(p.Tokens)),
		tokens: make([]string, 0, len(p.Tokens))}
	var added []addedToken
	for id, text := range p.Tokens {
		kind := Normal
		if p.Kinds != nil {
			kind = p.Kinds[id]
		}
		switch kind {
		case Normal, Byte:
			if err := v.setNew(id, text); err != nil {
				return nil, fmt.Errorf("tokens: %w", err)
			}
		case Unknown, Control, User:
			special := kind != User
			added = append(added, addedToken{text: text, id: id, special: special, asked: special})
		case Unused:
		default:
			return nil, fmt.Errorf("token types: %d for id %d, want 1 to 6", kind, id)
		}
	}
	for i, merge := range p.Merges {
		if err := v.addPair(merge); err != nil {
			return nil, fmt.Errorf("merges[%d]: %w", i, err)
		}
	}
	for _, token := range added {
		if id, ok := v.ids[token.text]; ok {
			return nil, fmt.Errorf("tokens: added token %s has id %d, but among %s %d",
				quote.Short(token.text, 60), token.id, v.name, id)
		}
		if err := v.addToken(token); err != nil {
			return nil, fmt.Errorf("tokens: %w", err)
		}
	}
	for len(v.tokens) < len(p.Tokens) {
		v.tokens = append(v.tokens, "")
	}
	return v.tokenizer(splitting{}), nil
}

// setNew sets the token of an id; the token must be new.
func (v *vocabulary) setNew(id int, token string) error {
	switch before, twice := v.ids[token]; {
	case token == "":
		return fmt.Errorf("the token of id %d is empty", id)
	case !utf8.ValidString(token):
		return fmt.Errorf("the token of id %d, %s, is not valid UTF-8", id, quote.Short(token, 60))
	case twice:
		return fmt.Errorf("token %s comes twice, as %d and %d", quote.Short(token, 60), before, id)
	}
	v.ids[token] = uint32(id)
	return v.set(id, token)
}

// Parts returns the vocabulary in the form of a GGUF file, if it is byte-level BPE and splits texts
// as GPT-2 does. ok is false for every other one.
func (t *Tokenizer) Parts() (p Parts, ok bool) {
	s := t.level
	if s == nil || s.splitting != (splitting{}) || t.raw.odd || t.normal.odd {
		return Parts{}, false
	}
	added := map[int]Kind{}
	for _, token := range append(t.raw.all(), t.normal.all()...) {
		if text, _ := s.token(token.id); text != token.text {
			return Parts{}, false // it is a token of bytes too, which GGUF cannot say
		}
		added[token.id] = User
		if token.special {
			added[token.id] = Control
		}
	}
	alphabet := newByteAlphabet()
	for id := range t.Size() {
		text, kind := fmt.Sprintf("[PAD%d]", id), Unused
		if token, err := s.token(id); err == nil {
			if text, kind = token, added[id]; kind == 0 {
				text, kind = alphabet.spell(token), Normal
			}
		}
		p.Tokens, p.Kinds = append(p.Tokens, text), append(p.Kinds, kind)
	}
	for _, pair := range s.pairs.inOrder() {
		p.Merges = append(p.Merges, p.Tokens[pair.left]+" "+p.Tokens[pair.right])
	}
	return p, true
}

// FromBytes returns the tokenizer of a list of the bytes of each id, which llm.c's
// gpt2_tokenizer.bin holds. Such files have no merges: if the tokens are GPT-2's own, FromBytes
// returns [GPT2], which has them; any other vocabulary turns only ids into text, and Encode returns
// an error. endOfText is the id of <|endoftext|>, -1 if there is none. A token without bytes is an
// id that no token has.
func FromBytes(list [][]byte, endOfText int) (*Tokenizer, error) {
	switch {
	case len(list) == 0:
		return nil, fmt.Errorf("tokens: none, want at least one")
	case len(list) > maxIDs:
		return nil, fmt.Errorf("tokens: %d, want at most %d", len(list), maxIDs)
	case endOfText < -1 || endOfText >= len(list):
		return nil, fmt.Errorf("end-of-text id %d: want one of the %d tokens", endOfText, len(list))
	}
	texts, length := make([]string, len(list)), 0
	for id, token := range list {
		if length+len(token) > maxFileSize {
			return nil, fmt.Errorf("tokens: more than %d bytes, want at most that", maxFileSize)
		}
		if id == endOfText && len(token) == 0 {
			token = []byte(EndOfTextToken)
		}
		texts[id] = string(token)
		length += len(token)
	}
	table := newTokens(texts)
	if own := GPT2(); endOfText == own.endOfText && table.text == own.tokens.text &&
		slices.Equal(table.start, own.tokens.start) {
		return own, nil
	}
	var added []addedToken
	if endOfText >= 0 {
		token, _ := table.token(endOfText)
		added = []addedToken{specialToken(token, endOfText)}
	}
	t := &Tokenizer{tokens: table, kind: kindOnlyBytes, model: onlyBytes{},
		decoding: decoding{tokens: table}, start: -1, endOfText: endOfText}
	t.add(added)
	return t, nil
}

// Characters returns the tokenizer of a table of characters and their ids, stoi in nanoGPT's
// meta.pkl. Encode returns an error that names the first character of a text that has no id. Keys
// of several characters, such as <UNK> or whole words, are added tokens: found in a text as they
// are written, the longest first. Characters returns an error if two keys have the same id.
func Characters(stoi map[string]int) (*Tokenizer, error) {
	if len(stoi) == 0 {
		return nil, fmt.Errorf("stoi: no characters, want at least one")
	}
	v := &vocabulary{}
	for _, text := range slices.Sorted(maps.Keys(stoi)) {
		id := stoi[text]
		switch {
		case text == "" || !utf8.ValidString(text):
			return nil, fmt.Errorf("stoi: %s, want one character or more", quote.Short(text, 60))
		case id < 0 || id >= maxIDs:
			return nil, fmt.Errorf("stoi: %s has id %d, want 0 to %d", quote.Short(text, 60), id,
				maxIDs-1)
		}
		if err := v.set(id, text); err != nil {
			return nil, fmt.Errorf("stoi: %w", err)
		}
	}
	ids := make(map[string]uint32, len(stoi))
	var longer []addedToken
	for text, id := range stoi {
		ids[text] = uint32(id)
		if utf8.RuneCountInString(text) > 1 {
			longer = append(longer, addedToken{text: text, id: id})
		}
	}
	table := newTokens(v.tokens)
	t := &Tokenizer{tokens: table, kind: kindCharacters,
		splitters: []splitter{patternSplitter{pattern: everyCharacter}},
		model:     &wordLevel{ids: ids, unknown: none},
		decoding:  decoding{tokens: table}, start: -1, endOfText: -1}
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

// Files returns the tokenizer files of a checkpoint by name, from which [Load] and Hugging Face's
// library read the same tokenizer: vocab.json, merges.txt and tokenizer.json for a byte-level BPE
// vocabulary that splits texts as GPT-2 does, and tokenizer.json for characters. For any other
// vocabulary it returns an error: such a vocabulary was read from files, which can be copied.
func (t *Tokenizer) Files() (map[string][]byte, error) {
	if p, ok := t.Parts(); ok {
		return p.files()
	}
	if m, ok := t.model.(*wordLevel); ok && t.kind == kindCharacters {
		return m.files(append(t.raw.all(), t.normal.all()...))
	}
	return nil, fmt.Errorf("only byte-level BPE and characters can be written: copy the files " +
		"of this tokenizer")
}

// A jsonFile is a tokenizer.json.
type jsonFile struct {
	Version       string      `json:"version"`
	Truncation    any         `json:"truncation"`
	Padding       any         `json:"padding"`
	Added         []jsonAdded `json:"added_tokens"`
	Normalizer    any         `json:"normalizer"`
	PreTokenizer  any         `json:"pre_tokenizer"`
	PostProcessor any         `json:"post_processor"`
	Decoder       any         `json:"decoder"`
	Model         any         `json:"model"`
}

type jsonAdded struct {
	ID         int    `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	LStrip     bool   `json:"lstrip"`
	RStrip     bool   `json:"rstrip"`
	Normalized bool   `json:"normalized"`
	Special    bool   `json:"special"`
}

// files returns the files of a byte-level BPE vocabulary.
func (p *Parts) files() (map[string][]byte, error) {
	vocab := map[string]int{}
	added := []jsonAdded{}
	for id, text := range p.Tokens {
		switch p.Kinds[id] {
		case Unused:
			continue
		case Control, User:
			added = append(added, jsonAdded{ID: id, Content: text, Special: p.Kinds[id] == Control})
		}
		vocab[text] = id
	}
	level := map[string]any{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true,
		"use_regex": true}
	whole, err := json.Marshal(jsonFile{
		Version: "1.0", Added: added, PreTokenizer: level, PostProcessor: level, Decoder: level,
		Model: map[string]any{"type": "BPE", "vocab": vocab, "merges": slices.Clone(p.Merges)},
	})
	if err != nil {
		return nil, err
	}
	ids, err := json.Marshal(vocab)
	merges := "#version: 0.2\n" + strings.Join(append(slices.Clone(p.Merges), ""), "\n")
	return map[string][]byte{folder.Tokenizer: whole, folder.Vocab: ids,
		folder.Merges: []byte(merges)}, err
}

// files returns the file of a vocabulary of characters. In Hugging Face's library a regular
// expression that matches each of them splits a text into characters. Added tokens are in the
// vocabulary, too: else that library gives them other ids.
func (m *wordLevel) files(tokens []addedToken) (map[string][]byte, error) {
	added := []jsonAdded{}
	for _, t := range tokens {
		added = append(added, jsonAdded{t.id, t.text, t.singleWord, t.leftStrip, t.rightStrip,
			t.normalized, t.special})
	}
	unknown := "<unk>" // of which the vocabulary has none
	for text, id := range m.ids {
		if id == m.unknown {
			unknown = text
		}
	}
	slices.SortFunc(added, func(a, b jsonAdded) int { return a.ID - b.ID })
	whole, err := json.Marshal(jsonFile{
		Version: "1.0", Added: added,
		PreTokenizer: map[string]any{"type": "Split", "behavior": "Isolated", "invert": false,
			"pattern": map[string]any{"Regex": `[\s\S]`}},
		Decoder: map[string]any{"type": "Fuse"},
		Model:   map[string]any{"type": "WordLevel", "vocab": m.ids, "unk_token": unknown},
	})
	return map[string][]byte{folder.Tokenizer: whole}, err
}
