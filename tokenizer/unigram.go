// Unigram, a language model of pieces: of all ways to divide a text into pieces the one with the
// best sum of scores (Kudo 2018, https://arxiv.org/abs/1804.10959).

package tokenizer

import (
	"math"
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

func (m *unigram) tokenize(e *encoded, p passage) error {
	best, err := m.best(e, p)
	if err != nil {
		return err
	}
	var path []Span // backwards; neighbours without a piece are one
	fused := false
	for at := len(p.text); at > 0; {
		a := best[at]
		unknown := a.id == m.unknown
		if unknown && fused {
			path[len(path)-1].Start = int(a.from)
		} else {
			path = append(path, Span{int(a.from), at})
		}
		fused = unknown
		at = int(a.from)
	}
	for i := len(path) - 1; i >= 0; i-- {
		if err := m.piece(e, p, path[i].Start, path[i].End, best[path[i].End].id); err != nil {
			return err
		}
	}
	return nil
}

// best finds the best way to each place.
func (m *unigram) best(e *encoded, p passage) ([]arc, error) {
	text := p.text
	best := e.arcs(len(text) + 1)
	for i := range best {
		best[i].from = -1
	}
	best[0].score = 0
	for at := 0; at < len(text); {
		_, size := utf8.DecodeRuneInString(text[at:])
		here := best[at].score
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
			to := &best[i+1]
			if score := here + m.scores[id]; to.from < 0 || score > to.score {
				*to = arc{m.kept(score), int32(at), id}
			}
			alone = alone || i+1-at == size
		}
		if !alone {
			to := &best[at+size]
			if score := m.kept(here + m.unscored); to.from < 0 || score > to.score {
				if m.unknown == none {
					return nil, e.unknown(none, p, at, at+size)
				}
				*to = arc{score, int32(at), m.unknown}
			}
		}
		at += size
	}
	return best, nil
}

// piece adds the ids of what is between two places: a piece, or neighbours that none is. These may
// still be one together, or have bytes.
func (m *unigram) piece(e *encoded, p passage, from, to int, id uint32) error {
	if id != m.unknown {
		e.add(int(id), p.span(from, to))
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
