// Finding the tokens at the end of a text: the automaton of Aho and Corasick ("Efficient string
// matching", 1975) over the tokens' parts.

package tokenizer

import (
	"cmp"
	"slices"
)

// A matcher reads a text part by part and finds the tokens that are suffixes of it. Its nodes are
// the prefixes of tokens; node 0 is the empty one. It is immutable.
type matcher struct {
	children pairTable // (node, part) → node
	fail     []uint32  // by node: the longest proper suffix that is a node
	token    []uint32  // by node: the token of these parts, or none
	longest  []uint32  // by node: the longest suffix that is a token; it may be the node itself
}

// newMatcher returns the matcher of all tokens that have parts. Of tokens with the same parts it
// takes the one that they merge to.
func newMatcher(s *spelling) *matcher {
	ids := slices.Clone(s.ids)
	slices.SortFunc(ids, func(a, b uint32) int { return slices.Compare(s.of(a), s.of(b)) })
	nodes, before := 1, []uint32(nil)
	for _, id := range ids {
		nodes += len(s.of(id)) - common(before, s.of(id))
		before = s.of(id)
	}
	m := &matcher{
		children: newPairTable(nodes),
		fail:     make([]uint32, nodes),
		token:    make([]uint32, nodes),
		longest:  make([]uint32, nodes),
	}
	m.link(m.grow(s, ids))
	return m
}

// A twig says how a node is attached to its parent.
type twig struct {
	parent uint32
	depth  uint32
	part   uint32
}

// grow builds the tree of the sorted tokens.
func (m *matcher) grow(s *spelling, ids []uint32) []twig {
	twigs := make([]twig, 1, len(m.fail))
	m.token[0] = none
	path, before := []uint32{0}, []uint32(nil) // the nodes of the previous token, by depth
	for _, id := range ids {
		parts := s.of(id)
		path = path[:1+common(before, parts)]
		for depth := len(path); depth <= len(parts); depth++ {
			node, part := uint32(len(twigs)), parts[depth-1]
			parent := path[depth-1]
			m.children.set(parent, part, node)
			m.token[node] = none
			twigs = append(twigs, twig{parent, uint32(depth), part})
			path = append(path, node)
		}
		end := &m.token[path[len(parts)]]
		if *end == none || slices.Equal(s.merge(parts), []uint32{id}) {
			*end = id
		}
		before = parts
	}
	return twigs
}

// link finds the suffixes of all nodes, shorter nodes first.
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
			m.fail[node] = m.step(m.fail[t.parent], t.part)
		}
		m.longest[node] = node
		if m.token[node] == none {
			m.longest[node] = m.longest[m.fail[node]]
		}
	}
}

// step returns the node after one more part: the longest suffix of the text that is a node.
func (m *matcher) step(node, part uint32) uint32 {
	for {
		if child := m.children.rank(node, part); child != none {
			return child
		}
		if node == 0 {
			return 0
		}
		node = m.fail[node]
	}
}

// common returns the length of the common prefix of two tokens.
func common(a, b []uint32) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
