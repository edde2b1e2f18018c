package constrain

// The vocabulary of a tokenizer.

// A Tokenizer has tokens with bytes, and special ones with names. *tokenizer.Tokenizer is one.
type Tokenizer interface {
	Bytes() ([][]byte, error)
	Special() []int
	Text(id int) (string, error)
}

// VocabularyOf arranges a tokenizer's tokens. ends are the ids that end a text, of which those are
// left out that it does not have; grammars know its special tokens by their texts.
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
