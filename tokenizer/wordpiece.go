// Models that look words up: WordPiece, WordLevel, and one that knows no text. And the tree that
// finds the tokens at the beginning of a text.

package tokenizer

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"
)

// A model turns a part of a text, after all splitting, into ids.
type model interface {
	tokenize(e *encoded, p passage) error
}

// wordPiece implements WordPiece, BERT's model: the longest token with which a word begins, then
// the longest that continues it, to the end of the word.
type wordPiece struct {
	begins    *prefixTree // tokens that begin a word
	continues *prefixTree // tokens after the first, without their ##
	unknown   uint32      // for a word that has a part without a token; none if that is an error
	longest   int         // the number of characters up to which a word is tried
}

// newWordPiece returns a WordPiece model of a vocabulary. A token with the prefix of continued
// words can also begin a word, if the text has that prefix.
func newWordPiece(v *vocabulary, prefix string, unknown uint32, longest int) *wordPiece {
	begins, continues := make([]treeText, 0, len(v.ids)), make([]treeText, 0, len(v.ids))
	for text, id := range v.ids {
		begins = append(begins, treeText{text, id})
		if rest, ok := strings.CutPrefix(text, prefix); ok && rest != "" {
			continues = append(continues, treeText{rest, id})
		}
	}
	return &wordPiece{begins: newPrefixTree(begins), continues: newPrefixTree(continues),
		unknown: unknown, longest: longest}
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

// A prefixTree is the tree of the prefixes of some texts. Node 0 is the empty one. The children of
// a node lie side by side, sorted by their bytes, so that a step reads few cache lines.
type prefixTree struct {
	nodes []treeNode
	bytes []byte // by node: its last byte
}

type treeNode struct {
	first, count uint32 // children
	id           uint32 // of the text that ends here, or none
}

// A treeText is a text with its id.
type treeText struct {
	text string
	id   uint32
}

// newPrefixTree returns the tree of texts, none of them empty. Of equal texts the highest id
// counts.
func newPrefixTree(texts []treeText) *prefixTree {
	slices.SortFunc(texts, func(a, b treeText) int {
		return cmp.Or(cmp.Compare(a.text, b.text), cmp.Compare(a.id, b.id))
	})
	t := &prefixTree{nodes: []treeNode{{id: none}}, bytes: []byte{0}}
	type part struct{ from, to, depth int } // texts below a node, equal in their first depth bytes
	parts := []part{{0, len(texts), 0}}
	for node := 0; node < len(t.nodes); node++ { // a node's children come after it
		p := parts[node]
		for p.from < p.to && len(texts[p.from].text) == p.depth {
			t.nodes[node].id = texts[p.from].id
			p.from++
		}
		t.nodes[node].first = uint32(len(t.nodes))
		for p.from < p.to {
			c, from := texts[p.from].text[p.depth], p.from
			for p.from < p.to && texts[p.from].text[p.depth] == c {
				p.from++
			}
			t.nodes = append(t.nodes, treeNode{id: none})
			t.bytes = append(t.bytes, c)
			parts = append(parts, part{from, p.from, p.depth + 1})
		}
		t.nodes[node].count = uint32(len(t.nodes)) - t.nodes[node].first
	}
	return t
}

// step returns the child of a node, or none.
func (t *prefixTree) step(node uint32, c byte) uint32 {
	n := &t.nodes[node]
	from, to := n.first, n.first+n.count
	for to-from > 8 {
		middle := (from + to) / 2
		if t.bytes[middle] <= c {
			from = middle
		} else {
			to = middle
		}
	}
	for ; from < to; from++ {
		if t.bytes[from] == c {
			return from
		}
	}
	return none
}

// longest returns the id and the length of the longest text that s begins with, or none and 0.
func (t *prefixTree) longest(s string) (id uint32, length int) {
	id = none
	node := uint32(0)
	for i := range len(s) {
		if node = t.step(node, s[i]); node == none {
			break
		}
		if t.nodes[node].id != none {
			id, length = t.nodes[node].id, i+1
		}
	}
	return id, length
}

// wordLevel implements WordLevel: each part of a text is one token or unknown.
type wordLevel struct {
	ids     map[string]uint32
	unknown uint32 // none if an unknown part is an error
}

func (m *wordLevel) tokenize(e *encoded, p passage) error {
	id, ok := m.ids[p.text]
	if !ok {
		return e.unknown(m.unknown, p, 0, len(p.text))
	}
	e.add(int(id), p.span(0, len(p.text)))
	return nil
}

// onlyBytes is the model of a vocabulary that has only the bytes of each token.
type onlyBytes struct{}

func (onlyBytes) tokenize(*encoded, passage) error {
	return errors.New("the vocabulary has no merges: it turns ids into text only; " +
		"want vocab.json and merges.txt, or tokenizer.json, or ids")
}
