// Finding the tokens at the beginning of a text.

package tokenizer

import (
	"cmp"
	"slices"
)

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
