package automaton

// Stacks: where a text goes on when its rules end. All stacks of one node are one set.

// A stack is a set of stacks of nodes at which calling rules continue. Those that begin with ret
// continue with one of up; the others are in other, and begin with a greater node. The set of the
// empty stack alone is nil, and an empty set is none. Sets never change, and share what they have
// in common: a text that can be read in 2^n ways has sets of n nodes. Equal sets are one pointer,
// until the machine forgets them.
type stack struct {
	ret       int32
	id        uint32
	up, other *stack

	ids   int32  // 1 + those of its end, of Ends; 0: not known
	after *after // where a text continues when a rule ends; nil: not known
}

// An after is where a text continues when a rule ends: the positions, and whether it may end.
type after struct {
	positions []position
	accepts   bool
}

var none = &stack{}

func (s *stack) number() uint32 {
	if s == nil {
		return 0
	}
	return s.id
}

type stackKey struct {
	ret       int32
	up, other *stack
}

const (
	maxStacks = 1 << 16 // sets that are stored; if there are more, all are dropped, with all states
	maxUnions = 1 << 15 // unions that are stored; if there are more, those nobody asked for are dropped
	stackWork = 2       // steps for a set
)

// push returns the set of the stacks that begin with a node, and of others.
func (m *Machine) push(ret int32, up, other *stack) *stack {
	key := stackKey{ret, up, other}
	s := m.stacks[key]
	if s == nil && m.Spend(stackWork) {
		m.made++
		s = &stack{ret: ret, id: m.made, up: up, other: other}
		m.stacks[key] = s
	}
	return s
}

// union returns a set with the stacks of both; it is a if that has them all.
func (m *Machine) union(a, b *stack) *stack {
	switch {
	case a == b || b == none || m.Err != nil:
		return a
	case a == none:
		return b
	}
	key := [2]*stack{a, b}
	s, ok := m.unions[0][key]
	if ok || !m.Spend(2*stackWork) {
		return s
	}
	s, ok = m.unions[1][key]
	switch {
	case ok:
	case b == nil || a != nil && a.ret < b.ret:
		s = m.changed(a, a.up, m.union(a.other, b))
	case a == nil || a.ret > b.ret:
		s = m.changed(b, b.up, m.union(a, b.other))
	default:
		s = m.changed(a, m.union(a.up, b.up), m.union(a.other, b.other))
	}
	if m.Err == nil {
		m.unions[0][key] = s
	}
	return s
}

// changed returns a set with the first node of s, which is s if nothing has changed.
func (m *Machine) changed(s, up, other *stack) *stack {
	if up == s.up && other == s.other {
		return s
	}
	return m.push(s.ret, up, other)
}

// ended returns where a text continues when a rule ends.
func (m *Machine) ended(s *stack) (found []position, accepts bool) {
	if s == nil || s == none {
		return nil, s == nil
	}
	if s.after == nil {
		found, accepts := m.follow([]position{{s.ret, s.up}})
		others, too := m.ended(s.other)
		found = m.joined(append(found, others...))
		if m.Err != nil {
			return nil, false
		}
		m.kept += len(found)
		s.after = &after{found, accepts || too}
	}
	return s.after.positions, s.after.accepts
}
