package automaton

// Look: a network with lookaheads, as one without.

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// A looker makes a deterministic automaton of a network with lookaheads. A place is a node and the
// lookaheads that were passed: each is the set of places in its own regex that the text since
// then leads to. A place ends a text if all its lookaheads are fulfilled there.
type looker struct {
	what  string
	n     *Network
	alpha *Alphabet
	reads []map[uint16]bool // [charset] its classes

	sets  []lookSet
	known map[string]int32
}

// A lookSet is a set of places in the regex of a lookahead.
type lookSet struct {
	nodes []int32 // what reads, ascending
	ends  bool    // it matches if the text ends here
	all   bool    // it matches, whatever follows
	next  map[uint16]int32
}

// A lookPlace is a node with marks: of each lookahead twice its set, and 1 if it must not match.
type lookPlace struct {
	node  int32
	marks string
}

// withoutLooks returns a network for the same texts.
func (n *Network) withoutLooks(what string) *Network {
	alpha := NewAlphabet(what, n.sets, n.meter)
	l := &looker{what: what, n: n, alpha: alpha, known: map[string]int32{}}
	for _, set := range n.sets {
		classes := map[uint16]bool{}
		for _, class := range alpha.Those(set) {
			classes[class] = true
		}
		n.meter.Charge(8 + alpha.Size())
		l.reads = append(l.reads, classes)
	}
	t := l.table()
	m := NewNetwork(n.limit, n.meter)
	m.Rule(n.rules[0].name, t.addTo(m))
	m.Check(what)
	return m
}

func (l *looker) table() *Table {
	t := &Table{Alpha: l.alpha, classes: len(l.alpha.Members)}
	first := l.closure([]lookPlace{{node: l.n.rules[0].start}})
	if len(first) == 0 {
		l.n.meter.Fail(fmt.Errorf("%s: no text can match it", l.what))
	}
	explore(t, first, func(places []lookPlace) int32 {
		if slices.ContainsFunc(places, l.accepts) {
			return 0
		}
		return -1
	}, func(places []lookPlace) (key []byte) {
		for _, p := range places {
			key = binary.AppendUvarint(binary.AppendUvarint(key, uint64(p.node)), uint64(len(p.marks)))
			key = append(key, p.marks...)
		}
		return key
	}, func(places []lookPlace, class int) []lookPlace {
		var to []lookPlace
		for _, p := range places {
			node := &l.n.nodes[p.node]
			if node.kind != readNode || !l.reads[node.set][uint16(class)] {
				continue
			}
			if marks, ok := l.step(p.marks, uint16(class)); ok {
				to = append(to, lookPlace{node.to, marks})
			}
		}
		l.n.meter.Charge(12 + 8*len(places))
		return l.closure(to)
	}, t.bounded(l.what+": with lookaheads,", l.n.meter))
	return t
}

// closure follows all edges that read nothing.
func (l *looker) closure(todo []lookPlace) (places []lookPlace) {
	seen := map[lookPlace]bool{}
	for len(todo) > 0 && l.n.meter.Failed() == nil {
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[p] {
			continue
		}
		seen[p] = true
		node := &l.n.nodes[p.node]
		if l.n.meter.Charge(24 + len(p.marks)); len(seen) > maxItems {
			l.n.meter.Fail(fmt.Errorf("%s: its lookaheads lead to more than %d places", l.what, maxItems))
		}
		switch node.kind {
		case splitNode:
			for _, to := range node.more {
				todo = append(todo, lookPlace{to, p.marks})
			}
		case lookNode:
			set := l.set([]int32{node.ret})
			if marks, ok := l.mark(p.marks, set, node.not); ok {
				todo = append(todo, lookPlace{node.to, marks})
			}
		default:
			places = append(places, p)
		}
	}
	slices.SortFunc(places, func(a, b lookPlace) int {
		return cmp.Or(cmp.Compare(a.node, b.node), strings.Compare(a.marks, b.marks))
	})
	return places
}

// mark adds a lookahead to marks; ok is false if the place is none because of it.
func (l *looker) mark(marks string, set int32, not bool) (string, bool) {
	s := &l.sets[set]
	fails := len(s.nodes) == 0 && !s.ends && !s.all
	if s.all || fails {
		return marks, s.all != not
	}
	v := uint32(set) << 1
	if not {
		v |= 1
	}
	var list []uint32
	for i := 0; i < len(marks); i += 4 {
		list = append(list, binary.LittleEndian.Uint32([]byte(marks[i:i+4])))
	}
	if slices.Contains(list, v) {
		return marks, true
	}
	list = append(list, v)
	slices.Sort(list)
	b := make([]byte, 0, 4*len(list))
	for _, v := range list {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return string(b), true
}

// step returns the marks after a character.
func (l *looker) step(marks string, class uint16) (next string, ok bool) {
	for i := 0; i < len(marks); i += 4 {
		v := binary.LittleEndian.Uint32([]byte(marks[i : i+4]))
		if next, ok = l.mark(next, l.after(int32(v>>1), class), v&1 != 0); !ok {
			return "", false
		}
	}
	return next, true
}

// accepts reports whether a text may end at a place.
func (l *looker) accepts(p lookPlace) bool {
	if l.n.nodes[p.node].kind != endNode {
		return false
	}
	for i := 0; i < len(p.marks); i += 4 {
		v := binary.LittleEndian.Uint32([]byte(p.marks[i : i+4]))
		if l.sets[v>>1].ends == (v&1 != 0) {
			return false
		}
	}
	return true
}

// after returns the set of a lookahead after a character.
func (l *looker) after(set int32, class uint16) int32 {
	if next, ok := l.sets[set].next[class]; ok {
		return next
	}
	var to []int32
	for _, i := range l.sets[set].nodes {
		if node := &l.n.nodes[i]; l.reads[node.set][class] {
			to = append(to, node.to)
		}
	}
	next := l.set(to)
	l.sets[set].next[class] = next
	return next
}

// set returns the number of the set of places that some nodes of a lookahead lead to.
func (l *looker) set(todo []int32) int32 {
	s := lookSet{next: map[uint16]int32{}}
	reach(todo, func(i int32) []int32 {
		node := &l.n.nodes[i]
		switch l.n.meter.Charge(16); node.kind {
		case splitNode:
		case passNode:
			s.all = true
		case endNode:
			s.ends = true
		default:
			s.nodes = append(s.nodes, i)
		}
		return node.more
	})
	if s.all {
		s = lookSet{all: true, next: s.next}
	}
	slices.Sort(s.nodes)
	key := fmt.Sprint(s.nodes, s.ends, s.all)
	i, ok := l.known[key]
	if !ok {
		i = int32(len(l.sets))
		l.known[key] = i
		l.sets = append(l.sets, s)
	}
	return i
}
