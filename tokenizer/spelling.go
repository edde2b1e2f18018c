// The spelling of tokens: the parts that byte-pair encoding merges into each, and the matcher,
// which finds the tokens at the end of a text by their parts.

package tokenizer

import (
	"cmp"
	"slices"
	"sync"
)

// A spelling has the parts of each token that an encoding can contain: ids of single bytes or
// characters.
type spelling struct {
	*merges
	start []uint32 // [ids+1] parts[start[id]:start[id+1]] of each token; none if it never occurs
	parts []uint32
	ids   []uint32 // of tokens that have parts
	most  int      // parts of the longest token
}

// newSpelling flattens the parts of all tokens, by id.
func newSpelling(m *merges, of [][]uint32) *spelling {
	s := &spelling{merges: m, start: make([]uint32, 1, len(of)+1)}
	for id, parts := range of {
		if len(parts) > 0 {
			s.ids = append(s.ids, uint32(id))
			s.most = max(s.most, len(parts))
		}
		s.parts = append(s.parts, parts...)
		s.start = append(s.start, uint32(len(s.parts)))
	}
	return s
}

func (s *spelling) of(id uint32) []uint32 { return s.parts[s.start[id]:s.start[id+1]] }

// length returns the number of a token's parts.
func (s *spelling) length(id uint32) int { return int(s.start[id+1] - s.start[id]) }

// single reports whether a part is a token by itself.
func (s *spelling) single(id uint32) bool {
	return int(id) < len(s.start)-1 && s.length(id) == 1 && s.of(id)[0] == id
}

// merge returns the tokens of parts, all merged at once.
func (s *spelling) merge(parts []uint32) (tokens []uint32) {
	s.many(len(parts), func(i int) uint32 { return parts[i] },
		func(token uint32, _, _ int) { tokens = append(tokens, token) })
	return tokens
}

const (
	mostParts    = 1 << 20 // of a token
	mostAllParts = 1 << 22 // of all tokens: 400 MB; a vocabulary of 262,144 has 1.8 million
)

// spellMerged finds the parts of each of size tokens from the merges that give it. It returns nil
// if a token is merged from different parts in several ways, or from itself, or tokens are too
// long. No training gives such merges. With them, the parts of a text would not follow from its
// tokens.
func (m *merges) spellMerged(size int) *spelling {
	type way struct{ id, left, right uint32 }
	var ways []way
	for _, slot := range m.pairs.slots {
		if slot.next > 0 {
			ways = append(ways, way{m.merged[slot.next-1], slot.left, slot.right})
		}
	}
	slices.SortFunc(ways, func(a, b way) int { return cmp.Compare(a.id, b.id) })
	of, under, total := make([][]uint32, size), make([]bool, size), 0
	var visit func(id uint32) bool
	visit = func(id uint32) bool {
		if int(id) >= size || under[id] {
			return false
		}
		if of[id] != nil {
			return true
		}
		under[id] = true
		i, _ := slices.BinarySearchFunc(ways, id, func(w way, id uint32) int {
			return cmp.Compare(w.id, id)
		})
		parts := []uint32{id} // no merge gives this token
		for k := i; k < len(ways) && ways[k].id == id; k++ {
			left, right := ways[k].left, ways[k].right
			if !visit(left) || !visit(right) || len(of[left])+len(of[right]) > mostParts {
				return false
			}
			both := slices.Concat(of[left], of[right])
			if k > i && !slices.Equal(both, parts) {
				return false
			}
			parts = both
		}
		of[id], under[id] = parts, false
		total += len(parts)
		return total <= mostAllParts
	}
	for id := range size {
		if !visit(uint32(id)) {
			return nil
		}
	}
	return newSpelling(m, of)
}

// longPieces provides encoders of long pieces that keep every id, and reuses them: making the first
// takes 0.1 s, others a millisecond.
type longPieces struct {
	once    sync.Once
	matcher *matcher
	spelled *spelling
	inside  pairTable // neighbours in the parts of any token
	pool    sync.Pool // of *longPiece
}

// prepare finds the parts of all tokens on its first call. It reports whether there are any.
func (l *longPieces) prepare(spell func() *spelling) bool {
	l.once.Do(func() {
		if s := spell(); s != nil {
			l.spelled, l.matcher = s, newMatcher(s)
			l.inside = newPairTable(len(s.parts))
			for _, id := range s.ids {
				parts := s.of(id)
				for i := range len(parts) - 1 {
					l.inside.set(parts[i], parts[i+1], 0)
				}
			}
		}
	})
	return l.spelled != nil
}

// neighbours reports whether two parts may become parts of one token. If not, no merge crosses the
// border between them.
func (l *longPieces) neighbours(left, right uint32) bool {
	return l.inside.rank(left, right) != none
}

// get returns an encoder of a long piece. The caller must return it with put.
func (l *longPieces) get() *longPiece {
	if p, ok := l.pool.Get().(*longPiece); ok {
		return p
	}
	return newLongPiece(l.spelled, l.matcher, everyID)
}

func (l *longPieces) put(p *longPiece) { l.pool.Put(p) }

// A matcher reads a text part by part and finds the tokens that are suffixes of it: the automaton
// of Aho and Corasick ("Efficient string matching", 1975) over the tokens' parts. Its nodes are the
// prefixes of tokens; node 0 is the empty one. It is immutable.
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
		return cmp.Compare(twigs[a].depth, twigs[b].depth)
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
