package automaton

// Ends: of each node of a network, the shortest text with which its rule ends; and so of each state
// of a machine.

import "unicode/utf8"

// Ends knows the shortest texts with which a text of a machine ends. Tokens are counted by a
// function of the vocabulary. Texts are characters as bytes, and ids that are read whole as 256 and
// the id. Who may use the machine may use its Ends.
type Ends struct {
	m      *Machine
	way    []int32  // [node] of a split, where the shortest text goes on with which the rule ends
	tokens []int32  // [node] 1 + the tokens of that text, or 0 if not known yet
	others [2]int32 // ids that have bytes
	forms  [][]byte // the shortest texts of the forms
	count  func(text []int32) int
}

// Never is more bytes or tokens than a text has.
const Never = 1 << 28

// NewEnds returns the ends of a machine. count counts the tokens of a text; others are two ids that
// have bytes, and forms has a short text of each form.
func NewEnds(
	m *Machine, others [2]int32, forms [][]byte, count func(text []int32) int,
) *Ends {
	e := &Ends{m: m, count: count, others: others, forms: forms}
	e.tokens = make([]int32, len(m.net.nodes))
	_, e.way = m.net.nearest(nil, func(node *node) int32 {
		switch {
		case !node.alive:
			return Never
		case node.kind == readNode:
			return int32(utf8.RuneLen(plainest(m.net.sets[node.set])))
		case node.kind == formNode:
			return int32(len(forms[node.id]))
		}
		return 1 // a whole token
	})
	return e
}

// plainest returns the character of a set that is written where any of them may be.
func plainest(set Set) rune {
	for _, from := range [...]rune{'a', '0', ' ', 0, 0xe000} {
		for _, r := range set {
			if c := max(r.Lo, from); c <= r.Hi && (c < 0x7f || from == 0) && utf8.ValidRune(c) {
				return c
			}
		}
	}
	return set[0].Lo // only surrogates, which no text has
}

// ofNode adds the shortest text with which the rule of a node ends.
func (e *Ends) ofNode(text []int32, node int32) []int32 {
	for todo := []int32{node}; len(todo) > 0; {
		i := todo[len(todo)-1]
		n := &e.m.net.nodes[i]
		todo = todo[:len(todo)-1]
		switch n.kind {
		case splitNode:
			todo = append(todo, e.way[i])
			continue
		case endNode:
			continue
		case callNode:
			todo = append(todo, n.ret)
		case idNode:
			id := n.id
			if n.not {
				if id = e.others[0]; id == n.id {
					id = e.others[1]
				}
			}
			text = append(text, 256+id)
		default:
			var bytes []byte
			if n.kind == formNode {
				bytes = e.forms[n.id]
			} else {
				bytes = utf8.AppendRune(nil, plainest(e.m.net.sets[n.set]))
			}
			for _, b := range bytes {
				text = append(text, int32(b))
			}
		}
		todo = append(todo, n.to)
	}
	return text
}

// tokensOf returns how many tokens the text of ofNode has.
func (e *Ends) tokensOf(node int32) int32 {
	if e.tokens[node] == 0 {
		e.tokens[node] = 1 + int32(min(e.count(e.ofNode(nil, node)), Never))
	}
	return e.tokens[node] - 1
}

// up returns the fewest tokens with which the rules of a stack end.
func (e *Ends) up(s *stack) int32 {
	switch {
	case s == nil:
		return 0
	case s == none:
		return Never
	case s.ids == 0:
		s.ids = 1 + min(e.up(s.up)+e.tokensOf(s.ret), e.up(s.other), Never)
	}
	return s.ids - 1
}

// Need returns a number of tokens with which a text ends after a state.
func (e *Ends) Need(s *State) int {
	if s.Accepts {
		return 0
	}
	if s.ids == 0 {
		s.ids = Never
		for _, p := range s.positions {
			s.ids = min(s.ids, 1+e.tokensOf(p.node)+e.up(p.stack))
		}
	}
	return int(s.ids) - 1
}

// Text returns the end of a state that has the fewest tokens, rule by rule.
func (e *Ends) Text(s *State) (text []int32) {
	if s.Accepts {
		return nil
	}
	for _, p := range s.positions {
		if int(e.tokensOf(p.node)+e.up(p.stack)) == e.Need(s) {
			text = e.ofNode(text, p.node)
			for s := p.stack; s != nil; {
				if e.up(s.other) < min(e.up(s.up)+e.tokensOf(s.ret), Never) {
					s = s.other
					continue
				}
				text, s = e.ofNode(text, s.ret), s.up
			}
			break
		}
	}
	return text
}
