// Byte-level BPE of a text that comes in parts: whole pieces as in bytelevel.go, and pieces that
// are too long to wait for their end as in longpiece.go.

package tokenizer

import "unicode/utf8"

const (
	// waitFor is how long a piece may get, in bytes, before it is encoded without waiting for its
	// end.
	waitFor = 4096

	// lookAhead is how many bytes after a piece pieceLen may look at: the last rune of white space,
	// which belongs to the next piece, and the rune after it.
	lookAhead = 2 * utf8.UTFMax
)

// A pieceEncoder is a byteLevel's encoding of a text between added tokens, in parts. It may be used
// for one such text after another.
type pieceEncoder struct {
	*byteLevel
	keep    int
	wait    int    // waitFor, or less in tests
	begun   bool   // something of the text is written
	pending string // not yet encoded: the beginning of a piece, or within a long one of a rune
	long    *longPiece
	within  bool  // long is a piece under way
	kind    class // of the long piece
	ids     []int // scratch
}

// chunks returns an encoder of texts that come in parts, which hands on ids to one that keeps the
// newest keep.
func (s *byteLevel) chunks(keep int) *pieceEncoder {
	return &pieceEncoder{byteLevel: s, keep: keep, wait: waitFor}
}

// write appends a part, which begins at byte `at` of the whole text.
func (p *pieceEncoder) write(part string, at int, to *newest) error {
	prefixed := !p.begun && p.prefixSpace && part[0] != ' '
	if err := p.encodable(part, at, prefixed); err != nil {
		return err
	}
	p.begun = true
	if prefixed {
		part = " " + part
	}
	p.encode(p.pending+part, false, to)
	return nil
}

// end says that the text between added tokens is complete.
func (p *pieceEncoder) end(to *newest) {
	p.encode(p.pending, true, to)
	p.begun = false
}

// atLeast returns how many tokens besides those handed on the text has at least.
func (p *pieceEncoder) atLeast() int {
	if p.within {
		return p.long.atLeast()
	}
	return 0
}

// encode encodes all pieces of text that are certain to end in it, or if it is the last of them
// all, and leaves the rest pending.
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

// startLong begins the long piece that text begins with, and returns what is not yet added to it.
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
	lead := 0 // as in pieceLen; no contraction is so long
	if text[0] == ' ' {
		lead = 1
	}
	if p.kind, _ = classify(text[lead:]); p.kind == space {
		return text
	}
	p.addTo(p.long, text[:lead], to)
	return text[lead:]
}

// continueLong adds to the long piece what text has of it, ends it if it ends there, and returns
// the rest. Of white space, the last rune is part of the piece only at the end of the text: until
// that is known, it is in the rest.
func (p *pieceEncoder) continueLong(text string, last bool, to *newest) (rest string) {
	if p.whole {
		p.addTo(p.long, text, to)
		return ""
	}
	end, before := 0, 0 // of the runes of this kind, and of all of them but one
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
