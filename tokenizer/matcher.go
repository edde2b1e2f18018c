// Finding the tokens that a text ends with: the automaton of Aho and Corasick ("Efficient string
// matching", 1975) over the tokens' bytes.

package tokenizer

import (
	"cmp"
	"slices"
)

// A matcher reads a text byte by byte and knows the tokens that are suffixes of it. Nodes are the
// beginnings of tokens, node 0 is the empty one. It never changes once it is made.
type matcher struct {
	children pairTable // (node, byte) → node
	fail     []uint32  // by node: the longest proper suffix that is a node too
	token    []uint32  // by node: the token of these bytes, or none
	longest  []uint32  // by node: the longest suffix, the node itself included, that is a token
}

// newMatcher makes the matcher of the tokens of these ids, all different. Of tokens with the same
// bytes it takes the one that wanted says.
func newMatcher(t *tokens, ids []uint32, wanted func(id uint32) bool) *matcher {
	bytes := func(id uint32) string { return t.text[t.start[id]:t.start[id+1]] }
	slices.SortFunc(ids, func(a, b uint32) int { return cmp.Compare(bytes(a), bytes(b)) })
	nodes, before := 1, ""
	for _, id := range ids {
		nodes += len(bytes(id)) - common(before, bytes(id))
		before = bytes(id)
	}
	m := &matcher{
		children: newPairTable(nodes),
		fail:     make([]uint32, nodes),
		token:    make([]uint32, nodes),
		longest:  make([]uint32, nodes),
	}
	m.link(m.grow(ids, bytes, wanted))
	return m
}

// A twig is how a node hangs on its parent.
type twig struct {
	parent uint32
	depth  uint32
	byte   byte
}

// grow makes the tree of the sorted tokens.
func (m *matcher) grow(
	ids []uint32, bytes func(id uint32) string, wanted func(id uint32) bool,
) []twig {
	twigs := make([]twig, 1, len(m.fail))
	m.token[0] = none
	path, before := []uint32{0}, "" // the nodes of the token before, by depth
	for _, id := range ids {
		text := bytes(id)
		path = path[:1+common(before, text)]
		for depth := len(path); depth <= len(text); depth++ {
			node, c := uint32(len(twigs)), text[depth-1]
			parent := path[depth-1]
			m.children.set(parent, uint32(c), node)
			m.token[node] = none
			twigs = append(twigs, twig{parent, uint32(depth), c})
			path = append(path, node)
		}
		if end := &m.token[path[len(text)]]; *end == none || wanted(id) {
			*end = id
		}
		before = text
	}
	return twigs
}

// link finds the suffixes of all nodes, the shorter nodes first.
func (m *matcher) link(twigs []twig) {
	order := make([]uint32, len(twigs))
	for node := range order {
		order[node] = uint32(node)
	}
	slices.SortStableFunc(order, func(a, b uint32) int {
		return cmp.Compare(twigs[a].depth,
			twigs[b].depth)
	})
	for _, node := range order[1:] {
		if t := twigs[node]; t.depth > 1 {
			m.fail[node] = m.step(m.fail[t.parent], t.byte)
		}
		m.longest[node] = node
		if m.token[node] == none {
			m.longest[node] = m.longest[m.fail[node]]
		}
	}
}

// step returns the node after one byte more: the longest suffix of the text that is a node.
func (m *matcher) step(node uint32, c byte) uint32 {
	for {
		if child := m.children.rank(node, uint32(c)); child != none {
			return child
		}
		if node == 0 {
			return 0
		}
		node = m.fail[node]
	}
}

// common returns the length of the common prefix of two strings.
func common(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
