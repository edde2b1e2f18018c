// Unigram, a language model of pieces: of all ways to divide a text into pieces, the one with the
// greatest sum of scores (Kudo 2018, https://arxiv.org/abs/1804.10959).

package tokenizer

import (
	"cmp"
	"slices"
	"unicode/utf8"
)

// unigram implements Unigram: the greatest sum in float64. Of equal sums the first one that is
// found wins; the search goes from left to right, shorter pieces first.
type unigram struct {
	pieces   *prefixTree
	scores   []float64 // by id
	unscored float64   // the score of a character without a piece
	unknown  uint32    // none if such a character is an error
	ids      map[string]uint32
	byteID   *[256]uint32 // byte_fallback, if each of a character's bytes has one
	single   bool         // as in sentencepiece: sums are stored in float32
	window   int          // replaces longWay, if not 0
}

// rounded returns a sum as it is stored.
func (m *unigram) rounded(score float64) float64 {
	if m.single {
		return float64(float32(score))
	}
	return score
}

// unknownPenalty is subtracted from the lowest score of all pieces to give that of a character
// without a piece.
const unknownPenalty = 10

// An arc is the best way to a position: the piece that ends there, and the position where it
// begins.
type arc struct {
	score float64
	from  int32 // −1 if there is none
	id    uint32
}

// longWay is the number of bytes that are searched before certain pieces are emitted.
const longWay = 64 << 10

// A lattice is the search for the best way through a text, from position base on.
type lattice struct {
	text    string
	base    int
	best    []arc // by position − base
	unnamed Span  // characters without a piece up to base; more may follow
}

func (m *unigram) tokenize(e *encoded, p passage) error {
	window := cmp.Or(m.window, longWay)
	l := &lattice{text: p.text, best: e.arcs(min(len(p.text), window) + 1)}
	for i := range l.best {
		l.best[i] = arc{from: -1}
	}
	l.best[0] = arc{}
	for at, stop := 0, window; at < len(p.text); stop = at + max(window, at-l.base) {
		var err error
		if at, err = m.search(e, p, l, at, min(stop, len(p.text))); err != nil {
			return err
		}
		if at < len(p.text) {
			err = m.emit(e, p, l, l.certain(at))
		}
		if err != nil {
			return err
		}
	}
	err := m.emit(e, p, l, len(p.text))
	e.arcSpace = l.best
	return err
}

// grow returns the arcs, at least up to that of position.
func (l *lattice) grow(position int) []arc {
	for position-l.base >= len(l.best) {
		l.best = append(l.best, arc{from: -1})
	}
	return l.best
}

// search finds the best ways that begin with a character from at up to stop. It returns where the
// next character begins.
func (m *unigram) search(e *encoded, p passage, l *lattice, at, stop int) (int, error) {
	text, best, base := l.text, l.best, l.base
	for at < stop {
		_, size := utf8.DecodeRuneInString(text[at:])
		here := best[at-base].score
		alone := false // the character is a piece
		node, i := uint32(0), at
		for ; i < len(text); i++ {
			if node = m.pieces.step(node, text[i]); node == none {
				break
			}
			id := m.pieces.nodes[node].id
			if id == none {
				continue
			}
			if i+1-base >= len(best) {
				best = l.grow(i + 1)
			}
			to := &best[i+1-base]
			if score := m.rounded(here + m.scores[id]); to.from < 0 || score > to.score {
				*to = arc{m.rounded(score), int32(at), id}
			}
			alone = alone || i+1-at == size
		}
		if err := p.bound.work(i - at); err != nil {
			return 0, err
		}
		if !alone {
			best = l.grow(at + size)
			to := &best[at+size-base]
			if score := m.rounded(here + m.unscored); to.from < 0 || score > to.score {
				if m.unknown == none {
					return 0, e.unknown(none, p, at, at+size)
				}
				*to = arc{score, int32(at), m.unknown}
			}
		}
		at += size
	}
	return at, nil
}

// certain returns the last position that the best ways to all positions from at on have in common,
// or base if there is none. It follows all ways back together, until only one is left.
func (l *lattice) certain(at int) int {
	live, ways := make([]bool, len(l.best)), 0
	mark := func(i int) {
		if !live[i] {
			live[i] = true
			ways++
		}
	}
	for i := at - l.base; i < len(l.best); i++ {
		if l.best[i].from >= 0 {
			mark(i)
		}
	}
	for i := len(l.best) - 1; i > 0; i-- {
		if !live[i] {
			continue
		}
		if ways == 1 {
			return l.base + i
		}
		ways--
		mark(int(l.best[i].from) - l.base)
	}
	return l.base
}

// emit appends the pieces of the best way up to a position, from which the remaining ways begin.
// Neighbouring characters without a piece become one unknown token; they wait for what follows.
func (m *unigram) emit(e *encoded, p passage, l *lattice, end int) error {
	var path []int // the ends of the pieces, in reverse
	for at := end; at > l.base; at = int(l.best[at-l.base].from) {
		path = append(path, at)
	}
	for _, at := range slices.Backward(path) {
		a := l.best[at-l.base]
		if a.id != m.unknown {
			if err := m.named(e, p, l); err != nil {
				return err
			}
			e.add(int(a.id), p.span(int(a.from), at))
			continue
		}
		if l.unnamed.End == 0 {
			l.unnamed.Start = int(a.from)
		}
		l.unnamed.End = at
	}
	if end == len(l.text) {
		if err := m.named(e, p, l); err != nil {
			return err
		}
	}
	n := copy(l.best, l.best[end-l.base:])
	l.best, l.base = l.best[:n], end
	return nil
}

// named appends the ids for neighbouring characters without a piece, if there are any: the piece
// that they form together, their bytes, or the unknown token.
func (m *unigram) named(e *encoded, p passage, l *lattice) error {
	from, to := l.unnamed.Start, l.unnamed.End
	l.unnamed = Span{}
	if to == 0 {
		return nil
	}
	if whole, ok := m.ids[p.text[from:to]]; ok {
		e.add(int(whole), p.span(from, to))
		return nil
	}
	if m.byteID != nil && e.bytes(m.byteID, p, from, to) {
		return nil
	}
	return e.unknown(m.unknown, p, from, to)
}
