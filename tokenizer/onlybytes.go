// A vocabulary that can turn ids into text, but not text into ids.

package tokenizer

import "errors"

// onlyBytes is the model of a vocabulary that has only the bytes of each token.
type onlyBytes struct{}

func (onlyBytes) tokenize(*encoded, passage) error {
	return errors.New("the vocabulary has no merges: it turns ids into text only; " +
		"want vocab.json and merges.txt, or tokenizer.json, or ids")
}
