// The Tokenizer: text to ids and back. Its parts are in split.go (text to pieces), bpe.go (a piece to ids) and
// added.go (special tokens).

package tokenizer

import (
	"fmt"
	"strings"
)

// EndOfTextToken is how GPT-2's end-of-text token is written.
const EndOfTextToken = "<|endoftext|>"

// Unknown stands in Encode's result for a byte that the vocabulary has no token for. It is no id: Decode and the
// models refuse it. Only a file's vocabulary that lacks some of the 256 bytes can lead to it; [Tokenizer.Encodable]
// says so beforehand. GPT2 has all 256.
const Unknown = -1

// A Tokenizer is a byte-level BPE vocabulary with its rules. It never changes after [GPT2] or [Load] has made it, so
// any number of goroutines may use it at once.
type Tokenizer struct {
	text  string   // the bytes of all tokens, in id order
	start []uint32 // [size+1] token id is text[start[id]:start[id+1]]; empty: no token has this id

	byteID [256]uint32 // the token of each single byte, or none
	pairs  pairTable   // which two ids merge, and when
	merged []uint32    // [merges] what the merge of each rank gives

	added       [256][]addedToken // by first byte, sorted
	alwaysAdded bool              // some added token is not special: it is found in any text
	endOfText   int               // or Unknown

	whole       bool // no splitting: a text is one piece
	prefixSpace bool // a text that does not begin with a space gets one
}

// Encode returns the ids of text. Special tokens written in it are ordinary text. The text may be any bytes: a byte
// that is no part of valid UTF-8 is split off as a symbol would be, and keeps its value. For valid UTF-8 and GPT2 the
// ids are those of OpenAI's tiktoken (r50k_base, encode_ordinary).
func (t *Tokenizer) Encode(text string) []int {
	return t.encode(text, false)
}

// EncodeSpecial is Encode, but the vocabulary's special tokens (GPT-2's only one is <|endoftext|>) written in text
// become their single ids, the leftmost first and of several there the longest.
func (t *Tokenizer) EncodeSpecial(text string) []int {
	return t.encode(text, true)
}

func (t *Tokenizer) encode(text string, special bool) []int {
	ids := make([]int, 0, len(text)/4+1) // English has about 4.4 bytes a token
	if special || t.alwaysAdded {
		for {
			at, token := t.findAdded(text, special)
			if at < 0 {
				break
			}
			ids = t.appendChunk(ids, text[:at])
			ids = append(ids, token.id)
			text = text[at+len(token.text):]
		}
	}
	return t.appendChunk(ids, text)
}

// appendChunk appends the ids of text, which holds no added token to look for.
func (t *Tokenizer) appendChunk(ids []int, text string) []int {
	if t.prefixSpace && text != "" && text[0] != ' ' {
		text = " " + text
	}
	for text != "" {
		n := len(text)
		if !t.whole {
			n = pieceLen(text)
		}
		ids = t.appendPiece(ids, text[:n])
		text = text[n:]
	}
	return ids
}

// Encodable returns nil if the vocabulary has a token for every byte of text, as GPT2 has, else an error that names
// the first byte without one. After nil, Encode's ids hold no Unknown, and Decode gives text back.
func (t *Tokenizer) Encodable(text string) error {
	for i := range len(text) {
		if t.byteID[text[i]] == none {
			return fmt.Errorf("byte %d of the text, %#02x: the vocabulary has no token for it", i, text[i])
		}
	}
	return nil
}

// Decode returns the bytes that ids stand for, which are valid UTF-8 only if the ids come from such a text. An id that
// the vocabulary does not have is an error.
func (t *Tokenizer) Decode(ids []int) (string, error) {
	var b strings.Builder
	for _, id := range ids {
		token, err := t.token(id)
		if err != nil {
			return "", err
		}
		b.WriteString(token)
	}
	return b.String(), nil
}

// Bytes returns a copy of the bytes of one token, often a part of a word and sometimes a part of a rune. The lengths of
// a text's tokens add up to the text's, so they give each token's offset. (A vocabulary with add_prefix_space puts
// one space before a text.)
func (t *Tokenizer) Bytes(id int) ([]byte, error) {
	token, err := t.token(id)
	return []byte(token), err
}

// token returns the bytes of a token without a copy.
func (t *Tokenizer) token(id int) (string, error) {
	if id >= 0 && id < t.Size() {
		if from, to := t.start[id], t.start[id+1]; from < to {
			return t.text[from:to], nil
		}
	}
	return "", fmt.Errorf("token id %d is unknown: the vocabulary has %d ids", id, t.Size())
}

// Size returns the number of ids: all are below it. GPT2's is 50257. A file's vocabulary may leave some out.
func (t *Tokenizer) Size() int {
	return len(t.start) - 1
}

// Gaps returns the ids below Size that no token has, in ascending order: nil for GPT2.
func (t *Tokenizer) Gaps() (ids []int) {
	for id := range t.Size() {
		if t.start[id] == t.start[id+1] {
			ids = append(ids, id)
		}
	}
	return ids
}

// EndOfText returns the id of <|endoftext|>, and whether the vocabulary has one.
func (t *Tokenizer) EndOfText() (id int, ok bool) {
	return t.endOfText, t.endOfText != Unknown
}
