// A vocabulary that turns ids into text, and no text into ids.

package tokenizer

import "errors"

// onlyBytes is the scheme of a vocabulary of which only the bytes of each token are known.
type onlyBytes struct{ *tokens }

var errOnlyBytes = errors.New("the vocabulary has no merges: it turns ids into text only; " +
	"want vocab.json and merges.txt, or tokenizer.json, or ids")

func (s onlyBytes) encode(*encoded, string, int) error { return errOnlyBytes }
func (s onlyBytes) chunks(int) chunkEncoder            { return s }
func (s onlyBytes) write(string, int, *newest) error   { return errOnlyBytes }
func (s onlyBytes) end(*newest)                        {}
func (s onlyBytes) atLeast() int                       { return 0 }

// A token's bytes are the same anywhere, so there is no state.
func (s onlyBytes) decoder(bool) Decoder        { return s }
func (s onlyBytes) Push(id int) (string, error) { return s.token(id) }
func (s onlyBytes) Flush() string               { return "" }
func (s onlyBytes) Fork() Decoder               { return s }
