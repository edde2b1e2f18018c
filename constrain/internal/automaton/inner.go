package automaton

// Networks made of others, and nodes that read the texts of forms which are no networks.

import (
	"fmt"
	"slices"
)

// Form adds a node that reads a whole text of a form, which has a number.
func (n *Network) Form(form int, to int32) int32 {
	return n.add(node{kind: formNode, id: int32(form), to: to})
}

// Add adds the nodes of another network, which is not used any more, and returns the first of a text
// of it that continues at to. The numbers of its forms stay.
func (n *Network) Add(what string, o *Network, to int32) (int32, error) {
	if err := o.prune(); err != nil {
		return 0, err
	}
	start := o.rules[0].start
	if !o.nodes[start].alive {
		return 0, fmt.Errorf("%s: no text can match it", what)
	}
	base := int32(len(n.nodes))
	if int(base)+len(o.nodes) > n.limit {
		return 0, fmt.Errorf("%s: the automaton has more than %d states", what, n.limit)
	}
	calls := slices.ContainsFunc(o.nodes, func(n node) bool { return n.kind == callNode })
	for i := range o.nodes {
		node := o.nodes[i]
		for k := range node.more {
			node.more[k] += base
		}
		node.to, node.ret = node.to+base, node.ret+base
		switch {
		case node.kind == readNode:
			node.set = n.charset(o.sets[node.set])
		case node.kind == endNode && !calls: // of the only rule that is read
			node.kind, node.more = splitNode, []int32{to}
		}
		n.add(node)
	}
	if !calls {
		return start + base, n.meter.Failed()
	}
	for _, r := range o.rules {
		n.Rule(r.name, r.start+base)
	}
	return n.Call(start+base, to), n.meter.Failed()
}

// EachForm calls f with the forms of which a text begins at a state.
func (m *Machine) EachForm(s *State, f func(form int)) {
	if !s.tokens {
		return
	}
	var before []int32
	for _, p := range s.positions {
		n := &m.net.nodes[p.node]
		if n.kind == formNode && !slices.Contains(before, n.id) {
			before = append(before, n.id)
			f(int(n.id))
		}
	}
}

// Reads reports whether a state reads whole tokens or forms.
func (s *State) Reads() bool { return s.tokens }

// AfterForm returns the state after a text of a form that begins at a state.
func (m *Machine) AfterForm(s *State, form int) *State {
	m.list = m.list[:0]
	for _, p := range s.positions {
		if n := &m.net.nodes[p.node]; n.kind == formNode && int(n.id) == form {
			m.list = append(m.list, position{n.to, p.stack})
		}
	}
	return m.closure(m.list)
}
