package automaton

// Networks made of others, and nodes that read the texts of forms which are no networks.

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Form adds a node that reads a whole text of a form, which has a number.
func (n *Network) Form(form int, to int32) int32 {
	return n.add(node{kind: formNode, id: int32(form), to: to})
}

// Add adds the nodes of another network, which is not used any more, and returns the first of a text
// of it that continues at to. The numbers of its forms stay.
func (n *Network) Add(what string, o *Network, to int32) int32 {
	o.prune()
	start := o.rules[0].start
	if !o.nodes[start].alive {
		n.meter.Fail(fmt.Errorf("%s: no text can match it", what))
	}
	base := int32(len(n.nodes))
	if int(base)+len(o.nodes) > n.limit {
		n.meter.Fail(fmt.Errorf("%s: the automaton has more than %d states", what, n.limit))
	}
	if n.meter.Failed() != nil {
		return to
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
		return start + base
	}
	for _, r := range o.rules {
		n.Rule(r.name, r.start+base)
	}
	return n.Call(start+base, to)
}

// reach calls visit with some nodes, and with those at which it says that a text goes on; each once.
func reach(nodes []int32, visit func(i int32) (next []int32)) {
	var todo []int32
	seen := map[int32]bool{}
	add := func(nodes []int32) {
		for _, i := range nodes {
			if !seen[i] {
				seen[i], todo = true, append(todo, i)
			}
		}
	}
	for add(nodes); len(todo) > 0; {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		add(visit(i))
	}
}

// BeginsForm reports whether a text of a form may begin at a node.
func (n *Network) BeginsForm(node int32) (begins bool) {
	reach([]int32{node}, func(i int32) []int32 {
		node := &n.nodes[i]
		if begins || n.meter.Charge(8) != nil {
			return nil
		}
		if begins = node.kind == formNode; node.kind == callNode {
			return []int32{node.to}
		}
		return node.more
	})
	return begins
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

// Tokens reports whether any token is read as a whole.
func (m *Machine) Tokens() bool {
	return slices.ContainsFunc(m.net.nodes, func(n node) bool { return n.kind == idNode })
}

// Reads reports whether a state reads whole tokens or forms.
func (s *State) Reads() bool { return s.tokens }

// AfterForm returns the state after a text of a form that begins at a state.
func (m *Machine) AfterForm(s *State, form int) *State {
	return m.past(s, func(n *node) bool { return n.kind == formNode && int(n.id) == form })
}

// Join returns the state of the texts that follow one of two states.
func (m *Machine) Join(s, t *State) *State {
	switch s, t = m.Current(s), m.Current(t); {
	case s == t || t == Dead:
		return s
	case s == Dead:
		return t
	case !m.Spend(1 + (len(s.positions)+len(t.positions))/8):
		return s
	}
	both := m.joined(append(slices.Clone(s.positions), t.positions...))
	if len(both) > maxItems {
		m.Err = m.tooMuch
	}
	return m.intern(both, s.Accepts || t.Accepts)
}

// Crowded reports whether more than some forms may begin at one place of a text.
func (m *Machine) Crowded(most int) bool {
	from, all := map[int32]bool{m.net.rules[0].start: true}, map[int32]bool{}
	for _, n := range m.net.nodes {
		switch {
		case !n.alive || n.kind == splitNode || n.kind == endNode:
			continue
		case n.kind == formNode:
			all[n.id] = true
		case n.kind == callNode:
			from[n.ret] = true
		}
		from[n.to] = true
	}
	if len(all) <= most {
		return false
	}
	for node := range from {
		forms := map[int32]bool{}
		reach([]int32{node}, func(i int32) []int32 {
			n := &m.net.nodes[i]
			if !n.alive || len(forms) > most || m.net.meter.Charge(8+len(n.more)) != nil {
				return nil
			}
			switch {
			case n.kind == formNode:
				forms[n.id] = true
			case n.kind == callNode && n.empty:
				return []int32{n.to, n.ret}
			case n.kind == callNode:
				return []int32{n.to}
			}
			return n.more
		})
		if len(forms) > most {
			return true
		}
	}
	return false
}

// Words makes a split the beginning of some words, each of which continues at its node. Words that
// begin alike share what they have in common.
func (n *Network) Words(root int32, words []string, to []int32) {
	order := make([]int, len(words))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, k int) int { return strings.Compare(words[i], words[k]) })
	path, before := []int32{root}, "" // the nodes of the previous word
	for _, i := range order {
		s, same := words[i], 0
		if n.Full() {
			break
		}
		for same < len(s) && same < len(before) && s[same] == before[same] {
			same++
		}
		for same > 0 && same < len(s) && !utf8.RuneStart(s[same]) {
			same--
		}
		path = path[:utf8.RuneCountInString(s[:same])+1]
		for _, r := range s[same:] {
			next := n.Split()
			n.Lead(path[len(path)-1], n.Read(SetOf(r), next))
			path = append(path, next)
		}
		if last := path[len(path)-1]; !slices.Contains(n.nodes[last].more, to[i]) {
			n.Lead(last, to[i])
		}
		before = s
	}
}
