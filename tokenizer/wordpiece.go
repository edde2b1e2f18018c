// WordPiece, BERT's model: the longest token that a word begins with, then the longest that goes on
// with it, and so to its end.

package tokenizer

import "unicode/utf8"

// A model turns a part of a text that no pre-tokenizer cuts into ids.
type model interface {
	tokenize(e *encoded, p passage) error
}

// wordPiece is WordPiece.
type wordPiece struct {
	begins  *prefixTree // tokens that begin a word
	goesOn  *prefixTree // tokens after the first, without the ## before them
	unknown uint32      // for a word that has a part without a token; none: an error
	longest int         // characters of a word that is tried
}

func (m *wordPiece) tokenize(e *encoded, p passage) error {
	before := len(e.ids)
	bad := len(p.text) > m.longest && utf8.RuneCountInString(p.text) > m.longest
	for at := 0; at < len(p.text) && !bad; {
		tree := m.goesOn
		if at == 0 {
			tree = m.begins
		}
		id, n := tree.longest(p.text[at:])
		if bad = n == 0; !bad {
			e.add(int(id), p.span(at, at+n))
			at += n
		}
	}
	if !bad {
		return nil
	}
	e.cut(before)
	return e.unknown(m.unknown, p, 0, len(p.text))
}
