package constrain

// Vocabulary: the bytes of a model's ids, arranged once for all constraints.

import (
	"picogpt/constrain/internal/schema"
	"picogpt/constrain/internal/trie"
)

// A Vocabulary holds the bytes of a model's ids, arranged for masks. It is immutable, and any
// number of constraints may use it concurrently.
type Vocabulary struct {
	ids     *trie.Trie
	strings *schema.Vocabulary // what all schemas have in common
	ends    []int              // the ids that end a text
}

// VocabularyOptions are what a vocabulary has besides bytes.
type VocabularyOptions struct {
	// Ends are the ids that end a text. They are open exactly where a text may end. If they have
	// bytes, these do not count: an ASCII character that no other id stands for does not occur in
	// texts of a regex, a choice or a grammar; a text of JSON that needs it ends with an error.
	// Text.EndWith can set others.
	Ends []int

	// Names are ids that a grammar can name as <name>, with the brackets: special tokens, which
	// have no bytes.
	Names map[string]int
}

// NewVocabulary returns a vocabulary. tokens[id] holds the bytes of an id: nil or empty for ids
// without bytes, such as end of text and unused ids; such ids are never open, unless they are Ends.
// An error names the first byte of UTF-8 that no single id stands for: without byte-level ids or
// byte fallback, a constraint could demand text that no ids can write.
func NewVocabulary(tokens [][]byte, o VocabularyOptions) (*Vocabulary, error) {
	ids, err := trie.New(tokens, o.Ends, o.Names)
	if err != nil {
		return nil, err
	}
	return &Vocabulary{ids, &schema.Vocabulary{Trie: ids}, o.Ends}, nil
}

// A Tokenizer has tokens with bytes, and special ones with names. *tokenizer.Tokenizer implements
// it.
type Tokenizer interface {
	Bytes() ([][]byte, error)
	Special() []int
	Text(id int) (string, error)
}

// VocabularyOf returns the vocabulary of a tokenizer. ends are the ids that end a text; ids that
// the tokenizer does not have are ignored. Grammars can name its special tokens by their texts.
func VocabularyOf(t Tokenizer, ends []int) (*Vocabulary, error) {
	tokens, err := t.Bytes()
	if err != nil {
		return nil, err
	}
	o := VocabularyOptions{Names: map[string]int{}}
	for _, id := range ends {
		if id < len(tokens) {
			o.Ends = append(o.Ends, id)
		}
	}
	for _, id := range t.Special() {
		if name, err := t.Text(id); err == nil {
			o.Names[name] = id
		}
	}
	return NewVocabulary(tokens, o)
}

// Size returns the largest id plus one.
func (v *Vocabulary) Size() int { return v.ids.Size }

// Words returns the length of a mask in words of 64 ids.
func (v *Vocabulary) Words() int { return v.ids.Words() }

// Bytes returns the bytes of an id, which the caller must not change. It returns nil for ids
// without bytes and for ids outside the vocabulary.
func (v *Vocabulary) Bytes(id int) []byte {
	if id < 0 || id >= v.ids.Size {
		return nil
	}
	return v.ids.Bytes[id]
}
