package tokenizer

// Bytes returns the bytes of each id in a text, [Size]: nil for special tokens and for ids without
// a token. Package constrain makes its vocabulary from it.
func (t *Tokenizer) Bytes() ([][]byte, error) {
	all := make([][]byte, t.Size())
	b := bound{bytes: len(t.tokens.text)}
	for id := range all {
		if t.tokens.length(id) == 0 {
			continue
		}
		text, err := t.Text(id)
		if b.grow(len(text) - t.tokens.length(id)); err == nil {
			err = b.err
		}
		if err != nil {
			return nil, err
		}
		all[id] = []byte(text)
	}
	for _, id := range t.Special() {
		all[id] = nil
	}
	return all, nil
}
