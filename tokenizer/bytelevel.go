// Byte-level BPE, GPT-2's scheme: a text is split into pieces (split.go), and the bytes of each
// piece are merged into tokens (bpe.go). The bytes of the tokens, joined, are the text.

package tokenizer

import (
	"fmt"
	"slices"
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
	prefixed := s.prefixSpace && text[0] != ' '
	if err := s.encodable(text, at, prefixed); err != nil {
		return err
	}
	first := len(e.ids)
	rest := text
	if prefixed {
		rest = " " + text
	}
	for rest != "" {
		n := len(rest)
		if !s.whole {
			n = pieceLen(rest)
		}
		e.ids = s.appendPiece(e.ids, rest[:n])
		rest = rest[n:]
	}
	if !e.wantSpans {
		return nil
	}
	end := at
	if prefixed {
		end--
	}
	for _, id := range e.ids[first:] {
		start := max(end, at)
		end += s.length(id)
		e.spans = append(e.spans, Span{start, end})
	}
	return nil
}

// tokenize implements model: it appends the ids of one piece.
func (s *byteLevel) tokenize(e *encoded, p passage) error {
	if err := s.encodable(p.text, p.at, false); err != nil {
		return err
	}
	first := len(e.ids)
	e.ids = s.appendPiece(e.ids, p.text)
	if !e.wantSpans {
		return nil
	}
	at := 0
	for _, id := range e.ids[first:] {
		e.spans = append(e.spans, p.span(at, at+s.length(id)))
		at += s.length(id)
	}
	return nil
}

// appendPiece appends the ids of one piece, which is not empty; each of its bytes has a token.
func (s *byteLevel) appendPiece(ids []int, piece string) []int {
	switch {
	case len(piece) > waitFor:
		return s.appendLongPiece(ids, piece)
	case len(piece) > shortPiece:
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
	m := s.newMerging(len(piece), func(i int) uint32 { return s.byteID[piece[i]] })
	m.all()
	for i := 0; i < len(m.list); i = int(m.list[i].next) {
		ids = append(ids, int(m.list[i].part))
	}
	return ids
}

// encodable returns an error if the vocabulary has no token for a byte of text, which begins at
// byte `at` of the whole text.
func (s *byteLevel) encodable(text string, at int, prefixed bool) error {
	if s.complete {
		return nil
	}
	if prefixed && s.byteID[' '] == none {
		return fmt.Errorf("byte %d of the text: add_prefix_space wants a space before it, and the "+
			"vocabulary has no token for one", at)
	}
	for i := range len(text) {
		if s.byteID[text[i]] == none {
			return fmt.Errorf("byte %d of the text, %#02x: the vocabulary has no token for it",
				at+i, text[i])
		}
	}
	return nil
}

// addTo appends bytes to a long piece.
func (s *byteLevel) addTo(p *longPiece, bytes string, to *newest) {
	for i := range len(bytes) {
		p.add(s.byteID[bytes[i]], to)
	}
}

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
	t.add(added)
	return t
}
