// Unigram, a language model of pieces: of all ways to divide a text into pieces the one with the
// best sum of scores (Kudo 2018, https://arxiv.org/abs/1804.10959).

package tokenizer

import (
	"cmp"
	"math"
	"slices"
	"unicode/utf8"
)

// unigram is Unigram: the best sum in float64, the first that is found winning ties, from left to
// right and shorter pieces first.
type unigram struct {
	pieces   *prefixTree
	scores   []float64 // by id
	unscored float64   // the score of a character that no piece is
	unknown  uint32    // none: an error
	ids      map[string]uint32
	byteID   *[256]uint32 // byte_fallback, if each of a character's bytes has one
	single   bool         // as sentencepiece has it: sums are kept in float32
	window   int          // in the place of longWay, if not 0
}

// kept is a sum as it is remembered.
func (m *unigram) kept(score float64) float64 {
	if m.single {
		return float64(float32(score))
	}
	return score
}

// unknownPenalty is how much worse than the worst piece a character is that no piece is.
const unknownPenalty = 10

// An arc is the best way to a place: the piece that ends there, and where it begins.
type arc struct {
	score float64
	from  int32 // −1: there is none
	id    uint32
}

// longWay is how many bytes of a text are looked at before what is certain of them is handed on.
const longWay = 64 << 10

// A lattice is the search of the best way through a text: of the places from base on.
type lattice struct {
	text    string
	base    int
	best    []arc // by place − base
	unnamed Span  // characters up to base that no piece is, and that more may follow
}

func (m *unigram) tokenize(e *encoded, p passage) error {
	window := cmp.Or(m.window, longWay)
	l := &lattice{text: p.text, best: e.arcs(min(len(p.text), window) + 1)}
	for i := range l.best {
		l.best[i] = arc{from: -1}
	}
	l.best[0] = arc{}
	next := window
	for at := 0; at < len(p.text); {
		if at-l.base >= next {
			if err := m.handOn(e, p, l, l.certain(at)); err != nil {
				return err
			}
			next = max(window, 2*(at-l.base))
		}
		size, err := m.step(e, p, l, at)
		if err != nil {
			return err
		}
		at += size
	}
	err := m.handOn(e, p, l, len(p.text))
	e.arcSpace = l.best
	return err
}

// to returns the arc to a place.
func (l *lattice) to(place int) *arc {
	for place-l.base >= len(l.best) {
		l.best = append(l.best, arc{from: -1})
	}
	return &l.best[place-l.base]
}

// step finds the ways that one more character, or a piece from there on, gives.
func (m *unigram) step(e *encoded, p passage, l *lattice, at int) (size int, err error) {
	text := l.text
	_, size = utf8.DecodeRuneInString(text[at:])
	here := l.to(at).score
	alone := false // the character is a piece
	node := uint32(0)
	for i := at; i < len(text); i++ {
		if node = m.pieces.step(node, text[i]); node == none {
			break
		}
		id := m.pieces.nodes[node].id
		if id == none {
			continue
		}
		to := l.to(i + 1)
		if score := here + m.scores[id]; to.from < 0 || score > to.score {
			*to = arc{m.kept(score), int32(at), id}
		}
		alone = alone || i+1-at == size
	}
	if !alone {
		to := l.to(at + size)
		if score := m.kept(here + m.unscored); to.from < 0 || score > to.score {
			if m.unknown == none {
				return 0, e.unknown(none, p, at, at+size)
			}
			*to = arc{score, int32(at), m.unknown}
		}
	}
	return size, nil
}

// certain returns the last place that the best ways to all places from at on go through, base if
// there is none. It follows the ways back, all at once, to where one is left.
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

// handOn appends the pieces of the best way up to a place, which the places after it begin at.
// Neighbours that no piece is are one, and wait for what follows.
func (m *unigram) handOn(e *encoded, p passage, l *lattice, end int) error {
	var path []int // the ends of the pieces, backwards
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

// named appends the ids of neighbours that no piece is, if there are any. They may still be one
// together, or have bytes.
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

// worst returns the least score.
func worst(scores []float64) float64 {
	least := math.Inf(1)
	for _, score := range scores {
		least = min(least, score)
	}
	return least
}
