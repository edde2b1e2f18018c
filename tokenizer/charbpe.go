// Byte-pair encoding over characters, as in Hugging Face's library, with affixes, unknown
// characters, and bytes instead of characters.

package tokenizer

import (
	"slices"
	"unicode/utf8"
)

// charBPE implements BPE.
type charBPE struct {
	merges
	ids            idTable
	ascii          [utf8.RuneSelf]uint32 // ids of characters without affixes, or none
	prefix, suffix string                // of every part but a piece's first, and of its last part
	unknown        uint32                // none if there is no such token
	dropped        bool                  // drop characters without a token: none is unknown
	fuse           bool                  // neighbouring unknown characters give one token
	byteID         *[256]uint32          // byte_fallback
	whole          bool                  // a piece that is a token is not merged
	user           *prefixTree           // sentencepiece's texts that are never merged; nil if none
	frozen         uint32                // the first of the ids that stand for those before merging
	long           longPieces
}

// setMerges sets the merges, each two ids and what they make, in the order of their ranks, of a
// vocabulary of so many ids.
func (m *charBPE) setMerges(list [][3]uint32, ids int) {
	m.merges, m.frozen = newMerges(len(list)), uint32(ids)
	for rank, merge := range list {
		m.pairs.set(merge[0], merge[1], uint32(rank))
		m.merged[rank] = merge[2]
	}
	for c := range m.ascii {
		m.ascii[c] = m.ids.id(string(rune(c)))
	}
}

// symbols are the parts of a piece before the merges.
type symbols struct {
	ids       []uint32
	spans     []Span // in the piece, if wantSpans
	wantSpans bool
}

func (s *symbols) add(id uint32, from, to int) {
	if s.ids = append(s.ids, id); s.wantSpans {
		s.spans = append(s.spans, Span{from, to})
	}
}

// of returns the range of the piece for n of the symbols, from index from on.
func (s *symbols) of(from, n int) Span {
	if !s.wantSpans {
		return Span{}
	}
	return Span{s.spans[from].Start, s.spans[from+n-1].End}
}

func (m *charBPE) tokenize(e *encoded, p passage) error {
	if m.whole {
		if id, ok := m.ids[p.text]; ok {
			e.add(int(id), p.span(0, len(p.text)))
			return nil
		}
	}
	s := &e.symbols
	s.ids, s.spans, s.wantSpans = s.ids[:0], s.spans[:0], e.wantSpans
	if err := m.symbols(e, p, s); err != nil {
		return err
	}
	if len(s.ids) <= waitFor || !m.spelled(s.ids) {
		m.merge(e, p, s, 0, len(s.ids))
		return nil
	}
	from, before := 0, 0 // start of the part that is not merged yet, and the border before this one
	for to := 1; to <= len(s.ids); to++ {
		if to < len(s.ids) && m.long.neighbours(s.ids[to-1], s.ids[to]) {
			continue
		}
		if to-from > waitFor && before > from {
			m.merge(e, p, s, from, before)
			from = before
		}
		if to-from > waitFor {
			m.mergeLong(e, p, s, from, to)
			from = to
		}
		before = to
	}
	if before > from {
		m.merge(e, p, s, from, before)
	}
	return nil
}

// merge merges some symbols and appends the resulting tokens.
func (m *charBPE) merge(e *encoded, p passage, s *symbols, from, to int) {
	ids := s.ids[from:to]
	if len(ids) > shortPiece {
		m.many(len(ids), func(i int) uint32 { return ids[i] },
			func(token uint32, i, end int) { m.add(e, p, token, s.of(from+i, end-i)) })
		return
	}
	var part, counts [shortPiece]uint32
	for i, id := range ids {
		part[i], counts[i] = id, 1
	}
	for i := range m.short(&part, &counts, len(ids)) {
		m.add(e, p, part[i], s.of(from, int(counts[i])))
		from += int(counts[i])
	}
}

// spelled reports whether all symbols are parts of tokens, and none is a token of several parts: a
// long piece needs that.
func (m *charBPE) spelled(ids []uint32) bool {
	known := m.long.prepare(func() *spelling {
		size := m.frozen
		if m.user != nil {
			size *= 2
		}
		return m.spellMerged(int(size))
	})
	return known && !slices.ContainsFunc(ids, func(id uint32) bool {
		return !m.long.spelled.single(id)
	})
}

// mergeLong is merge for many symbols: it appends their tokens as they become certain. Merging all
// of them at once takes about 100 bytes for each.
func (m *charBPE) mergeLong(e *encoded, p passage, s *symbols, from, to int) {
	long, sure := m.long.get(), newest{keep: everyID}
	long.begin()
	add := func() {
		for _, id := range sure.ids {
			n := long.length(uint32(id))
			m.add(e, p, uint32(id), s.of(from, n))
			from += n
		}
		sure.ids = sure.ids[:0]
	}
	for i, id := range s.ids[from:to] {
		if long.add(id, &sure); i%waitFor == 0 {
			add()
		}
	}
	long.end(&sure)
	add()
	m.long.put(long)
}

// add appends a token for a range of the piece.
func (m *charBPE) add(e *encoded, p passage, id uint32, of Span) {
	if id >= m.frozen {
		id -= m.frozen
	}
	e.add(int(id), p.span(of.Start, of.End))
}

// symbols finds the symbols of a piece. An unknown character waits until the next one is known,
// because that may fuse with it.
func (m *charBPE) symbols(e *encoded, p passage, s *symbols) error {
	text := p.text
	waits := Span{} // unknown characters
	for i, size := 0, 0; i < len(text); i += size {
		_, size = utf8.DecodeRuneInString(text[i:])
		id, written := m.symbol(text, i, size)
		if m.user != nil {
			if user, n := m.user.longest(text[i:]); n > 0 {
				id, size = m.frozen+user, n
			}
		}
		if id != none {
			if waits.End > 0 {
				s.add(m.unknown, waits.Start, waits.End)
				waits = Span{}
			}
			s.add(id, i, i+size)
			continue
		}
		if m.byteID != nil && m.bytes(s, p, written, i, i+size) {
			continue
		}
		switch {
		case m.dropped:
		case m.unknown == none:
			return e.unknown(none, p, i, i+size)
		case waits.End > 0 && m.fuse:
			waits.End = i + size
		default:
			if waits.End > 0 {
				s.add(m.unknown, waits.Start, waits.End)
			}
			waits = Span{i, i + size}
		}
	}
	if waits.End > 0 {
		s.add(m.unknown, waits.Start, waits.End)
	}
	return nil
}

// symbol returns the id of the character at byte i, or none, and its written form.
func (m *charBPE) symbol(text string, i, size int) (id uint32, written string) {
	if c := text[i]; c < utf8.RuneSelf && m.prefix == "" && m.suffix == "" {
		return m.ascii[c], text[i : i+1]
	}
	written = text[i : i+size]
	if i > 0 && m.prefix != "" {
		written = m.prefix + written
	}
	if i+size == len(text) && m.suffix != "" {
		written += m.suffix
	}
	return m.ids.id(written), written
}

// bytes adds a symbol for each byte of a character's written form, if all have one.
func (m *charBPE) bytes(s *symbols, p passage, written string, from, to int) bool {
	for i := range len(written) {
		if m.byteID[written[i]] == none {
			return false
		}
	}
	if !p.bound.grow(len(written) - (to - from)) {
		return false
	}
	for i := range len(written) {
		at := min(from+i, to)
		s.add(m.byteID[written[i]], at, min(at+1, to))
	}
	return true
}
