// Encoding a text that arrives in parts, in memory that does not grow with it: whole pieces as in
// bytelevel.go, and very long pieces as in longpiece.go, before their end is known.

package tokenizer

import (
	"math"
	"unicode/utf8"
)

// An Encoder encodes a text that is written to it in parts. It keeps the newest ids and counts the
// others. The ids are those of [Tokenizer.Encode] for the whole text, wherever the parts end.
//
// For byte-level BPE without normalizers, such as GPT-2's, the memory depends on the vocabulary and
// on the number of ids that it keeps, not on the text. For other vocabularies it holds the text.
type Encoder struct {
	t       *Tokenizer
	added   *addedTokens  // all of them, if chunk is not nil
	chunk   *pieceEncoder // nil: the whole text is pending up to its end
	ids     newest
	pending []byte
	pause   func() error
	err     error
}

// NewEncoder returns an Encoder that keeps the newest keep ids; keep is at least 1.
func (t *Tokenizer) NewEncoder(keep int) *Encoder {
	keep = max(1, keep)
	e := &Encoder{t: t, ids: newest{keep: keep}, added: t.raw}
	if t.normal.any {
		e.added = t.normal
	}
	if t.level != nil && t.level.spells() && !t.prompt && !e.added.odd &&
		!(t.raw.any && t.normal.any) {
		e.chunk = t.level.chunks(keep)
	}
	return e
}

// OnStep sets what [Encoder.End] asks between the steps of its work, where that was not done by
// Write: an error ends the encoding. It may be nil.
func (e *Encoder) OnStep(pause func() error) { e.pause = pause }

// Write takes the next part of the text. It returns no error: End returns that of Encode.
func (e *Encoder) Write(part []byte) (int, error) {
	if e.chunk == nil {
		e.pending = append(e.pending, part...)
	} else {
		e.write(string(part), false)
	}
	return len(part), nil
}

// AtLeast returns a number of tokens that the text is certain to have, whatever follows.
func (e *Encoder) AtLeast() int {
	if e.chunk == nil {
		return e.ids.total
	}
	return e.ids.total + e.chunk.atLeast()
}

// Take returns the ids that are certain and were kept, in order, and removes them.
func (e *Encoder) Take() []int { return e.ids.take() }

// End ends the text. It returns the newest ids that were not taken, in order, and the number of ids
// of the whole text.
func (e *Encoder) End() (ids []int, total int, err error) {
	if e.chunk != nil {
		e.write("", true)
	} else if e.err == nil {
		all := encoded{ids: make([]int, 0, len(e.pending)/4+1), pause: e.pause}
		e.err = e.t.encode(&all, string(e.pending))
		e.ids.add(all.ids)
		e.pending = nil
	}
	if e.err != nil {
		return nil, 0, e.err
	}
	return e.ids.all(), e.ids.total, nil
}

// write finds the added tokens in the pending text and in part. It leaves the end of it pending if
// that may be the beginning of an added token.
func (e *Encoder) write(part string, last bool) {
	text := string(e.pending) + part
	for {
		i, token := -1, addedToken{}
		certain := len(text)
		if e.t.asked || e.added.always {
			if !last {
				certain = max(0, len(text)-max(0, e.added.longest-1))
			}
			i, token = e.added.find(text, certain, e.t.asked)
		}
		if i >= 0 {
			certain = i
		}
		if certain > 0 {
			e.chunk.write(text[:certain], &e.ids)
		}
		text = text[certain:]
		if i < 0 {
			break
		}
		e.chunk.end(&e.ids)
		e.ids.add([]int{token.id})
		text = text[len(token.text):]
	}
	if e.pending = append(e.pending[:0], text...); last {
		e.chunk.end(&e.ids)
	}
}

// everyID is larger than the number of ids of any text.
const everyID = math.MaxInt

// newest holds the newest ids of a sequence, at most keep, and the number of all ids.
type newest struct {
	keep  int
	total int
	ids   []int // a ring buffer when it is full
	next  int   // the index of the next id when the ring is full
}

func (n *newest) add(ids []int) {
	n.total += len(ids)
	for _, id := range ids[max(0, len(ids)-n.keep):] {
		if len(n.ids) < n.keep {
			n.ids = append(n.ids, id)
			continue
		}
		n.ids[n.next] = id
		if n.next++; n.next == n.keep {
			n.next = 0
		}
	}
}

// skip counts ids that are not known. At least keep others must follow.
func (n *newest) skip(count int) { n.total += count }

// take returns all ids that were kept, and removes them.
func (n *newest) take() []int {
	all := n.all()
	n.ids, n.next = n.ids[:0], 0
	return all
}

func (n *newest) all() []int {
	return append(append(make([]int, 0, len(n.ids)), n.ids[n.next:]...), n.ids[:n.next]...)
}

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
