// WordPiece, BERT's model: the longest token with which a word begins, then the longest that
// continues it, to the end of the word.

package tokenizer

import "unicode/utf8"

// A model turns a part of a text, after all splitting, into ids.
type model interface {
	tokenize(e *encoded, p passage) error
}

// wordPiece implements WordPiece.
type wordPiece struct {
	begins    *prefixTree // tokens that begin a word
	continues *prefixTree // tokens after the first, without their ##
	unknown   uint32      // for a word that has a part without a token; none if that is an error
	longest   int         // the number of characters up to which a word is tried
}

func (m *wordPiece) tokenize(e *encoded, p passage) error {
	before := len(e.ids)
	bad := len(p.text) > m.longest && utf8.RuneCountInString(p.text) > m.longest
	for at := 0; at < len(p.text) && !bad; {
		tree := m.continues
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
