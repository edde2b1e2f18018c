// The Tokenizer: a vocabulary and the pipeline from text to ids and back, and what it has encoded
// so far.

package tokenizer

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"picogpt/internal/quote"
)

// EndOfTextToken is the text of GPT-2's end-of-text token.
const EndOfTextToken = "<|endoftext|>"

// A Tokenizer is a vocabulary with its rules. It is immutable, so any number of goroutines may use
// it at once.
type Tokenizer struct {
	tokens *tokens
	kind   string // of vocabulary, for users

	// The pipeline, in its order.
	raw         *addedTokens // found in the original text
	normalizers []normalizer
	normal      *addedTokens // found in the normalized text
	splitters   []splitter
	model       model
	level       *byteLevel // splitters and model in one, if nothing else is needed; else nil
	decoding    decoding

	missing   []byte // bytes without a token in byte-level BPE, ascending
	unknown   int    // the token of those; -1 if they are dropped
	special   []int  // ids of special tokens, ascending
	origins   bool   // a splitter needs to know the origin of a text
	start     int    // the token at the beginning of a prompt; -1 if there is none
	endOfText int    // -1 if there is none

	asked   bool              // special tokens in a text become their ids
	prompt  bool              // Encode puts start before a text
	strange func(text string) // called with a text without a known token; may be nil
}

// Kinds of vocabularies, for users.
const (
	kindByteLevel  = "byte-level BPE"
	kindBPE        = "BPE"
	kindWordPiece  = "WordPiece"
	kindUnigram    = "Unigram"
	kindWordLevel  = "WordLevel"
	kindCharacters = "characters"
	kindOnlyBytes  = "bytes of ids"
)

// WithSpecial returns the same vocabulary with another rule: special tokens (GPT-2 has only
// <|endoftext|>) that are written in a text become their ids, the leftmost first, and the longest
// if several begin there. Without it they are ordinary text, except those of a WordPiece vocabulary
// ([CLS], [SEP], [MASK]), which become ids in any text, because prompts for such models contain
// them.
func (t *Tokenizer) WithSpecial() *Tokenizer {
	special := *t
	special.asked = true
	return &special
}

// ForPrompts returns the same vocabulary with another rule: Encode puts the token with which
// prompts of such models begin before the ids, unless it is already there. A WordPiece vocabulary
// has such a token, [CLS]; for any other ForPrompts changes nothing. No token is put after a text:
// [SEP] would end it.
func (t *Tokenizer) ForPrompts() *Tokenizer {
	prompts := *t
	prompts.prompt = t.start >= 0
	return &prompts
}

// OnUnknown returns the same vocabulary, which calls tell with each text of which it knows nothing:
// all of its ids are the one for unknown text. Most often the vocabulary is meant for other texts.
// Goroutines that encode may call tell at the same time.
func (t *Tokenizer) OnUnknown(tell func(text string)) *Tokenizer {
	told := *t
	told.strange = tell
	return &told
}

// Unknown returns the id of the token for text that the vocabulary does not know, and whether it
// has one.
func (t *Tokenizer) Unknown() (id int, ok bool) {
	unknown := uint32(none)
	switch m := t.model.(type) {
	case *charBPE:
		unknown = m.unknown
	case *wordPiece:
		unknown = m.unknown
	case *unigram:
		unknown = m.unknown
	case *wordLevel:
		unknown = m.unknown
	}
	if unknown == none {
		return -1, false
	}
	return int(unknown), true
}

// Start returns the id of the token with which prompts begin (see [Tokenizer.ForPrompts]), and
// whether the vocabulary has one.
func (t *Tokenizer) Start() (id int, ok bool) { return t.start, t.start >= 0 }

// WithStart returns ids with the token with which prompts begin before them, unless it is already
// there or the vocabulary has none. See [Tokenizer.ForPrompts].
func (t *Tokenizer) WithStart(ids []int) []int {
	if t.start < 0 || len(ids) > 0 && ids[0] == t.start {
		return ids
	}
	return slices.Insert(slices.Clone(ids), 0, t.start)
}

// Kind names the kind of vocabulary: "byte-level BPE", "BPE", "WordPiece", "Unigram", "WordLevel",
// "characters", "bytes of ids".
func (t *Tokenizer) Kind() string { return t.kind }

