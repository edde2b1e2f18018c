package textzip

// What a writer and a reader have in common: the model, and how a group is cut.

import (
	"bytes"
	"fmt"
	"sync"

	"picogpt/checkpoint"
	"picogpt/internal/engine"
	"picogpt/model"
	"picogpt/tokenizer"
)

// A codec turns groups of text into payloads of blocks, and back.
type codec struct {
	Header
	model     *model.Model
	tokenizer *tokenizer.Tokenizer
	bytes     [][]byte // of each id in a text; nil for ids that no text has
	start     int      // the token that a stream begins with

	rows sync.Pool // of *frequencies
}

// newCodec returns the codec of a model, which is of the checkpoint. Window, Overlap, Streams and
// Name of the header are left open.
func newCodec(c *checkpoint.Checkpoint, m *model.Model) (*codec, error) {
	k := &codec{model: m}
	vocab := m.Config().VocabSize
	k.rows.New = func() any { return newFrequencies(vocab) }
	k.Arithmetic, k.Format, k.Cache = engine.Arithmetic, m.Format(), m.CacheFormat()
	var err error
	if k.tokenizer, err = c.Tokenizer(); err != nil {
		return nil, err
	}
	if k.bytes, err = roundTrip(k.tokenizer); err != nil {
		return nil, err
	}
	config := m.Config()
	config.Generation = model.Generation{} // which the digest of the model does not cover
	var ok bool
	if k.start, ok = config.StartToken(); !ok {
		if k.start, ok = k.tokenizer.EndOfText(); !ok || k.start >= vocab {
			return nil, fmt.Errorf("bos_token_id and eos_token_id: none within the vocabulary of "+
				"%d, want one to begin texts with", vocab)
		}
	}
	if k.Model, err = c.Digest(); err != nil {
		return nil, err
	}
	k.Tokenizer, err = c.TokenizerDigest()
	return k, err
}

// roundTrip returns the bytes of each id, if a text's tokens have together the text's bytes,
// whatever they are.
func roundTrip(t *tokenizer.Tokenizer) ([][]byte, error) {
	each, err := t.Bytes()
	if err != nil {
		return nil, err
	}
	var all []byte
	for i := range 256 {
		all = append(all, byte(i))
	}
	all = append(all, "a  B É e\u0301 ﬁ\r\n <|endoftext|>"...)
	ids, err := t.Encode(string(all))
	if missing, _ := t.Missing(); err == nil && len(missing) > 0 {
		err = fmt.Errorf("the vocabulary has no token for %d of the 256 bytes", len(missing))
	} else if err == nil && !bytes.Equal(join(each, ids), all) {
		err = fmt.Errorf("texts do not come back from their tokens")
	}
	if err != nil {
		return nil, fmt.Errorf("tokenizer: %s, want byte-level BPE, from which any bytes come "+
			"back: %w", t.Kind(), err)
	}
	return each, nil
}

// join returns the bytes of ids.
func join(each [][]byte, ids []int) (text []byte) {
	for _, id := range ids {
		text = append(text, each[id]...)
	}
	return text
}

// cut returns the segments of a group.
func (k *codec) cut(text []byte) [][]byte {
	n := max(1, min(k.Streams, len(text)/leastSegment))
	segments := make([][]byte, n)
	for i := range segments {
		segments[i] = text[i*len(text)/n : (i+1)*len(text)/n]
	}
	return segments
}
