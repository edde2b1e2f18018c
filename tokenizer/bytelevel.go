// Byte-level BPE, GPT-2's scheme: a text is split into pieces (gpt2.go), and the bytes of each
// piece are merged into tokens (bpe.go). The bytes of the tokens, joined, are the text, without the
// bytes that the vocabulary has no token for.

package tokenizer

import (
	"slices"
	"strings"
)

// byteLevel is a byte-level BPE vocabulary. It is a model; for texts that no normalizer changes and
// that only GPT-2's pattern splits, it is splitter and model in one.
type byteLevel struct {
	*tokens              // the bytes of each token
	byteID   [256]uint32 // the token of each single byte, or none
	complete bool        // each byte has a token
	merges
	splitting

	long longPieces
}

// splitting says how a text is prepared. The zero value is GPT-2's way.
type splitting struct {
	whole       bool // no splitting: a text is one piece
	prefixSpace bool // a space is put before a text that does not begin with one
}

// encode splits a text and appends the ids of its pieces. The space of prefixSpace belongs to no
// byte of the text.
func (s *byteLevel) encode(e *encoded, text string, at int) error {
	first, p := len(e.ids), passage{text: text, at: at}
	if s.prefixSpace && text[0] != ' ' {
		p = passage{text: " " + text, at: at - 1}
	}
	for rest := p.text; rest != ""; {
		n := len(rest)
		if !s.whole {
			n = pieceLen(rest)
		}
		e.ids = s.appendPiece(e.ids, rest[:n])
		rest = rest[n:]
	}
	s.place(e, first, p)
	if e.wantSpans && len(e.spans) > first {
		e.spans[first].Start = max(at, e.spans[first].Start)
	}
	return nil
}

// tokenize implements model: it appends the ids of one piece.
func (s *byteLevel) tokenize(e *encoded, p passage) error {
	first := len(e.ids)
	e.ids = s.appendPiece(e.ids, p.text)
	s.place(e, first, p)
	return nil
}

// place appends the spans of the ids of a passage, those from index first on. A byte without a
// token is within a span only if it stands between the bytes of one token.
func (s *byteLevel) place(e *encoded, first int, p passage) {
	if !e.wantSpans {
		return
	}
	to := 0
	for _, id := range e.ids[first:] {
		from := s.skip(p.text, to)
		to = from + 1
		for range s.length(id) - 1 {
			to = s.skip(p.text, to) + 1
		}
		e.spans = append(e.spans, p.span(from, to))
	}
}

// skip returns the index of the first byte of text from index i on that has a token.
func (s *byteLevel) skip(text string, i int) int {
	for !s.complete && i < len(text) && s.byteID[text[i]] == none {
		i++
	}
	return i
}

// kept returns the bytes of a piece that have tokens. The others are dropped before anything is
// merged, as in Hugging Face's library.
func (s *byteLevel) kept(piece string) string {
	b := make([]byte, 0, waitFor)
	for i := range len(piece) {
		if s.byteID[piece[i]] != none {
			b = append(b, piece[i])
		}
	}
	if len(b) == len(piece) {
		return piece
	}
	return string(b)
}

// appendPiece appends the ids of one piece, which is not empty.
func (s *byteLevel) appendPiece(ids []int, piece string) []int {
	if len(piece) > waitFor && s.spells() {
		return s.appendLongPiece(ids, piece)
	}
	if !s.complete {
		piece = s.kept(piece)
	}
	return s.appendKept(ids, piece)
}

// appendKept is appendPiece for a piece that is not very long, and whose bytes all have tokens.
func (s *byteLevel) appendKept(ids []int, piece string) []int {
	if len(piece) > shortPiece {
		return s.appendMerged(ids, piece)
	}
	var part [shortPiece]uint32
	for i := range len(piece) {
		part[i] = s.byteID[piece[i]]
	}
	for _, p := range part[:s.short(&part, nil, len(piece))] {
		ids = append(ids, int(p))
	}
	return ids
}