// Encode returns the ids of text. Special tokens in it are ordinary text, unless WithSpecial
// returned the tokenizer. The text may be any bytes: a byte that is no part of valid UTF-8 is split
// off like a symbol, and keeps its value. A part of the text that the vocabulary has no token for
// becomes its token for unknown text; is dropped if byte-level BPE has none ([Tokenizer.Missing]);
// else the error names the byte. GPT2 has a token for every byte. For valid UTF-8 and GPT2 the ids
// are those of OpenAI's tiktoken (r50k_base, encode_ordinary).
func (t *Tokenizer) Encode(text string) ([]int, error) {
	e := encoded{ids: make([]int, 0, len(text)/4+1)} // English has about 4.4 bytes a token
	err := t.encode(&e, text)
	return e.ids, err
}

// EncodeSpans is Encode, and also returns the bytes of text for each id. A span may be empty (for a
// token that a rule of the vocabulary adds), and may begin or end within a rune.
func (t *Tokenizer) EncodeSpans(text string) (ids []int, spans []Span, err error) {
	e := encoded{ids: make([]int, 0, len(text)/4+1), wantSpans: true}
	err = t.encode(&e, text)
	return e.ids, e.spans, err
}

// encode runs the pipeline.
func (t *Tokenizer) encode(e *encoded, text string) error {
	e.special, e.track = t.asked, e.wantSpans || t.origins
	first, b := len(e.ids), &bound{bytes: len(text), pause: e.pause}
	err := t.encodePassage(e, passage{text: text, bound: b})
	if err != nil && b.err == nil && !e.track { // the error must name a byte of the original text
		e.cut(first)
		e.track = true
		b.grown, b.worked = 0, 0
		err = t.encodePassage(e, passage{text: text, bound: b})
	}
	if b.err != nil {
		err = b.err
	}
	if t.strange != nil && err == nil && t.knowsNothing(text, e.ids[first:]) {
		t.strange(text)
	}
	if err == nil && t.prompt && (len(e.ids) == first || e.ids[first] != t.start) {
		e.ids = slices.Insert(e.ids, first, t.start)
		if e.wantSpans {
			e.spans = slices.Insert(e.spans, first, Span{})
		}
	}
	return err
}

// knowsNothing reports whether all ids of a text are the one for unknown text, whose own text may
// stand there.
func (t *Tokenizer) knowsNothing(text string, ids []int) bool {
	id, ok := t.Unknown()
	differs := func(other int) bool { return other != id }
	if !ok || len(ids) == 0 || slices.ContainsFunc(ids, differs) {
		return false
	}
	own, err := t.tokens.token(id)
	return err != nil || !strings.Contains(text, own)
}

// encodePassage appends the ids of a text.
func (t *Tokenizer) encodePassage(e *encoded, p passage) error {
	take := func(token addedToken, p passage) error {
		e.add(token.id, p.span(0, len(p.text)))
		return nil
	}
	return t.raw.split(p, e.special, func(p passage) error {
		p, err := normalized(t.normalizers, p, e.track)
		if err != nil {
			return err
		}
		return t.normal.split(p, e.special, func(p passage) error {
			return t.encodeOrdinary(e, p)
		}, take)
	}, take)
}

// normalized rewrites a text.
func normalized(list []normalizer, p passage, track bool) (passage, error) {
	for _, n := range list {
		read := len(p.text)
		p = n.normalize(p, track)
		if err := p.bound.work(read); err != nil {
			return p, err
		}
	}
	return p, nil
}

// encodeOrdinary appends the ids of a text without added tokens.
func (t *Tokenizer) encodeOrdinary(e *encoded, p passage) error {
	switch {
	case p.text == "":
		return nil
	case t.level != nil && p.spans == nil:
		return t.level.encode(e, p.text, p.at)
	}
	return chain(t.splitters, p, e.track, func(p passage) error { return t.model.tokenize(e, p) })
}

// Decode returns the bytes of ids. They are valid UTF-8 only if the ids come from such a text. An
// id that the vocabulary does not have is an error.
func (t *Tokenizer) Decode(ids []int) (string, error) {
	text, _, err := t.decode(ids, nil)
	return text, err
}

// DecodeSpans is Decode, and also returns the bytes of the text for each id. Bytes that are certain
// only with a later token belong to that token.
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
	rest, err := flushed(d)
	if err != nil {
		return "", nil, err
	}
	b.WriteString(rest)
	if n := len(spans); n > 0 {
		spans[n-1].End = b.Len()
	}
	return b.String(), spans, nil
}

// Text returns the bytes that a token adds in the middle of a text, to show one token: often a part
// of a word and sometimes a part of a rune. Use Decode for the text of several tokens: in some
// vocabularies a token is written differently at the beginning of a text.
func (t *Tokenizer) Text(id int) (string, error) {
	d := t.decoding.decoder(true)
	text, err := d.Push(id)
	return text + d.Flush(), err
}

