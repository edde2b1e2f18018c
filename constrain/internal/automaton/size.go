package automaton

// The approximate memory of machines and tables, in bytes.

import "unsafe"

// Bytes returns the memory of a machine, where a mask has some words.
func (m *Machine) Bytes(words int) int {
	const ofState, ofPlace, ofStack = 160, 24, 64
	return m.fixed + ofState*len(m.states) + ofPlace*m.kept + ofStack*len(m.stacks) + 8*m.masks*words
}

// weigh returns the memory of the immutable parts.
func (m *Machine) weigh() int {
	n := len(m.net.nodes)*(int(unsafe.Sizeof(node{}))+int(unsafe.Sizeof(position{}))+4) +
		m.Alpha.Size()*6 + len(m.reads)*(24+(len(m.Alpha.Members)+63)/64*8)
	for i := range m.net.nodes {
		n += 4 * len(m.net.nodes[i].more)
	}
	for _, s := range m.net.sets {
		n += 8*len(s) + 120
	}
	return n
}

// Bytes returns the memory of a table.
func (t *Table) Bytes() int {
	n := 4*len(t.next) + 20*t.states() + 6*t.Alpha.Size()
	for _, lengths := range t.Lengths {
		n += 24 + 8*len(lengths)
	}
	if t.Loose != nil { // it shares everything else
		n += 4 * t.states()
	}
	return n
}
