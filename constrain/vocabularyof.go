package constrain

// The vocabulary of a tokenizer.

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
