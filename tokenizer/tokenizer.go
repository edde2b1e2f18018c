// The Tokenizer: what every kind of vocabulary has in common. The kinds are schemes: bytelevel.go
// is GPT-2's. Added tokens (added.go) are found here, before a scheme sees the text.

package tokenizer

import (
	"fmt"
	"slices"
	"strings"
)

// EndOfTextToken is how GPT-2's end-of-text token is written.
const EndOfTextToken = "<|endoftext|>"

// A Tokenizer is a vocabulary with its rules. It never changes after [GPT2] or [Load] has made it,
// so any number of goroutines may use it at once.
type Tokenizer struct {
	tokens    *tokens
	scheme    scheme
	added     *addedTokens
	endOfText int  // -1: none
	special   bool // Encode reads special tokens in a text as such
}

// A scheme is one kind of tokenization: how it turns text into ids and back, between added tokens.
type scheme interface {
	// encode appends the ids of text, which begins at byte `at` of the whole text, to e, with their
	// spans if e wants them. What it cannot encode is an error that names the byte.
	encode(e *encoded, text string, at int) error

	// chunks returns an encoder of texts that come in parts, each of them between added tokens. It
	// hands on ids to one that keeps the newest keep.
	chunks(keep int) chunkEncoder

	// decoder returns a decoder at the beginning of a text or, if begun, within one.
	decoder(begun bool) Decoder
}

// A Span is a range of bytes of a text, [Start, End).
type Span struct{ Start, End int }

// encoded is what encoding has given so far.
type encoded struct {
	ids       []int
	spans     []Span // [len(ids)] if wantSpans
	wantSpans bool
}

// add appends one token.
func (e *encoded) add(id int, s Span) {
	e.ids = append(e.ids, id)
	if e.wantSpans {
		e.spans = append(e.spans, s)
	}
}

// WithSpecial returns the same vocabulary with another rule: special tokens (GPT-2's only one is
// <|endoftext|>) written in a text become their single ids, the leftmost first and of several there
// the longest. Without it, they are ordinary text.
func (t *Tokenizer) WithSpecial() *Tokenizer {
	special := *t
	special.special = true
	return &special
}

// Encode returns the ids of text. Special tokens written in it are ordinary text, unless the
// tokenizer is one of [Tokenizer.WithSpecial]. The text may be any bytes: a byte that is no part of
// valid UTF-8 is split off as a symbol would be, and keeps its value. A part of the text that the
// vocabulary has no token for is an error that names the byte; GPT2 has a token for every byte. For
// valid UTF-8 and GPT2 the ids are those of OpenAI's tiktoken (r50k_base, encode_ordinary).
func (t *Tokenizer) Encode(text string) ([]int, error) {
	e := encoded{ids: make([]int, 0, len(text)/4+1)} // English has about 4.4 bytes a token
	err := t.encode(&e, text)
	return e.ids, err
}

// EncodeSpans is Encode, and tells for each id which bytes of text it stands for. Spans may be
// empty (of a token that a rule of the vocabulary puts in) and may begin or end within a rune.
func (t *Tokenizer) EncodeSpans(text string) (ids []int, spans []Span, err error) {
	e := encoded{ids: make([]int, 0, len(text)/4+1), wantSpans: true}
	err = t.encode(&e, text)
	return e.ids, e.spans, err
}

func (t *Tokenizer) encode(e *encoded, text string) error {
	at := 0
	if t.special || t.added.always {
		for {
			i, token := t.added.find(text[at:], len(text)-at, t.special)
			if i < 0 {
				break
			}
			if err := t.encodeChunk(e, text[at:at+i], at); err != nil {
				return err
			}
			at += i
			e.add(token.id, Span{at, at + len(token.text)})
			at += len(token.text)
		}
	}
	return t.encodeChunk(e, text[at:], at)
}

func (t *Tokenizer) encodeChunk(e *encoded, text string, at int) error {
	if text == "" {
		return nil
	}
	return t.scheme.encode(e, text, at)
}

// Decode returns the bytes that ids stand for, which are valid UTF-8 only if the ids come from such
// a text. An id that the vocabulary does not have is an error.
func (t *Tokenizer) Decode(ids []int) (string, error) {
	text, _, err := t.decode(ids, nil)
	return text, err
}

// DecodeSpans is Decode, and tells for each id which bytes of the text it stands for. Where a
// token's bytes are certain only with a later token, they count as the later one's.
func (t *Tokenizer) DecodeSpans(ids []int) (text string, spans []Span, err error) {
	return t.decode(ids, make([]Span, 0, len(ids)))
}

func (t *Tokenizer) decode(ids []int, spans []Span) (string, []Span, error) {
	var b strings.Builder
	d := t.NewDecoder(nil)
	for _, id := range ids {
		from := b.Len()
		text, err := d.Push(id)
		if err != nil {
			return "", nil, err
		}
		b.WriteString(text)
		if spans != nil {
			spans = append(spans, Span{from, b.Len()})
		}
	}
	b.WriteString(d.Flush())
	if n := len(spans); n > 0 {
		spans[n-1].End = b.Len()
	}
	return b.String(), spans, nil
}

// Text returns the bytes that a token adds in the middle of a text, for showing one token: often a
// part of a word and sometimes a part of a rune. The text of several tokens is Decode's, and not
// their Texts joined, for in some vocabularies a token is written otherwise at a text's beginning.
func (t *Tokenizer) Text(id int) (string, error) {
	d := t.scheme.decoder(true)
	text, err := d.Push(id)
	return text + d.Flush(), err
}

// Size returns the number of ids: all are below it. GPT2's is 50257. A file's vocabulary may leave
// some out.
func (t *Tokenizer) Size() int { return t.tokens.size() }

// Gaps returns the ids below Size that no token has, in ascending order: nil for GPT2.
func (t *Tokenizer) Gaps() (ids []int) {
	for id := range t.Size() {
		if t.tokens.length(id) == 0 {
			ids = append(ids, id)
		}
	}
	return ids
}

// EndOfText returns the id of <|endoftext|>, and whether the vocabulary has one.
func (t *Tokenizer) EndOfText() (id int, ok bool) {
	return t.endOfText, t.endOfText >= 0
}

// Special returns the ids of the special tokens, in ascending order.
func (t *Tokenizer) Special() []int {
	return slices.Clone(t.added.special)
}

// tokens are a vocabulary's tokens by id.
type tokens struct {
	text  string   // of all tokens, in id order
	start []uint32 // [size+1] token id is text[start[id]:start[id+1]]; empty: no token has this id
}

// token returns a token as the vocabulary has it, without a copy.
func (t *tokens) token(id int) (string, error) {
	if id >= 0 && id < t.size() {
		if from, to := t.start[id], t.start[id+1]; from < to {
			return t.text[from:to], nil
		}
	}
	return "", fmt.Errorf("token id %d is unknown: the vocabulary has %d ids", id, t.size())
}

// length returns the length of a token, 0 if no token has the id, which is below size.
func (t *tokens) length(id int) int { return int(t.start[id+1] - t.start[id]) }

// size returns the number of ids, those that no token has included.
func (t *tokens) size() int { return len(t.start) - 1 }