// Size returns the number of ids: all are below it. GPT2's is 50257. A vocabulary from a file may
// have ids without a token.
func (t *Tokenizer) Size() int { return t.tokens.size() }

// Gaps returns the ids below Size without a token, in ascending order: nil for GPT2.
func (t *Tokenizer) Gaps() (ids []int) {
	for id := range t.Size() {
		if t.tokens.length(id) == 0 {
			ids = append(ids, id)
		}
	}
	return ids
}

// Missing returns the bytes, in ascending order, that a vocabulary of byte-level BPE has no token
// for, and the id that stands in texts for each: -1 if they are dropped. It returns nil for GPT2,
// and for vocabularies of other kinds, whose unknown characters are no list.
func (t *Tokenizer) Missing() (bytes []byte, unknown int) {
	if len(t.missing) == 0 {
		return nil, -1
	}
	return slices.Clone(t.missing), t.unknown
}

// EndOfText returns the id of the token that ends a text, and whether the vocabulary has one:
// <|endoftext|>, else </s> if that is a special token, else [SEP] of a WordPiece vocabulary.
func (t *Tokenizer) EndOfText() (id int, ok bool) {
	return t.endOfText, t.endOfText >= 0
}

// Special returns the ids of the special tokens, in ascending order.
func (t *Tokenizer) Special() []int {
	return slices.Clone(t.special)
}

// tokens are a vocabulary's tokens by id.
type tokens struct {
	text  string   // of all tokens, in id order
	start []uint32 // [size+1] token id is text[start[id]:start[id+1]]; empty if no token has the id
}

// token returns the text of a token in the vocabulary, without a copy.
func (t *tokens) token(id int) (string, error) {
	if id >= 0 && id < t.size() {
		if from, to := t.start[id], t.start[id+1]; from < to {
			return t.text[from:to], nil
		}
	}
	return "", fmt.Errorf("token id %d is unknown: the vocabulary has %d ids", id, t.size())
}

// length returns the length of a token, or 0 if no token has the id, which is below size.
func (t *tokens) length(id int) int { return int(t.start[id+1] - t.start[id]) }

// size returns the number of ids, with those that no token has.
func (t *tokens) size() int { return len(t.start) - 1 }

// A Span is a range of bytes of a text, [Start, End).
type Span struct{ Start, End int }

// encoded is the result of encoding so far.
type encoded struct {
	ids       []int
	spans     []Span // [len(ids)] if wantSpans
	wantSpans bool
	special   bool // special tokens in the text become their ids
	track     bool // passages know their origin
	pause     func() error
	arcSpace  []arc
	symbols   symbols
}

// add appends one token. A span never begins before the one before it: without this rule it would
// if bytes of a character come before unknown characters that wait (charbpe.go).
func (e *encoded) add(id int, s Span) {
	e.ids = append(e.ids, id)
	if e.wantSpans {
		if n := len(e.spans); n > 0 {
			s.Start = max(s.Start, e.spans[n-1].Start)
			s.End = max(s.Start, s.End)
		}
		e.spans = append(e.spans, s)
	}
}

// cut removes tokens, so that n are left.
func (e *encoded) cut(n int) {
	e.ids = e.ids[:n]
	if e.wantSpans {
		e.spans = e.spans[:n]
	}
}

// unknown appends the token for text that the vocabulary has no token for. If there is no such
// token, it returns an error that names the first character and its byte.
func (e *encoded) unknown(id uint32, p passage, from, to int) error {
	if id == none {
		_, size := utf8.DecodeRuneInString(p.text[from:])
		return fmt.Errorf("byte %d of the text, %s: the vocabulary has no token for it",
			p.span(from, to).Start, quote.Short(p.text[from:from+size], 60))
	}
	e.add(int(id), p.span(from, to))
	return nil
}

// bytes appends a token for each byte, if all bytes have one.
func (e *encoded) bytes(ids *[256]uint32, p passage, from, to int) bool {
	for i := from; i < to; i++ {
		if ids[p.text[i]] == none {
			return false
		}
	}
	for i := from; i < to; i++ {
		e.add(int(ids[p.text[i]]), p.span(i, i+1))
	}
	return true
}

// arcs returns n arcs, which the caller sets.
func (e *encoded) arcs(n int) []arc {
	if cap(e.arcSpace) < n {
		e.arcSpace = make([]arc, n+n/2)
	}
	return e.arcSpace[:n]
}

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
