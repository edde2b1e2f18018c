// Byte-level BPE of a text that arrives in parts: whole pieces as in bytelevel.go, and very long
// pieces as in longpiece.go, before their end is known.

package tokenizer

import "unicode/utf8"

const (
	// waitFor is the length in bytes from which a piece is encoded before its end is known.
	waitFor = 4096

	// lookAhead is the number of bytes after a piece that pieceLen may read: the last rune of white
	// space, which belongs to the next piece, and the rune after it.
	lookAhead = 2 * utf8.UTFMax
)

// A pieceEncoder encodes a text between added tokens in parts. It may be used for one such text
// after another.
type pieceEncoder struct {
	*byteLevel
	keep    int
	wait    int    // waitFor, or less in tests
	written bool   // a part of the text was written
	pending string // not encoded yet: the beginning of a piece or, within a long piece, of a rune
	long    *longPiece
	within  bool  // a long piece has begun and not ended
	kind    class // of the long piece
	ids     []int // scratch
}

// chunks returns an encoder of texts that arrive in parts. It emits ids to a newest that keeps the
// newest keep.
func (s *byteLevel) chunks(keep int) *pieceEncoder {
	return &pieceEncoder{byteLevel: s, keep: keep, wait: waitFor}
}

// write appends a part, which is not empty.
func (p *pieceEncoder) write(part string, to *newest) {
	if !p.written && p.prefixSpace && part[0] != ' ' {
		part = " " + part
	}
	p.written = true
	p.encode(p.pending+part, false, to)
}

// end ends the text between added tokens.
func (p *pieceEncoder) end(to *newest) {
	p.encode(p.pending, true, to)
	p.written = false
}

// atLeast returns a number of tokens that are not emitted yet and that the text is certain to have.
func (p *pieceEncoder) atLeast() int {
	if p.within {
		return p.long.atLeast()
	}
	return 0
}

// encode encodes all pieces of text that are certain to end in it, or all pieces if last is set.
// The rest stays pending.
func (p *pieceEncoder) encode(text string, last bool, to *newest) {
	for text != "" {
		if !p.within {
			n := len(text)
			if !p.whole {
				n = pieceLen(text)
			}
			if last || !p.whole && n+lookAhead <= len(text) {
				p.ids = p.appendPiece(p.ids[:0], text[:n])
				to.add(p.ids)
				text = text[n:]
				continue
			}
			if len(text) <= p.wait {
				break
			}
			text = p.startLong(text, to)
		}
		if text = p.continueLong(text, last, to); p.within && !last {
			break
		}
	}
	p.pending = text
	if last {
		p.endLong(to)
	}
}

// startLong begins the long piece at the start of text, and returns the bytes that are not added to
// it yet.
func (p *pieceEncoder) startLong(text string, to *newest) (rest string) {
	if p.long == nil {
		p.byteLevel.long.prepare(p.spellBytes)
		p.long = newLongPiece(p.byteLevel.long.spelled, p.byteLevel.long.matcher, p.keep)
	}
	p.long.begin()
	p.within = true
	if p.whole {
		return text
	}
	lead := 0 // as in pieceLen; contractions are short
	if text[0] == ' ' {
		lead = 1
	}
	if p.kind, _ = classify(text[lead:]); p.kind == space {
		return text
	}
	p.addTo(p.long, text[:lead], to)
	return text[lead:]
}

// continueLong adds the bytes of text that belong to the long piece, ends the piece if it ends
// there, and returns the rest. The last rune of white space is part of the piece only at the end of
// the text: until that is known, it is in the rest.
func (p *pieceEncoder) continueLong(text string, last bool, to *newest) (rest string) {
	if p.whole {
		p.addTo(p.long, text, to)
		return ""
	}
	end, before := 0, 0 // the ends of this kind's runes, with and without the last one
	for end < len(text) && (last || utf8.FullRuneInString(text[end:])) {
		kind, size := classify(text[end:])
		if kind != p.kind {
			if p.kind == space {
				end = before
			}
			p.addTo(p.long, text[:end], to)
			p.endLong(to)
			return text[end:]
		}
		before = end
		end += size
	}
	if p.kind == space && !last {
		end = before
	}
	p.addTo(p.long, text[:end], to)
	return text[end:]
}

// endLong ends the long piece, if there is one.
func (p *pieceEncoder) endLong(to *newest) {
	if p.within {
		p.long.end(to)
		p.within = false
	}
}