// appendLongPiece is appendPiece byte by byte. Besides the ids, it needs no memory that grows with
// the piece. Merging the whole piece at once takes about 75 bytes for each of its bytes.
func (s *byteLevel) appendLongPiece(ids []int, piece string) []int {
	s.long.prepare(s.spellBytes)
	p, to := s.long.get(), newest{keep: everyID, ids: ids}
	p.begin()
	s.addTo(p, piece, &to)
	p.end(&to)
	s.long.put(p)
	return to.ids
}

// appendMerged is appendPiece with the parts in a linked list and the possible merges in a heap.
func (s *byteLevel) appendMerged(ids []int, piece string) []int {
	s.many(len(piece), func(i int) uint32 { return s.byteID[piece[i]] },
		func(token uint32, _, _ int) { ids = append(ids, int(token)) })
	return ids
}

// addTo appends the bytes that have tokens to a long piece.
func (s *byteLevel) addTo(p *longPiece, bytes string, to *newest) {
	for i := range len(bytes) {
		if id := s.byteID[bytes[i]]; id != none {
			p.add(id, to)
		}
	}
}

// spells reports whether long pieces can be encoded byte by byte: not if tokens have too many.
func (s *byteLevel) spells() bool { return len(s.text) <= mostAllParts }

// spellBytes returns the bytes of each token that an encoding can contain. Only long pieces need
// it.
func (s *byteLevel) spellBytes() *spelling {
	of := make([][]uint32, s.size())
	for _, id := range slices.Concat(s.byteID[:], s.merged) {
		if id == none || of[id] != nil {
			continue
		}
		token, _ := s.token(int(id))
		for i := range len(token) {
			of[id] = append(of[id], s.byteID[token[i]])
		}
		if slices.Contains(of[id], none) {
			of[id] = []uint32{} // no encoding contains it
		}
	}
	return newSpelling(&s.merges, of)
}

// tokenizer returns the Tokenizer whose pipeline is only this vocabulary.
func (s *byteLevel) tokenizer(added []addedToken, endOfText int) *Tokenizer {
	t := &Tokenizer{tokens: s.tokens, kind: kindByteLevel, level: s, model: s,
		splitters: []splitter{levelSplitter{splitting: s.splitting}},
		decoding:  decoding{tokens: s.tokens}, start: -1, endOfText: endOfText}
	for b, id := range s.byteID {
		if id == none {
			t.missing, t.unknown = append(t.missing, byte(b)), -1
		}
	}
	t.add(added)
	return t
}

// A byteAlphabet is the way in which GPT-2's files write bytes as printable runes (openai/gpt-2,
// src/encoder.py, bytes_to_unicode): printable Latin-1 as itself, the others as U+0100 and
// following.
type byteAlphabet struct {
	runes [256]rune
	bytes [256 + 68]int16 // by rune; −1 if not in the alphabet
}

func newByteAlphabet() *byteAlphabet {
	a := new(byteAlphabet)
	for i := range a.bytes {
		a.bytes[i] = -1
	}
	next := rune(256)
	for b := range rune(256) {
		r := b
		if !('!' <= b && b <= '~' || '¡' <= b && b <= '¬' || '®' <= b) {
			r = next
			next++
		}
		a.runes[b] = r
		a.bytes[r] = int16(b)
	}
	return a
}

// appendBytes appends the bytes of a token. A token with a rune outside the alphabet stands for
// itself, as in Hugging Face's ByteLevel decoder.
func (a *byteAlphabet) appendBytes(dst []byte, token string) []byte {
	from := len(dst)
	for _, r := range token {
		if int(r) >= len(a.bytes) || a.bytes[r] < 0 {
			return append(dst[:from], token...)
		}
		dst = append(dst, byte(a.bytes[r]))
	}
	return dst
}

// spell returns bytes in the byte alphabet.
func (a *byteAlphabet) spell(bytes string) string {
	var b strings.Builder
	for i := range len(bytes) {
		b.WriteRune(a.runes[bytes[i]])
	}
	return b.String()
}

// normalize implements the normalizer ByteLevel: it writes each byte in the byte alphabet.
func (a *byteAlphabet) normalize(p passage, track bool) passage {
	w := rewrite(p, track)
	for i := range len(p.text) {
		w.replace(i, i+1, string(a.runes[p.text[i]]))
	}
	return w.result()
}
